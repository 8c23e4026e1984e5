import type { Demand } from './demand.js';
import { deviceViewOf, indexOfNode } from './node-table.js';
import { nodesToTry } from './place.js';
import { leftRanking } from './preempt-offer.js';
import type { Preemption } from './preemption.js';
import { isAllocated } from './under-budgets.js';
import type { Candidate, VictimRule } from './victims.js';

/** Those of one budget, or all unallocated ones, that may be stopped now: a rule of budgets takes all of them or none. */
interface OpenClass {
  readonly one: Candidate;
  readonly nodes: number[];
  /** As many as `nodes`: what one of them has there. */
  readonly devices: number[];
  readonly cpuMilli: number[];
  readonly memoryBytes: number[];
}

/** By node, what those have that may be stopped. */
type OpenRoom = Readonly<Record<'devices' | 'cpuMilli' | 'memoryBytes', Float64Array>>;

interface Known {
  readonly classes: readonly OpenClass[];
  readonly byRule: Map<string, OpenRoom>;
}

const KNOWN = new WeakMap<Preemption, Known>();

function knownOf(preemption: Preemption): Known {
  const known = KNOWN.get(preemption);
  if (known !== undefined) return known;
  const made = { classes: classesOf(preemption), byRule: new Map<string, OpenRoom>() };
  KNOWN.set(preemption, made);
  return made;
}

function classesOf(preemption: Preemption): readonly OpenClass[] {
  const { table } = leftRanking(preemption);
  const classes = new Map<string, OpenClass>();
  for (const candidate of preemption.candidates) {
    const { session, fromMs } = candidate;
    if (fromMs === null || fromMs > preemption.nowMs) continue;
    const key = session.budgetId !== null && isAllocated(session) ? session.budgetId : '';
    let known = classes.get(key);
    if (known === undefined) {
      known = { one: candidate, nodes: [], devices: [], cpuMilli: [], memoryBytes: [] };
      classes.set(key, known);
    }
    for (const { node, deviceIds, slots } of session.kernels) {
      const i = indexOfNode(table, node);
      if (i < 0) continue;
      known.nodes.push(i);
      known.devices.push(deviceIds.length);
      known.cpuMilli.push(slots.cpuMilli);
      known.memoryBytes.push(slots.memoryBytes);
    }
  }
  return [...classes.values()];
}

function openRoom(preemption: Preemption, rule: VictimRule): OpenRoom {
  const { classes, byRule } = knownOf(preemption);
  const known = byRule.get(rule.key);
  if (known !== undefined) return known;
  const size = leftRanking(preemption).table.nodes.length;
  const room = {
    devices: new Float64Array(size),
    cpuMilli: new Float64Array(size),
    memoryBytes: new Float64Array(size),
  };
  for (const each of classes) if (rule.mayStop(each.one)) addTo(room, each);
  byRule.set(rule.key, room);
  return room;
}

function addTo(room: OpenRoom, { nodes, devices, cpuMilli, memoryBytes }: OpenClass): void {
  for (let k = 0; k < nodes.length; k += 1) {
    const i = nodes[k] as number;
    room.devices[i] = (room.devices[i] as number) + (devices[k] as number);
    room.cpuMilli[i] = (room.cpuMilli[i] as number) + (cpuMilli[k] as number);
    room.memoryBytes[i] = (room.memoryBytes[i] as number) + (memoryBytes[k] as number);
  }
}

/**
 * Whether what is free and what all those have whom the rule, one of budgets, lets the request stop could be enough for it: a
 * bound by counting alone, device memory left out, so that most searches in vain are not begun. False is certain.
 */
export function couldHaveRoom(preemption: Preemption, rule: VictimRule, demand: Demand): boolean {
  const { spread, kernels } = demand;
  const unit = spread ? leastOf(kernels) : demand.total;
  const ranking = leftRanking(preemption);
  const { cpuMilli, memoryBytes } = ranking.table;
  const { whole } = deviceViewOf(ranking.table, demand.gpuModel);
  const mask = nodesToTry(ranking, demand);
  const open = openRoom(preemption, rule);
  let wanted = spread ? kernels.length : 1;
  for (let i = 0; i < mask.length && wanted > 0; i += 1) {
    if (mask[i] === 0) continue;
    const gpus = times((whole[i] as number) + (open.devices[i] as number), unit.gpuCount);
    if (gpus < 1) continue;
    const cpus = times((cpuMilli[i] as number) + (open.cpuMilli[i] as number), unit.cpuMilli);
    if (cpus < 1) continue;
    const bytes = times((memoryBytes[i] as number) + (open.memoryBytes[i] as number), unit.memoryBytes);
    if (bytes >= 1) wanted -= Math.floor(Math.min(gpus, cpus, bytes, wanted));
  }
  return wanted <= 0;
}

const times = (left: number, each: number): number => (each === 0 ? Number.POSITIVE_INFINITY : left / each);

type Least = Record<'gpuCount' | 'cpuMilli' | 'memoryBytes', number>;

/** The least that any of the kernels asks, amount by amount. */
function leastOf(kernels: Demand['kernels']): Least {
  const least = { gpuCount: Infinity, cpuMilli: Infinity, memoryBytes: Infinity };
  for (const { slots } of kernels) {
    least.gpuCount = Math.min(least.gpuCount, slots.gpuCount);
    least.cpuMilli = Math.min(least.cpuMilli, slots.cpuMilli);
    least.memoryBytes = Math.min(least.memoryBytes, slots.memoryBytes);
  }
  return least;
}
