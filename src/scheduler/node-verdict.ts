import type { SnapshotNode } from '../contract/snapshot.js';
import type { NodeVerdict, Rejection } from '../contract/why.js';
import { type Demand, type Unit, unitsOf } from './demand.js';
import type { DeviceView } from './device-table.js';
import { deviceViewOf, holds, type NodeTable } from './node-table.js';
import { movesTooSoon, requirement } from './nodes-open-to.js';

const CLOSED = {
  REGISTERED: 'not_ready',
  CORDONED: 'cordoned',
  DRAINING: 'draining',
  DRAINED: 'draining',
  UNHEALTHY: 'unhealthy',
  LOST: 'lost',
  READY: 'not_ready',
} as const satisfies Record<SnapshotNode['state'], Rejection>;

export interface VerdictFacts {
  /** Nodes where it failed before and is not tried again now. */
  readonly failedOn?: ReadonlySet<string>;
  /** The same nodes without the room that is kept for others. */
  readonly unkept?: NodeTable;
}

/**
 * How many nodes would take the request (spread: at least one of its kernels), and one cause for each other node: what
 * cannot change first (architecture, device model, designation, sharing), then the node's state, its move, a failure
 * there, then room that is kept for others, then the first lack of GPU, GPU memory, CPU, memory.
 */
export function nodeVerdict(table: NodeTable, demand: Demand, facts: VerdictFacts = {}): NodeVerdict {
  const look = {
    demand,
    units: unitsOf(demand),
    free: deviceViewOf(table, demand.gpuModel),
    mayBe: requirement(demand),
  };
  const rejected: Partial<Record<Rejection, number>> = {};
  let fit = 0;
  for (let i = 0; i < table.nodes.length; i += 1) {
    const cause =
      lasting(table, i, look) ?? closed(table, i, { ...facts, demand }) ?? shortOf(table, i, { ...look, ...facts });
    if (cause === null) fit += 1;
    else rejected[cause] = (rejected[cause] ?? 0) + 1;
  }
  return { fit, rejected };
}

interface Look {
  readonly demand: Demand;
  readonly units: readonly Unit[];
  readonly free: DeviceView;
  readonly mayBe: ReturnType<typeof requirement>;
}

function lasting(table: NodeTable, i: number, { demand, mayBe }: Look): Rejection | null {
  const node = table.nodes[i] as SnapshotNode;
  const { architecture, gpuModel } = demand;
  if (architecture !== null && node.architecture !== architecture) return 'wrong_architecture';
  if (gpuModel !== null && !node.devices.some((device) => device.model === gpuModel)) return 'wrong_device';
  if (!mayBe(node)) return 'not_designated';
  return demand.gpuMemoryBytes > 0 && sharesNothing(node, table.rules, gpuModel) ? 'sharing_not_allowed' : null;
}

/** It has devices that the request may take, and none that takes shares. */
export function sharesNothing(
  { devices }: SnapshotNode,
  { allowUnenforcedSharing }: NodeTable['rules'],
  gpuModel: string | null,
): boolean {
  const usable = devices.filter(({ model }) => gpuModel === null || model === gpuModel);
  return usable.length > 0 && !allowUnenforcedSharing && usable.every(({ sharing }) => sharing === 'none');
}

function closed(
  table: NodeTable,
  i: number,
  { demand, failedOn }: VerdictFacts & Pick<Look, 'demand'>,
): Rejection | null {
  const node = table.nodes[i] as SnapshotNode;
  if (table.open[i] === 0) return CLOSED[node.state];
  if (table.view !== 'ever' && movesTooSoon(table, i, demand)) return 'moves_too_soon';
  return failedOn?.has(node.name) === true ? 'failed_here' : null;
}

function shortOf(table: NodeTable, i: number, { demand, units, free, unkept }: VerdictFacts & Look): Rejection | null {
  if (units.some((unit) => holds(table, i, { unit, free }))) return null;
  if (unkept !== undefined) {
    const freeWithout = deviceViewOf(unkept, demand.gpuModel);
    if (units.some((unit) => holds(unkept, i, { unit, free: freeWithout }))) return 'held_for_another';
  }
  const first = units[0] as Unit;
  if ((free.whole[i] as number) < first.gpuCount) return 'insufficient_gpu';
  if ((free.share[i] as number) < first.gpuMemoryBytes) return 'insufficient_gpu_memory';
  if ((table.cpuMilli[i] as number) < first.cpuMilli) return 'insufficient_cpu';
  return (table.memoryBytes[i] as number) < first.memoryBytes ? 'insufficient_memory' : 'insufficient_gpu_memory';
}
