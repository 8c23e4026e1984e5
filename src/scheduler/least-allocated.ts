import type { SlotName } from '../contract/slots.js';
import type { Unit } from './demand.js';
import { capacitiesOf, type NodeTable } from './node-table.js';

const SLOTS = ['cpuMilli', 'memoryBytes', 'gpuCount', 'gpuMemoryBytes'] as const satisfies readonly SlotName[];

/** A sum of at most four quotients is right to far better than this. */
const DOUBT = 1e-9;

const asked = (unit: Unit, slot: SlotName): number => {
  if (slot !== 'gpuMemoryBytes') return unit[slot];
  let sum = 0;
  for (const bytes of unit.shares) sum += bytes;
  return sum;
};

/**
 * The part of each slot that stays free after placement, averaged over the slots that the request names. The values of
 * `free` are rounded and good for nodes that differ clearly; `compare` is exact. The most free comes first.
 */
export interface PartLeft {
  readonly free: Float64Array;
  readonly compare: (a: number, b: number) => number;
}

export function partLeft(table: NodeTable, unit: Unit, mask: Uint8Array): PartLeft {
  const capacities = capacitiesOf(table);
  const named = SLOTS.map((slot) => ({ left: table[slot], all: capacities[slot], ask: asked(unit, slot) })).filter(
    ({ ask }) => ask > 0,
  );
  const free = new Float64Array(table.nodes.length);
  for (let i = 0; i < free.length; i += 1) {
    if (mask[i] === 0) continue;
    let sum = 0;
    for (const { left, all, ask } of named) sum += ((left[i] as number) - ask) / (all[i] as number);
    free[i] = named.length === 0 ? 0 : sum / named.length;
  }
  const compare = (a: number, b: number): number => {
    const more = (free[b] as number) - (free[a] as number);
    return Math.abs(more) > DOUBT ? more : exactly(named, a, b);
  };
  return { free, compare };
}

type Named = readonly { readonly left: Float64Array; readonly all: Float64Array; readonly ask: number }[];

/** Positive when more of `b` stays free: the two sums of fractions over one common denominator, as whole numbers. */
function exactly(named: Named, a: number, b: number): number {
  if (named.every(({ left, all }) => left[a] === left[b] && all[a] === all[b])) return 0;
  const [x, y] = [fraction(named, a), fraction(named, b)];
  const difference = y.over * x.under - x.over * y.under;
  return difference > 0n ? 1 : difference < 0n ? -1 : 0;
}

function fraction(named: Named, i: number): { readonly over: bigint; readonly under: bigint } {
  let over = 0n;
  let under = 1n;
  for (const { left, all, ask } of named) {
    const part = BigInt((left[i] as number) - ask);
    const whole = BigInt(all[i] as number);
    over = over * whole + part * under;
    under *= whole;
  }
  return { over, under };
}
