import { createReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { type PassRecord, passRecordSchema } from '../../contract/pass-record.js';
import { planSchema } from '../../contract/plan.js';
import { type Difference, replayPass } from '../../simulator/replay-pass.js';
import { CliError, usageError } from '../cli-error.js';
import { EXIT } from '../exit-codes.js';

export interface Replay {
  readonly passes: number;
  /** Lines that a killed worker did not write to their end: left out, and said. */
  readonly cut?: number;
  /** Of the first pass that differs; null: none does. */
  readonly difference: (Difference & { readonly line: number; readonly group: string; readonly now: string }) | null;
}

/** Recorded passes, a line each, planned again one after the other; it ends at the first that differs. */
export async function replay(file: string): Promise<Replay> {
  await access(file).catch((error: unknown) => {
    throw new CliError(`${file} cannot be read: ${error instanceof Error ? error.message : ''}`, EXIT.notFound);
  });
  let line = 0;
  let passes = 0;
  let cut = 0;
  let firstCut: number | null = null;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    line += 1;
    if (text.trim() === '') continue;
    const record = recordOf(text, { file, line });
    if (record === null) {
      cut += 1;
      firstCut ??= line;
      continue;
    }
    const difference = replayPass(record, (plan) => planSchema.parse(plan));
    passes += 1;
    if (difference !== null)
      return {
        passes,
        ...(cut > 0 && { cut }),
        difference: { ...difference, line, group: record.plan.group, now: record.now },
      };
  }
  if (passes === 0 && firstCut !== null) throw usageError(`${file}: line ${firstCut} is not JSON`);
  if (passes === 0) throw usageError(`${file} holds no pass`, 'BERTH_RECORD_PASSES=FOLDER records them');
  return { passes, ...(cut > 0 && { cut }), difference: null };
}

function recordOf(text: string, { file, line }: { readonly file: string; readonly line: number }): PassRecord | null {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return null;
  }
  const parsed = passRecordSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw usageError(
    `${file}: line ${line} is no recorded pass: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`,
  );
}

export function replayText({ passes, cut = 0, difference }: Replay): string {
  const left =
    cut === 0 ? '' : `; ${cut} ${cut === 1 ? 'line that breaks off was' : 'lines that break off were'} left out`;
  if (difference === null) return `${passes} ${passes === 1 ? 'pass' : 'passes'}, same decisions${left}`;
  const { line, group, now, at, recorded, replayed } = difference;
  const show = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
  return [
    `pass ${passes} (line ${line}, group ${group}, ${now}) differs at ${at}:`,
    `  recorded ${show(recorded)}`,
    `  replayed ${show(replayed)}`,
  ].join('\n');
}
