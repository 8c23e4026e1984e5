import type { GroupPolicy } from '../contract/group.js';
import type { SnapshotNode } from '../contract/snapshot.js';
import { type Demand, shapeKey } from './demand.js';
import type { Refusal } from './explain-blocked.js';
import { explainUnschedulable } from './explain-unschedulable.js';
import { refusalsIn } from './fits-ever.js';
import { type NodeTable, nodeTable, releasedTable } from './node-table.js';
import { canPlace } from './place.js';
import { type Ranking, rankingOf } from './ranking.js';

/**
 * Refusals that no placement and no release changes, only the nodes. They are kept by the request's shape, so that a
 * queue of thousands alike costs one look; the views of the nodes are made when the first session asks.
 */
export interface Standing {
  readonly group: string;
  readonly nodes: readonly SnapshotNode[];
  readonly slotOrder: GroupPolicy['slotOrder'];
  /** The nodes as they are now, where there is such a table already. */
  readonly now?: NodeTable;
  readonly never: Map<string, Refusal | null>;
  readonly unschedulable: Map<string, Refusal | null>;
  /** Whether some node is to leave the group. */
  readonly someMove: boolean;
  ever: Ranking | undefined;
  empty: NodeTable | undefined;
  emptyRanking: Ranking | undefined;
}

export const standingRefusals = (base: Pick<Standing, 'group' | 'nodes' | 'slotOrder' | 'now'>): Standing => ({
  ...base,
  never: new Map(),
  unschedulable: new Map(),
  someMove: base.nodes.some(({ moveAt }) => moveAt !== null),
  ever: undefined,
  empty: undefined,
  emptyRanking: undefined,
});

/** The READY nodes as if all were released. */
export function emptyNodes(standing: Standing): NodeTable {
  standing.empty ??= released(standing, 'empty');
  return standing.empty;
}

const released = ({ now, nodes }: Standing, view: 'empty' | 'ever'): NodeTable =>
  now === undefined ? nodeTable(nodes, view) : releasedTable(now, view);

/** More than the group's nodes can ever hold, or of a kind that none has. */
export function neverRefusal(standing: Standing, demand: Demand): Refusal | null {
  return remembered({ memory: standing.never, standing }, demand, () => {
    const { slotOrder } = standing;
    standing.ever ??= rankingOf(released(standing, 'ever'), { placement: 'concentrated', slotOrder });
    return refusalsIn(standing.ever, demand)[0] ?? null;
  });
}

/** No READY node can hold it, whatever is released. */
export function unschedulableRefusal(standing: Standing, demand: Demand): Refusal | null {
  return remembered({ memory: standing.unschedulable, standing }, demand, () => {
    const empty = emptyNodes(standing);
    standing.emptyRanking ??= rankingOf(empty, { placement: 'concentrated', slotOrder: standing.slotOrder });
    return canPlace(standing.emptyRanking, demand) ? null : explainUnschedulable(empty, demand, standing);
  });
}

function remembered(
  { memory, standing }: { readonly memory: Map<string, Refusal | null>; readonly standing: Standing },
  demand: Demand,
  look: () => Refusal | null,
): Refusal | null {
  const key = shapeKey(demand, standing.someMove);
  const known = memory.get(key);
  if (known !== undefined) return known;
  const refusal = look();
  memory.set(key, refusal);
  return refusal;
}
