import type { Timestamp } from '../contract/ids.js';
import type { Placed, Plan, Waiting } from '../contract/plan.js';
import type { Snapshot, SnapshotDevice, SnapshotNode, SnapshotPending, SnapshotQuota } from '../contract/snapshot.js';
import type { Assignment } from './assignment.js';
import { demandOf } from './demand.js';
import { explainBlocked, type Refusal } from './explain-blocked.js';
import { type NodeTable, nodeTable } from './node-table.js';
import { place } from './place.js';
import { inQueueOrder } from './queue-order.js';
import {
  type Amounts,
  amountsOf,
  charge,
  learnQuotas,
  type QuotaBook,
  quotaBlockers,
  quotaBook,
  quotaMessage,
  quotaReason,
  quotaViolations,
} from './quota-book.js';
import { type Ranking, rankingOf } from './ranking.js';
import {
  emptyNodes,
  neverRefusal,
  type Standing,
  standingRefusals,
  unschedulableRefusal,
} from './standing-refusals.js';

const PLAN_SCHEMA = 'berth.plan/1' satisfies Plan['schema'];

/** All that a pass decides from, but for the queue, which may come in pages. */
export type PassBase = Omit<Snapshot, 'pending'>;

/** A pass under way. Opaque: start, consider pages in queue order, finish. */
export interface Pass {
  readonly base: PassBase;
  readonly now: Timestamp;
  readonly nodes: NodeTable;
  readonly ranking: Ranking;
  readonly quotas: QuotaBook;
  readonly placed: Placed[];
  readonly waiting: Waiting[];
  readonly standing: Standing;
  blockedBy: Plan['blockedBy'];
  skipped: number;
}

/**
 * Plans one pass: who of the queue gets which node and devices, and why the others wait. Pure, and the same for any
 * order of the nodes and any size of the pages. Sorts the queue when it is not in order.
 */
export function planPass(snapshot: Snapshot, now: Timestamp): Plan {
  const { pending, ...base } = snapshot;
  const pass = startPass(base, now);
  considerPage(pass, inQueueOrder(pending));
  return finishPass(pass);
}

export function startPass(base: PassBase, now: Timestamp): Pass {
  const nodes = nodeTable(base.nodes, 'now');
  return {
    base,
    now,
    nodes,
    ranking: rankingOf(nodes, base.group.policy),
    quotas: quotaBook(base.quotas),
    placed: [],
    waiting: [],
    standing: standingRefusals({ group: base.group.name, nodes: nodes.nodes, slotOrder: base.group.policy.slotOrder }),
    blockedBy: null,
    skipped: 0,
  };
}

/**
 * Considers the next sessions of the queue; `quotas` are those of their owners that the base did not bring. False once
 * a session is blocked by capacity: no further page need be read. A page that is given all the same is counted as skipped.
 */
export function considerPage(
  pass: Pass,
  page: readonly SnapshotPending[],
  quotas: readonly SnapshotQuota[] = [],
): boolean {
  learnQuotas(pass.quotas, quotas);
  for (const [index, session] of page.entries()) {
    if (pass.blockedBy !== null) {
      pass.skipped += page.length - index;
      return false;
    }
    consider(pass, session);
  }
  return pass.blockedBy === null;
}

export function finishPass(pass: Pass): Plan {
  return {
    schema: PLAN_SCHEMA,
    group: pass.base.group.name,
    generation: pass.base.group.generation,
    now: pass.now,
    placed: pass.placed,
    waiting: pass.waiting,
    blockedBy: pass.blockedBy,
    skipped: pass.skipped,
    reservations: [],
    stops: [],
    holds: [],
    droppedHolds: [],
    ends: [],
    drains: [],
    drained: [],
    nextWakeAt: null,
  };
}

/** The cycle of one session. What can never run is told before any hold, a hold or a quota before the lack of room. */
function consider(pass: Pass, session: SnapshotPending): void {
  const demand = demandOf(session);
  const requested = amountsOf(demand);

  // 1. A paused queue or a quota keeps it from a placement. A share of a device is never placed here.
  const hold = pausedRefusal(pass) ?? quotaRefusal(pass, session, requested);
  if (hold !== null || demand.gpuMemoryBytes > 0) {
    const refusal = neverRefusal(pass.standing, demand) ?? hold;
    if (refusal !== null) return wait(pass, session, refusal);
  }

  // 2. Room for all its kernels: taken at once, so that those behind see what is left.
  const attempt = place(pass.ranking, demand);
  if (typeof attempt !== 'string') {
    charge(pass.quotas, session, requested);
    pass.placed.push(placedEntry(pass.nodes, session, attempt));
    return;
  }

  // 3. No node can ever hold it, or none that is READY: only this session waits.
  const standing = neverRefusal(pass.standing, demand) ?? unschedulableRefusal(pass.standing, demand);
  if (standing !== null) return wait(pass, session, standing);

  // 4. Blocked by capacity: the pass stops here, and those behind it are skipped.
  pass.blockedBy = session.id;
  const { name: group, policy } = pass.base.group;
  const tables = { now: pass.nodes, empty: emptyNodes(pass.standing) };
  const gaveUp = attempt === 'gave-up';
  wait(pass, session, explainBlocked({ ...tables, group, slotOrder: policy.slotOrder, gaveUp }, demand));
}

function wait(pass: Pass, session: SnapshotPending, refusal: Refusal): void {
  const expectedStart = { at: null, basis: 'not worked out' };
  pass.waiting.push({
    sessionId: session.id,
    version: session.version,
    nearest: null,
    expectedStart,
    decay: null,
    ...refusal,
  });
}

function pausedRefusal({ base: { group } }: Pass): Refusal | null {
  if (!group.policy.paused) return null;
  const blocker = {
    kind: 'group',
    scope: 'group',
    name: group.name,
    resource: null,
    need: null,
    used: null,
    limit: null,
  } as const;
  const message = `group ${group.name} is paused: nothing new is placed`;
  return { reason: 'queue_paused', message, blockers: [blocker], violations: [], nodes: null };
}

/** All violations of its user's, project's and domain's quotas together; what this pass has placed counts as held. */
function quotaRefusal(pass: Pass, session: SnapshotPending, requested: Amounts): Refusal | null {
  const violations = quotaViolations(pass.quotas, session, requested);
  const reason = quotaReason(violations);
  if (reason === null) return null;
  return { reason, message: quotaMessage(violations), blockers: quotaBlockers(violations), violations, nodes: null };
}

function placedEntry(table: NodeTable, session: SnapshotPending, assignment: Assignment): Placed {
  const kernels = session.kernels.map((kernel, k) => {
    const node = table.nodes[assignment.nodeOfKernel[k] as number] as SnapshotNode;
    const devices = assignment.devicesOfKernel[k] as readonly number[];
    const deviceIds = devices.map((d) => (node.devices[d] as SnapshotDevice).id);
    return { kernelId: kernel.id, node: node.name, deviceIds, slots: kernel.slots };
  });
  return { sessionId: session.id, version: session.version, kernels, explanation: assignment.explanation };
}
