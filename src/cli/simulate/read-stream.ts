import { extname } from 'node:path';
import type { Session } from '../../contract/session.js';
import { generatorSchema } from '../../contract/simulation.js';
import type { Client } from '../../sdk/index.js';
import { generateJobs } from '../../simulator/generate-jobs.js';
import { historyJobs } from '../../simulator/history-jobs.js';
import { CSV_FIELDS, type CsvField, parseCsv } from '../../simulator/parse-csv.js';
import { parseSwf } from '../../simulator/parse-swf.js';
import { atLoad, type Stream, StreamError } from '../../simulator/stream.js';
import { usageError } from '../cli-error.js';
import { readGenerator, readText } from './read-settings.js';

export interface StreamFlags {
  readonly trace?: string;
  readonly format?: 'csv' | 'swf';
  readonly columns?: string;
  readonly generate?: string;
  readonly history?: string;
  readonly jobs?: number;
  readonly load?: number;
  readonly seed?: number;
}

const HISTORY_MAX = 100_000;

/** The submissions that the flags name: of a file, of a group's history, or made up. */
export async function readStream(flags: StreamFlags, gpuCount: number, client: () => Promise<Client>): Promise<Stream> {
  const { trace, history, generate } = flags;
  if ([trace, history, generate].filter((one) => one !== undefined).length > 1)
    throw usageError('one of --trace, --history and --generate is enough');
  if (trace === undefined && history === undefined) return generated(flags, gpuCount);
  const stream = trace === undefined ? await ofHistory(history ?? '', await client()) : await ofFile(trace, flags);
  const jobs = flags.jobs === undefined ? stream.jobs : stream.jobs.slice(0, flags.jobs);
  if (jobs.length === 0) throw usageError('there is no job in it that asks for a GPU and has run');
  return { ...stream, jobs: flags.load === undefined ? jobs : atLoad(jobs, flags.load, gpuCount) };
}

async function generated({ generate, jobs, load, seed }: StreamFlags, gpuCount: number): Promise<Stream> {
  const settings = generate === undefined ? generatorSchema.parse({}) : await readGenerator(generate);
  const asked = { ...settings, jobs: jobs ?? settings.jobs, load: load ?? settings.load, seed: seed ?? settings.seed };
  return { jobs: generateJobs(asked, gpuCount), leftOut: [] };
}

async function ofFile(file: string, { format, columns }: StreamFlags): Promise<Stream> {
  const text = await readText(file);
  try {
    return (format ?? (extname(file) === '.swf' ? 'swf' : 'csv')) === 'swf'
      ? parseSwf(text)
      : parseCsv(text, columnsOf(columns));
  } catch (error) {
    if (error instanceof StreamError) throw usageError(`${file}: ${error.message}`);
    throw error;
  }
}

function columnsOf(text = ''): Partial<Record<CsvField, string>> {
  const columns: Partial<Record<CsvField, string>> = {};
  for (const part of text.split(',').filter((one) => one !== '')) {
    const [field = '', column = ''] = part.split('=');
    if (!Object.hasOwn(CSV_FIELDS, field) || column === '')
      throw usageError(
        `--columns: "${part}": write FIELD=COLUMN, with a field of ${Object.keys(CSV_FIELDS).join(', ')}`,
      );
    columns[field as CsvField] = column;
  }
  return columns;
}

async function ofHistory(group: string, client: Client): Promise<Stream> {
  const sessions: Session[] = [];
  for await (const session of client.sessions.list({ group, state: ['TERMINATED', 'CANCELLED', 'ERROR'] })) {
    sessions.push(session);
    if (sessions.length >= HISTORY_MAX) break;
  }
  return historyJobs(sessions);
}
