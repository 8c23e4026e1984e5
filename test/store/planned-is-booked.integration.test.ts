import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CreateSessionInput, PlacedKernel, Plan, SessionId } from '../../src/contract/index.js';
import { considerPage, finishPass, startPass } from '../../src/scheduler/plan-pass.js';
import { GIB, joinNode, type Ledger, openLedger, openPass, stopOf, submitAndAdmit, unsound } from './ledger.js';
import { query } from './upkeep.js';

/** Turns of the stream; more by the flag. */
const TURNS = Number(process.env['BERTH_LEDGER_TURNS'] ?? 30);

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
  const device = { model: 'sim-24', memoryBytes: 24 * GIB, simulated: true, healthy: true };
  const devices = (['mps', 'memory-limit', 'mig', 'mig'] as const).map((sharing, index) => ({
    ...{ ...device, id: `gpu-${index}`, index, sharing },
    ...(sharing === 'mig' ? { parentId: 'gpu', memoryBytes: 12 * GIB } : { parentId: null }),
  }));
  await joinNode(ledger.store, 'n2', 0, { devices });
  const policy = { backfill: 'easy', preemption: { enabled: true, scope: 'group' } } as const;
  await ledger.store.settings.patchGroup('default', { policy, ifMatch: null });
});
afterAll(() => ledger.store.close());

/** Numbers below `below` that follow from the seed alone. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function request(roll: (below: number) => number): Partial<CreateSessionInput> {
  const small = { cpuMilli: 100, memoryBytes: GIB / 4 };
  const slots = roll(2) === 0 ? { ...small, gpuMemoryBytes: (1 + roll(20)) * GIB } : { ...small, gpuCount: roll(4) };
  const workers = roll(3) === 0 ? [{ role: 'worker', count: 1 + roll(2), slots }] : [];
  return {
    ...{ kernels: [{ role: 'main', slots }, ...workers], clusterMode: 'multi-node' },
    ...{ priority: 10 * roll(5), gracePeriodSeconds: 0, maxRuntimeSeconds: 600 },
  };
}

/** What the planner of the control worker decides and commits. */
async function turn(): Promise<Plan> {
  const pass = await openPass(ledger.store);
  try {
    const planning = startPass(pass.base, pass.base.takenAt);
    for (;;) {
      const page = await pass.nextPage();
      considerPage(planning, page);
      if (page.length === 0) break;
    }
    const plan = finishPass(planning);
    expect(await pass.commit(plan)).toMatchObject({ outcome: 'committed', dropped: 0 });
    return plan;
  } finally {
    await pass.close();
  }
}

const told = ({ kernelId, node, deviceIds, slots }: PlacedKernel) => ({
  ...{ kernelId, node, cpu: slots.cpuMilli, memory: slots.memoryBytes },
  devices: deviceIds.map((id) => `${id} ${slots.gpuMemoryBytes > 0 ? slots.gpuMemoryBytes : 'whole'}`).toSorted(),
});
const byKernel = (a: { kernelId: string }, b: { kernelId: string }) => a.kernelId.localeCompare(b.kernelId);

/** Open reservations with the devices that each holds. */
const booked = async (sessionIds: readonly SessionId[]) =>
  query<ReturnType<typeof told>>(
    ledger,
    `SELECT r.kernel_id AS "kernelId", r.node, r.cpu_milli::float8 AS cpu, r.memory_bytes::float8 AS memory,
       coalesce((SELECT array_agg(h.device_id || ' ' || coalesce(h.memory_bytes::text, 'whole') ORDER BY h.device_id)
         FROM device_holds h WHERE h.reservation_id = r.id), '{}') AS devices
     FROM reservations r WHERE r.session_id = ANY($1) AND r.released_at IS NULL`,
    [sessionIds],
  );
const statesOf = (ids: readonly SessionId[]) =>
  query<{ id: SessionId; state: string; attempt: number }>(
    ledger,
    'SELECT id, state, attempt FROM sessions WHERE id = ANY($1) ORDER BY id',
    [ids],
  );

async function expectWhatWasPlanned({ placed, stops, holds }: Plan): Promise<void> {
  const ids = placed.map(({ sessionId }) => sessionId);
  const wanted = placed.flatMap(({ kernels }) => kernels.map(told));
  expect((await booked(ids)).toSorted(byKernel)).toEqual(wanted.toSorted(byKernel));
  const stopped = await statesOf(stops.map(({ sessionId }) => sessionId));
  expect(stopped.filter(({ state }) => state !== 'PREEMPTING')).toEqual([]);
  const kept = await query(ledger, 'SELECT session_id, kernels FROM room_holds WHERE session_id = ANY($1) ORDER BY 1', [
    holds.map(({ sessionId }) => sessionId),
  ]);
  expect(kept).toEqual(
    holds
      .map(({ sessionId, kernels }) => ({ session_id: sessionId, kernels }))
      .toSorted((a, b) => a.session_id.localeCompare(b.session_id)),
  );
}

/** Those placed run, those told to go leave, and a few of the others end. */
async function goOn(roll: (below: number) => number): Promise<void> {
  const { store } = ledger;
  const open = await query<{ id: SessionId; state: string; attempt: number }>(
    ledger,
    `SELECT id, state, attempt FROM sessions WHERE state IN ('SCHEDULED', 'RUNNING', 'PREEMPTING') ORDER BY id`,
  );
  for (const { id, state, attempt } of open) {
    if (state === 'SCHEDULED') {
      await store.sessions.begin(id, attempt);
      await store.sessions.markRunning(id, attempt);
    }
    if (state === 'PREEMPTING' && roll(2) === 0) await store.sessions.finish(id, attempt, true);
    if (state === 'RUNNING' && roll(6) === 0) {
      await store.sessions.requestStop(stopOf(id));
      await store.sessions.finish(id, attempt, true);
    }
  }
}

test('what a plan places, stops and keeps is what the ledger books, kernel by kernel and device by device', async () => {
  const roll = dice(20_261_130);
  const seen = { placed: 0, shares: 0, stops: 0, holds: 0 };
  for (let n = 0; n < TURNS; n += 1) {
    for (let arrivals = roll(4); arrivals > 0; arrivals -= 1) await submitAndAdmit(ledger, request(roll));
    const plan = await turn();
    await expectWhatWasPlanned(plan);
    seen.placed += plan.placed.length;
    seen.shares += plan.placed.filter(({ kernels }) => kernels.some(({ slots }) => slots.gpuMemoryBytes > 0)).length;
    seen.stops += plan.stops.length;
    seen.holds += plan.holds.length;
    await goOn(roll);
    expect(await unsound(ledger.store)).toEqual({});
  }
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(0);
}, 300_000);
