import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planSchema } from '../../src/contract/plan.js';
import { snapshotSchema } from '../../src/contract/snapshot.js';
import { considerPage, finishPass, planPass, startPass } from '../../src/scheduler/plan-pass.js';
import { compareQueueOrder, inQueueOrder } from '../../src/scheduler/queue-order.js';
import { skippedReason } from '../../src/scheduler/skipped-reason.js';
import { whatIf } from '../../src/scheduler/what-if.js';
import { anySnapshot } from './arbitrary.js';
import { NOW } from './build.js';
import { referencePlan } from './reference.js';

const BOTH = ['single-node', 'multi-node'] as const;
const CAPACITY = new Set<string>(['insufficient_capacity', 'fragmented']);

const holds = <Given>(title: string, property: fc.IProperty<Given>, numRuns = 300): void =>
  test(title, () => fc.assert(property, { numRuns }));

holds(
  'a pass decides what the obvious implementation decides',
  fc.property(anySnapshot(['single-node']), (snapshot) => {
    const plan = planPass(snapshot, NOW);
    const placed = plan.placed.map(({ sessionId, kernels }) => ({
      id: sessionId,
      node: kernels[0]?.node,
      devices: kernels.flatMap(({ deviceIds }) => deviceIds),
    }));
    const waiting = plan.waiting.map(({ sessionId, reason }) => ({ id: sessionId, reason }));
    expect({ placed, waiting, blockedBy: plan.blockedBy }).toEqual(referencePlan(snapshot));
  }),
  800,
);

holds(
  'snapshots and plans follow the contract',
  fc.property(anySnapshot(BOTH), (snapshot) => {
    expect(snapshotSchema.safeParse(snapshot).error?.issues ?? []).toEqual([]);
    expect(planSchema.safeParse(planPass(snapshot, NOW)).error?.issues ?? []).toEqual([]);
  }),
  100,
);

holds(
  'every waiting session is placed, told a reason, or skipped behind one that is blocked by capacity',
  fc.property(anySnapshot(BOTH), (snapshot) => {
    const plan = planPass(snapshot, NOW);
    expect(plan.placed.length + plan.waiting.length + plan.skipped).toBe(snapshot.pending.length);
    const told = new Set([...plan.placed, ...plan.waiting].map(({ sessionId }) => sessionId));
    expect(told.size).toBe(plan.placed.length + plan.waiting.length);
    const blocking = snapshot.pending.find(({ id }) => id === plan.blockedBy);
    const capacityBlocked = plan.waiting.filter(({ reason }) => CAPACITY.has(reason)).map(({ sessionId }) => sessionId);
    expect(capacityBlocked).toEqual(plan.blockedBy === null ? [] : [plan.blockedBy]);
    for (const session of snapshot.pending) {
      const skipped = skippedReason(plan, session, blocking);
      expect(skipped === null).toBe(told.has(session.id));
      if (skipped !== null) expect(skipped.blockers[0]?.name).toBe(capacityBlocked[0]);
    }
  }),
);

holds(
  'nobody is placed behind a session of equal or higher priority that is blocked by capacity',
  fc.property(anySnapshot(BOTH), (snapshot) => {
    const plan = planPass(snapshot, NOW);
    const blocking = snapshot.pending.find(({ id }) => id === plan.blockedBy);
    const placed = snapshot.pending.filter(({ id }) => plan.placed.some(({ sessionId }) => sessionId === id));
    for (const session of blocking === undefined ? [] : placed)
      expect(compareQueueOrder(session, blocking as never)).toBeLessThan(0);
  }),
);

holds(
  'neither the order of nodes, quotas or queue nor a second run changes the plan, and the snapshot stays as it was',
  fc.property(
    anySnapshot(BOTH).chain((snapshot) =>
      fc.tuple(
        fc.constant(snapshot),
        fc.shuffledSubarray(snapshot.nodes, { minLength: snapshot.nodes.length }),
        fc.shuffledSubarray(snapshot.pending, { minLength: snapshot.pending.length }),
      ),
    ),
    ([snapshot, nodes, pending]) => {
      const before = structuredClone(snapshot);
      const plan = planPass(snapshot, NOW);
      expect(planPass({ ...snapshot, nodes, pending, quotas: snapshot.quotas.toReversed() }, NOW)).toEqual(plan);
      expect(planPass(snapshot, NOW)).toEqual(plan);
      expect(snapshot).toEqual(before);
    },
  ),
);

holds(
  'pages of any size give the same plan, also when reading stops at the first refusal of more',
  fc.property(anySnapshot(BOTH), fc.integer({ min: 1, max: 5 }), fc.boolean(), (snapshot, size, quotasWithPages) => {
    const { pending, ...base } = snapshot;
    const queue = inQueueOrder(pending);
    const plan = planPass(snapshot, NOW);
    const paged = (stop: boolean) => {
      const pass = startPass(quotasWithPages ? { ...base, quotas: [] } : base, NOW);
      for (let i = 0; i < queue.length; i += size) {
        const goOn = considerPage(pass, queue.slice(i, i + size), quotasWithPages ? base.quotas : []);
        if (stop && !goOn) break;
      }
      return finishPass(pass);
    };
    expect(paged(false)).toEqual(plan);
    expect({ ...paged(true), skipped: plan.skipped }).toEqual(plan);
  }),
);

holds(
  'what-if answers as the pass would with the candidate in the queue',
  fc.property(
    anySnapshot(BOTH).filter(({ pending }) => pending.length > 0),
    fc.nat(),
    (snapshot, pick) => {
      const candidate = snapshot.pending[pick % snapshot.pending.length] as (typeof snapshot.pending)[number];
      const plan = planPass(snapshot, NOW);
      const answer = whatIf(
        { ...snapshot, pending: snapshot.pending.filter(({ id }) => id !== candidate.id) },
        candidate,
        NOW,
      );
      expect(answer.position).toBe(inQueueOrder(snapshot.pending).indexOf(candidate) + 1);
      expect(answer.placed).toEqual(plan.placed.find(({ sessionId }) => sessionId === candidate.id) ?? null);
      const waiting = plan.waiting.find(({ sessionId }) => sessionId === candidate.id);
      if (waiting !== undefined) expect(answer.waiting).toEqual(waiting);
      else if (answer.placed === null) expect(answer.waiting?.reason).toBe('behind_in_queue');
    },
  ),
);
