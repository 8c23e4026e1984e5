import type { SnapshotNode } from '../contract/snapshot.js';
import type { NodeVerdict, Rejection } from '../contract/why.js';
import { type Demand, type Unit, unitsOf } from './demand.js';
import type { DeviceView } from './device-table.js';
import { deviceViewOf, holds, type NodeTable } from './node-table.js';

const CLOSED = {
  REGISTERED: 'not_ready',
  CORDONED: 'cordoned',
  DRAINING: 'draining',
  DRAINED: 'draining',
  UNHEALTHY: 'unhealthy',
  LOST: 'lost',
  READY: 'not_ready',
} as const satisfies Record<SnapshotNode['state'], Rejection>;

/**
 * How many nodes would take the request (spread: at least one of its kernels), and one cause for each other node: what
 * cannot change first (architecture, device model), then the node's state, then the first lack of GPU, CPU, memory.
 */
export function nodeVerdict(table: NodeTable, demand: Demand): NodeVerdict {
  const units = unitsOf(demand);
  const free = deviceViewOf(table, demand.gpuModel);
  const rejected: Partial<Record<Rejection, number>> = {};
  let fit = 0;
  for (let i = 0; i < table.nodes.length; i += 1) {
    const cause = rejection(table, i, { demand, units, free });
    if (cause === null) fit += 1;
    else rejected[cause] = (rejected[cause] ?? 0) + 1;
  }
  return { fit, rejected };
}

function rejection(
  table: NodeTable,
  i: number,
  { demand, units, free }: { readonly demand: Demand; readonly units: readonly Unit[]; readonly free: DeviceView },
): Rejection | null {
  const node = table.nodes[i] as SnapshotNode;
  if (demand.architecture !== null && node.architecture !== demand.architecture) return 'wrong_architecture';
  if (demand.gpuModel !== null && !node.devices.some((device) => device.model === demand.gpuModel))
    return 'wrong_device';
  if (table.open[i] === 0) return CLOSED[node.state];
  if (units.some((unit) => holds(table, i, { unit, free }))) return null;
  const first = units[0] as Unit;
  if ((free.whole[i] as number) < first.gpuCount) return 'insufficient_gpu';
  return (table.cpuMilli[i] as number) < first.cpuMilli ? 'insufficient_cpu' : 'insufficient_memory';
}
