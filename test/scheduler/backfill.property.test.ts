import { expect, test } from 'vitest';
import type { Plan } from '../../src/contract/plan.js';
import type { Snapshot, SnapshotPending } from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { backfillFaults, fitsEmpty } from './reference-backfill.js';
import { dice, VirtualGroup } from './virtual-group.js';

/** Passes of all streams together while sessions come, more by the flag; until all have run there are as many again. */
const STEPS = Number(process.env['BERTH_PROPERTY_STEPS'] ?? 50_000);
const STEPS_A_STREAM = 50;
const MINUTES = 60_000;

const WORLDS = [
  { backfill: 'easy' },
  { backfill: 'conservative' },
  { backfill: 'easy', shares: true, gangs: true, quotas: true },
  { backfill: 'conservative', shares: true, gangs: true, quotas: true },
  { backfill: 'conservative', shares: true, endless: true },
  { backfill: 'easy', gangs: true, endless: true },
  { backfill: 'none', shares: true, gangs: true, quotas: true },
  { backfill: 'conservative', gangs: true, placement: 'concentrated' },
] as const satisfies readonly ({ readonly backfill: string; readonly placement?: string } & Partial<
  VirtualGroup['options']
>)[];

for (const { backfill, placement, ...options } of WORLDS.map((world) => ({
  placement: 'dispersed' as const,
  ...world,
}))) {
  const kinds = [backfill, placement, ...Object.keys(options)].join(', ');
  test(`starts are the earliest that delay nobody, whole, never over-committed, told truly, and nobody starves (${kinds})`, {
    timeout: 10 * MINUTES,
  }, () => {
    const count = Math.ceil(STEPS / STEPS_A_STREAM / WORLDS.length);
    for (let seed = 1; seed <= count; seed += 1) {
      const group = new VirtualGroup(dice(seed * 7919), { backfill, placement }, options);
      for (let step = 0; step < STEPS_A_STREAM; step += 1) {
        for (let n = group.random.upTo(2); n > 0 && group.pending.length < 7; n -= 1) group.arrive();
        runStep(group, { seed, step });
      }
      if (backfill !== 'none' && !('endless' in options)) expectNobodyStarves(group, seed);
    }
  });
}

function runStep(group: VirtualGroup, at: { readonly seed: number; readonly step: number }): void {
  const snapshot = group.snapshot();
  const plan = group.plan(snapshot);
  const faults = [
    ...backfillFaults(snapshot, plan),
    ...wholenessFaults(snapshot, plan),
    ...quotaFaults(snapshot, plan),
    ...headFaults(group, snapshot, plan),
    ...(at.step % 20 === 3 ? orderFaults(group, snapshot, plan) : []),
    ...(at.step % 20 === 0 ? reasonFaults(snapshot, plan) : []),
  ];
  if (faults.length > 0) throw new Error(`${JSON.stringify(at)}: ${faults.join('; ')}\n${JSON.stringify(snapshot)}`);
  group.apply(plan);
  group.advance();
}

/** All kernels of a gang, each with its slots and as many devices, on READY nodes; one node unless it may spread. */
function wholenessFaults({ pending }: Snapshot, { placed, reservations }: Plan): string[] {
  return [...placed, ...reservations].flatMap(({ sessionId, kernels }) => {
    const session = pending.find(({ id }) => id === sessionId) as SnapshotPending;
    const isWhole =
      kernels.length === session.kernels.length &&
      kernels.every(({ kernelId, slots, deviceIds }, k) => {
        const asked = session.kernels[k]?.slots;
        const devices = asked?.gpuMemoryBytes === 0 ? asked.gpuCount : 1;
        return (
          kernelId === session.kernels[k]?.id &&
          slots.gpuCount === asked?.gpuCount &&
          new Set(deviceIds).size === devices
        );
      });
    const isTogether = session.clusterMode === 'multi-node' || new Set(kernels.map(({ node }) => node)).size === 1;
    return isWhole && isTogether ? [] : [`${session.name} is not placed whole`];
  });
}

function quotaFaults({ pending, quotas }: Snapshot, { placed }: Plan): string[] {
  return quotas.flatMap(({ id, limits, held }) => {
    const mine = pending.filter((each) => each.userId === id && placed.some(({ sessionId }) => sessionId === each.id));
    const more = mine.flatMap(({ kernels }) => kernels).reduce((sum, { slots }) => sum + slots.gpuCount, 0);
    return more === 0 || held.gpuCount + more <= (limits.gpuCount ?? Infinity)
      ? []
      : [`the quota of ${id} is exceeded`];
  });
}

const heads = new WeakMap<VirtualGroup, { readonly id: string; readonly at: string }>();

