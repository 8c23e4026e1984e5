import type { SimulatedJob } from './simulated-job.js';
import { countText, PLAIN_JOB, refuseDoubles, type Stream, StreamError } from './stream.js';

/** Fields of a job in a CSV file, with the heads that mean them when nobody says otherwise; those without a star may be missing. */
export const CSV_FIELDS = {
  submit: ['submit_seconds', 'submit', 'submit_time', 'submitted', 'arrival', 'arrival_time'],
  gpus: ['gpus', 'gpu_count', 'num_gpus', 'gpu_num', 'gpu'],
  duration: ['duration_seconds', 'duration', 'run_time', 'runtime'],
  job: ['job', 'job_id', 'jobid', 'id', 'name'],
  project: ['virtual_cluster', 'project', 'vc', 'queue', 'group', 'account'],
  user: ['user', 'user_id', 'username'],
  priority: ['priority'],
  min: ['min_runtime_seconds', 'min_runtime'],
  max: ['max_runtime_seconds', 'max_runtime', 'time_limit'],
} as const;
export type CsvField = keyof typeof CSV_FIELDS;
const NEEDED: readonly CsvField[] = ['submit', 'gpus', 'duration'];

type Places = Partial<Record<CsvField, number>>;

/** Comma-separated values with a head line; times in seconds. `columns` says which head is which field where its name does not. */
export function parseCsv(text: string, columns: Partial<Record<CsvField, string>> = {}): Stream {
  const lines = text.split(/\r?\n/);
  const places = placesOf(splitLine(lines[0] ?? '', 1), columns);
  const jobs: SimulatedJob[] = [];
  let without = 0;
  for (const [index, line] of lines.entries()) {
    if (index === 0 || line.trim() === '') continue;
    const job = jobOf({ cells: splitLine(line, index + 1), places, line: index + 1 });
    if (job === null) without += 1;
    else jobs.push(job);
  }
  refuseDoubles(jobs);
  return { jobs, leftOut: without === 0 ? [] : [`${countText(without, 'row')} without GPUs or without a duration`] };
}

function placesOf(heads: readonly string[], columns: Partial<Record<CsvField, string>>): Places {
  const places: Places = {};
  const low = heads.map((head) => head.trim().toLowerCase());
  for (const [field, known] of Object.entries(CSV_FIELDS) as [CsvField, readonly string[]][]) {
    const named = columns[field];
    const at = named === undefined ? low.findIndex((head) => known.includes(head)) : low.indexOf(named.toLowerCase());
    if (at >= 0) places[field] = at;
    else if (named !== undefined)
      throw new StreamError(`line 1: there is no column "${named}" for ${field}; there are ${heads.join(', ')}`);
    else if (NEEDED.includes(field))
      throw new StreamError(
        `line 1: no column for ${field}; there are ${heads.join(', ') || 'none'}. Known names: ${known.join(', ')}; or say ${field}=COLUMN`,
      );
  }
  return places;
}

interface Row {
  readonly cells: readonly string[];
  readonly places: Places;
  /** From 1. */
  readonly line: number;
}

/** Null: it asks for no GPU, or does nothing. */
function jobOf(row: Row): SimulatedJob | null {
  const gpus = numberOf(row, 'gpus');
  const durationMs = Math.round(numberOf(row, 'duration') * 1000);
  const submittedMs = Math.round(numberOf(row, 'submit') * 1000);
  if (!Number.isInteger(gpus)) throw new StreamError(`line ${row.line}: gpus: "${textOf(row, 'gpus')}" is not whole`);
  if (gpus < 1 || durationMs < 1) return null;
  const project = textOf(row, 'project') ?? 'all';
  const maxRuntimeMs = textOf(row, 'max') === undefined ? null : Math.round(numberOf(row, 'max') * 1000);
  return {
    ...PLAIN_JOB,
    name: textOf(row, 'job') ?? `line-${String(row.line).padStart(9, '0')}`,
    user: textOf(row, 'user') ?? project,
    project,
    submittedMs,
    durationMs,
    gpus,
    maxRuntimeMs: maxRuntimeMs === null || maxRuntimeMs < 1 ? null : maxRuntimeMs,
    ...(textOf(row, 'priority') !== undefined && { priority: priorityOf(row) }),
    ...(textOf(row, 'min') !== undefined && { minRuntimeMs: Math.round(numberOf(row, 'min') * 1000) }),
  };
}

function textOf({ cells, places }: Row, field: CsvField): string | undefined {
  const at = places[field];
  const text = at === undefined ? '' : (cells[at] ?? '').trim();
  return text === '' ? undefined : text;
}

function numberOf(row: Row, field: CsvField): number {
  const text = textOf(row, field);
  if (text === undefined) throw new StreamError(`line ${row.line}: ${field} is empty`);
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0)
    throw new StreamError(`line ${row.line}: ${field}: "${text}" is not a number of at least 0`);
  return value;
}

function priorityOf(row: Row): number {
  const value = numberOf(row, 'priority');
  if (!Number.isInteger(value) || value > 100)
    throw new StreamError(`line ${row.line}: priority: "${value}" is not a whole number from 0 to 100`);
  return value;
}

/** Cells of one line; a cell in double quotes may hold commas, and a doubled quote for one. */
function splitLine(line: string, number: number): readonly string[] {
  if (!line.includes('"')) return line.split(',');
  const cells: string[] = [];
  let rest = line;
  for (;;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*(,|$)/.exec(rest);
    const plain = quoted ?? /^([^",]*)(,|$)/.exec(rest);
    if (plain === null) throw new StreamError(`line ${number}: a quote is not closed, or stands within a cell`);
    cells.push((plain[1] ?? '').replaceAll('""', '"'));
    rest = rest.slice(plain[0].length);
    if (plain[2] === '') return cells;
  }
}
