import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';

/** One comparison with its target. `floor` is measured in the same run; null where the target is a plain number. */
export interface Row {
  readonly name: string;
  readonly measured: number;
  readonly floor: number | null;
  readonly ratio: number | null;
  readonly target: string;
  /** `info` where no target stands: said beside the others. */
  readonly verdict: 'met' | 'missed' | 'info';
  /** Of `measured` and `floor`. */
  readonly unit: string;
}

export interface Result {
  readonly name: string;
  readonly rows: readonly Row[];
  /** How it was measured, and what else was seen. */
  readonly notes?: readonly string[];
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const round = (value: number): number => Number(value.toPrecision(4));

interface Measured {
  readonly name: string;
  readonly measured: number;
  readonly floor?: number;
  readonly unit: string;
}

/** At most `times` × the floor, plus `extra` in the floor's unit. */
export function atMostFloor(
  given: Required<Measured>,
  { times = 1, extra = 0 }: { times?: number; extra?: number },
): Row {
  const limit = given.floor * times + extra;
  const target = extra === 0 ? `≤ ${times} × floor` : `≤ floor + ${extra} ${given.unit}`;
  return { ...shared(given), target, verdict: given.measured <= limit ? 'met' : 'missed' };
}

export function atLeastFloor(given: Required<Measured>, share: number): Row {
  const verdict = given.measured >= given.floor * share ? 'met' : 'missed';
  return { ...shared(given), target: `≥ ${share * 100} % of floor`, verdict };
}

export function atMost(given: Measured, limit: number): Row {
  return { ...shared(given), target: `≤ ${limit} ${given.unit}`, verdict: given.measured <= limit ? 'met' : 'missed' };
}

export const info = (given: Measured): Row => ({ ...shared(given), target: '–', verdict: 'info' });

function shared({ name, measured, floor, unit }: Measured) {
  const ratio = floor === undefined ? null : round(measured / floor);
  return { name, measured: round(measured), floor: floor === undefined ? null : round(floor), ratio, unit };
}

/** The machine as it was: on a loaded one the ratios of a run count, its absolute numbers less. */
export const machine = () => ({ cpus: cpus().length, loadAverage: loadavg().map(round), node: process.version });

const FOLDER = join(import.meta.dirname, '../../../test-results/bench');

/** Prints the table and keeps the JSON; a missed target is said, and fails nothing. */
export function show(result: Result, before: ReturnType<typeof machine>): void {
  const load = `load average ${before.loadAverage[0]} before, ${machine().loadAverage[0]} after`;
  console.log(`\n${result.name} (${before.cpus} cores, ${load})`);
  console.table(result.rows);
  for (const note of result.notes ?? []) console.log(`  ${note}`);
  const missed = result.rows.filter(({ verdict }) => verdict === 'missed');
  for (const { name, measured, target, unit } of missed)
    console.log(`  MISSED ${name}: ${measured} ${unit}, ${target}`);
  mkdirSync(FOLDER, { recursive: true });
  const kept = { ...result, machine: before, loadAverageAfter: machine().loadAverage, at: new Date().toISOString() };
  writeFileSync(join(FOLDER, `${result.name}.json`), `${JSON.stringify(kept, null, 2)}\n`);
  if (process.argv.includes('--json')) console.log(JSON.stringify(kept));
}

/** `--waiting 1000` on the command line. */
export function numberOption(name: string, otherwise: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at === -1 ? otherwise : Number(process.argv[at + 1] ?? otherwise);
}
