import type { Timestamp } from '../contract/ids.js';
import type { Plan, StopOrder } from '../contract/plan.js';
import type { Snapshot, SnapshotRunning } from '../contract/snapshot.js';
import { type DrainStop, drainStop } from './drain-stop.js';
import { alarm, msOf, timestampOrNull, wakeAt } from './moments.js';
import { movesOf, movesOfDraining } from './moves-due.js';
import { thenOf } from './under-budgets.js';

export type DrainsPlanned = Pick<Plan, 'stops' | 'drained' | 'drains' | 'nextWakeAt'>;
type Base = Pick<Snapshot, 'nodes' | 'running'> & {
  readonly group: Pick<Snapshot['group'], 'policy'>;
  readonly budgets?: Snapshot['budgets'];
};

/** A draining node and the moment at which it stops protected work too (Infinity: never). */
type Drain = { readonly node: string; readonly deadlineMs: number };

/**
 * What the nodes that have to become empty need now: stops that are due, nodes that hold nothing more, and drains that
 * have to begin for a move. `nextWakeAt` is the next moment at which one of them falls due. Sessions that are stopped
 * already are left alone, and so is work on a LOST node: it ends with the node.
 */
export function planDrains(base: Base, now: Timestamp): DrainsPlanned {
  const clock = alarm(msOf(now));
  const { nowMs } = clock;
  const ground = { policy: base.group.policy, isFairShare: (base.budgets ?? null) !== null };
  const draining = new Map(
    base.nodes.flatMap((node): [string, Drain][] => {
      if (node.drain === null || node.state === 'LOST') return [];
      const { deadline } = node.drain;
      return [[node.name, { node: node.name, deadlineMs: deadline === null ? Infinity : msOf(deadline) }]];
    }),
  );
  const stops: StopOrder[] = [];
  for (const session of draining.size === 0 ? [] : base.running) {
    const drain = firstDrain(session, draining);
    if (drain === undefined || session.goneBy !== null) continue;
    const stop = drainStop(session, { nowMs, deadlineMs: drain.deadlineMs });
    const isDue = stop.isFirm && stop.stopMs <= nowMs;
    if (isDue) stops.push({ ...stopOrder(session, { drain, stop }), then: thenOf(ground, session) });
    else wakeAt(clock, stop.isFirm ? stop.stopMs : drain.deadlineMs);
  }
  const moves = movesOf(base);
  for (const { beginMs } of moves) wakeAt(clock, beginMs);
  for (const atMs of movesOfDraining(base)) wakeAt(clock, atMs);
  return {
    stops,
    drained: emptied(base),
    drains: moves.filter(({ beginMs }) => beginMs <= nowMs).map(({ node, message }) => ({ node, message })),
    nextWakeAt: timestampOrNull(clock.nextMs),
  };
}

/** Of the draining nodes that the session lies on, the one with the earliest deadline: it stops the gang whole. */
function firstDrain({ kernels }: SnapshotRunning, draining: ReadonlyMap<string, Drain>): Drain | undefined {
  let first: Drain | undefined;
  for (const { node } of kernels) {
    const drain = draining.get(node);
    if (drain !== undefined && (first === undefined || drain.deadlineMs < first.deadlineMs)) first = drain;
  }
  return first;
}

function stopOrder(
  session: SnapshotRunning,
  { drain, stop }: { readonly drain: Drain; readonly stop: DrainStop },
): Omit<StopOrder, 'then'> {
  return {
    sessionId: session.id,
    version: session.version,
    attempt: session.attempt,
    cause: 'drained',
    forSessionId: null,
    graceSeconds: session.gracePeriodSeconds,
    breaksMinRuntime: stop.breaksMinRuntime,
    message: `node ${drain.node} drains, and ${stop.because}`,
  };
}

/** Nodes that drain and hold nothing; one that is known as DRAINED is not told again. */
function emptied({ nodes, running }: Base): string[] {
  const draining = nodes.filter((node) => node.drain !== null && node.state !== 'DRAINED');
  if (draining.length === 0) return [];
  const held = new Set(running.flatMap(({ kernels }) => kernels.map(({ node }) => node)));
  return draining.filter(({ name }) => !held.has(name)).map(({ name }) => name);
}