/** While it stays the first that is blocked, and nobody came ahead of it, its start is never moved back. */
function headFaults(group: VirtualGroup, { pending }: Snapshot, { reservations, placed }: Plan): string[] {
  const before = heads.get(group);
  const [head] = reservations;
  if (head === undefined) heads.delete(group);
  else heads.set(group, { id: head.sessionId, at: head.at });
  if (before === undefined || head === undefined || before.id !== head.sessionId || head.at <= before.at) return [];
  const own = pending.findIndex(({ id }) => id === head.sessionId);
  const isPassed = placed.some(({ sessionId }) => pending.findIndex(({ id }) => id === sessionId) < own);
  return isPassed ? [] : [`the head was to start at ${before.at}, now at ${head.at}`];
}

function orderFaults({ random }: VirtualGroup, snapshot: Snapshot, plan: Plan): string[] {
  const { nodes, running, pending, quotas } = snapshot;
  const mixed = {
    ...snapshot,
    nodes: random.shuffled(nodes),
    running: random.shuffled(running),
    pending: random.shuffled(pending),
    quotas: random.shuffled(quotas),
  };
  return JSON.stringify(planPass(mixed, plan.now)) === JSON.stringify(plan) ? [] : ['the order of the input matters'];
}

/** With what is named out of the way, it starts, or is told something else. */
function reasonFaults(snapshot: Snapshot, plan: Plan): string[] {
  return plan.waiting.flatMap(({ sessionId, reason }) => {
    const session = snapshot.pending.find(({ id }) => id === sessionId) as SnapshotPending;
    const alone = { ...snapshot, pending: [session], quotas: [] };
    const empty = {
      ...alone,
      running: [],
      nodes: snapshot.nodes.map((node) => ({
        ...node,
        used: { cpuMilli: 0, memoryBytes: 0 },
        devices: node.devices.map((device) => ({ ...device, heldBy: null, shares: [] })),
      })),
    };
    const starts = (changed: Snapshot): boolean => planPass(changed, plan.now).placed.length === 1;
    const isTrue = {
      user_quota: () =>
        planPass({ ...snapshot, quotas: [] }, plan.now).waiting.every(
          (each) => each.sessionId !== sessionId || each.reason !== 'user_quota',
        ),
      insufficient_capacity: () => starts(empty) && !starts(withPlaced(alone, plan)),
      fragmented: () => starts(empty) && !starts(withPlaced(alone, plan)),
      delays_reservation: () => starts(alone) && plan.reservations.length > 0,
      too_large_for_any_node: () => !fitsEmpty(snapshot, session),
      no_matching_device: () => !fitsEmpty(snapshot, session),
      misconfigured: () => !fitsEmpty(snapshot, session),
    }[reason as string];
    return isTrue?.() === true ? [] : [`${session.name} is told ${reason}, which is not so`];
  });
}

/** The snapshot as the plan leaves it. */
function withPlaced(snapshot: Snapshot, { placed }: Plan): Snapshot {
  const rooms = placed.flatMap(({ kernels }) => kernels);
  const nodes = snapshot.nodes.map((node) => {
    const here = rooms.filter((room) => room.node === node.name);
    const sum = (slot: 'cpuMilli' | 'memoryBytes'): number =>
      here.reduce((total, { slots }) => total + slots[slot], node.used[slot]);
    const devices = node.devices.map((device) => {
      const on = here.filter(({ deviceIds }) => deviceIds.includes(device.id));
      const shares = on.filter(({ slots }) => slots.gpuMemoryBytes > 0);
      return {
        ...device,
        heldBy: on.find(({ slots }) => slots.gpuCount > 0)?.kernelId ?? device.heldBy,
        shares: [
          ...device.shares,
          ...shares.map(({ kernelId, slots }) => ({ kernelId, memoryBytes: slots.gpuMemoryBytes })),
        ],
      };
    });
    return { ...node, used: { cpuMilli: sum('cpuMilli'), memoryBytes: sum('memoryBytes') }, devices };
  });
  return { ...snapshot, nodes };
}

/** Nobody comes any more, and everybody who runs ends: all that can ever run have run after as many ends as there are sessions. */
function expectNobodyStarves(group: VirtualGroup, seed: number): void {
  const most = 3 * (group.pending.length + group.running.length) + 10;
  for (let step = 0; step < most; step += 1) runStep(group, { seed, step: 1_000 + step });
  const left = group.pending.filter((session) => fitsEmpty(group.snapshot(), session));
  const ofQuota = left.filter(
    ({ kernels, userId }) => group.quotaOf(userId) < kernels.reduce((sum, { slots }) => sum + slots.gpuCount, 0),
  );
  expect(left.length - ofQuota.length, `seed ${seed}: still waiting`).toBe(0);
}
