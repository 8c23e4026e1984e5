import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PlacedKernel, Sharing } from '../../src/contract/index.js';
import {
  emptyPlan,
  GIB,
  joinNode,
  type Ledger,
  nextId,
  openLedger,
  openPass,
  placeAll,
  stopOf,
  submitAndAdmit,
  unsound,
} from './ledger.js';
import { query } from './upkeep.js';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(() => ledger.store.close());

/** A node of its own with one device of 24 GiB. */
async function node(sharing: Sharing): Promise<string> {
  const name = `n${nextId('x').slice(-6)}`;
  const device = { id: 'gpu-0', index: 0, model: 'sim-24', memoryBytes: 24 * GIB, simulated: true, healthy: true };
  await joinNode(ledger.store, name, 1, {
    devices: [{ ...device, sharing, parentId: sharing === 'mig' ? 'gpu' : null }],
  });
  return name;
}
const share = (bytes: number) => ({
  kernels: [{ role: 'main', slots: { cpuMilli: 100, memoryBytes: GIB, gpuMemoryBytes: bytes } }],
});
const whole = { kernels: [{ role: 'main', slots: { cpuMilli: 100, memoryBytes: GIB, gpuCount: 1 } }] };

/** Submits the requests, and commits a plan that puts them all on the node's one device; `change` bends what is booked. */
async function put(on: string, requests: readonly object[], change: Partial<PlacedKernel['slots']> = {}) {
  for (const request of requests) await submitAndAdmit(ledger, request);
  const pass = await openPass(ledger.store);
  const placed = (await pass.nextPage()).map(({ id, version, kernels }) => ({
    sessionId: id,
    version,
    explanation: 'by hand',
    kernels: kernels.map((kernel) => ({
      kernelId: kernel.id,
      node: on,
      deviceIds: ['gpu-0'],
      slots: { ...kernel.slots, ...change },
    })),
  }));
  const committed = await pass.commit(emptyPlan(pass, { placed })).finally(() => pass.close());
  for (const { sessionId } of placed) {
    const isPlaced = committed.placed.some((one) => one.sessionId === sessionId);
    if (!isPlaced) await ledger.store.sessions.requestStop(stopOf(sessionId));
  }
  return committed;
}
const deviceOf = async (name: string) =>
  (await ledger.store.planning.snapshot('default'))?.nodes.find((one) => one.name === name)?.devices[0];

describe('shares of a device', () => {
  test('are booked beside each other up to its memory, shown, given in the launch order, and given back', async () => {
    const { store } = ledger;
    const on = await node('mps');
    const { placed, dropped } = await put(on, [share(16 * GIB), share(8 * GIB), share(1 * GIB)]);
    expect([placed.length, dropped]).toEqual([2, 1]);
    expect(await deviceOf(on)).toMatchObject({
      sharing: 'mps',
      heldBy: null,
      shares: [{ memoryBytes: 16 * GIB }, { memoryBytes: 8 * GIB }],
    });
    const [first] = placed;
    if (first === undefined) throw new Error('not placed');
    const begun = await store.sessions.begin(first.sessionId, 1);
    const kernelId = begun.outcome === 'go' ? begun.placement.nodes[0]?.kernels[0]?.kernelId : undefined;
    const order = kernelId === undefined ? null : await store.nodes.launchOrder(on, kernelId, 1);
    expect(order?.order).toMatchObject({
      devices: [{ id: 'gpu-0', sharing: 'mps', share: { memoryBytes: 16 * GIB, limitBytes: 16 * GIB } }],
      notice: { signal: 'SIGTERM' },
      retryable: true,
      contactLimitSeconds: 240,
    });
    const running = (await store.planning.snapshot('default'))?.running.find((one) => one.id === first.sessionId);
    expect(running).toMatchObject({
      startedAt: null,
      goneBy: null,
      kernels: [{ node: on, deviceIds: ['gpu-0'], slots: { gpuMemoryBytes: 16 * GIB } }],
    });
    await store.sessions.requestStop(stopOf(first.sessionId));
    await store.sessions.finish(first.sessionId, 1, true);
    expect(await put(on, [share(16 * GIB)])).toMatchObject({ dropped: 0 });
    expect(await unsound(store)).toEqual({});
  });

  const refused: readonly [
    title: string,
    sharing: Sharing,
    first: object,
    second: object,
    slots?: { gpuMemoryBytes: number },
  ][] = [
    ['a share of a device that somebody has whole', 'mps', whole, share(GIB)],
    ['a whole device that is shared', 'mps', share(GIB), whole],
    ['a second share of a MIG instance', 'mig', share(24 * GIB), share(24 * GIB)],
  ];
  test.each(refused)('refuse %s', async (_, sharing, first, second) => {
    const on = await node(sharing);
    expect(await put(on, [first])).toMatchObject({ dropped: 0 });
    expect(await put(on, [second])).toMatchObject({ placed: [], dropped: 1 });
    expect(await unsound(ledger.store)).toEqual({});
  });
  test('of a MIG instance book all of it, whatever was asked, and never less', async () => {
    const on = await node('mig');
    expect(await put(on, [whole])).toMatchObject({ dropped: 1 });
    expect(await put(on, [share(8 * GIB)])).toMatchObject({ dropped: 1 });
    expect(await put(on, [share(8 * GIB)], { gpuMemoryBytes: 24 * GIB })).toMatchObject({ dropped: 0 });
    expect(await deviceOf(on)).toMatchObject({ parentId: 'gpu', shares: [{ memoryBytes: 24 * GIB }] });
    expect(await ledger.store.settings.getQuota('project', 'default/default')).toMatchObject({ held: {} });
    expect(await unsound(ledger.store)).toEqual({});
  });
  test('of other devices book exactly what was asked', async () => {
    const on = await node('memory-limit');
    expect(await put(on, [share(8 * GIB)], { gpuMemoryBytes: 4 * GIB })).toMatchObject({ dropped: 1 });
    expect(await put(on, [share(8 * GIB)], { gpuMemoryBytes: 9 * GIB })).toMatchObject({ dropped: 1 });
    expect(await put(on, [share(8 * GIB)])).toMatchObject({ dropped: 0 });
  });
});

describe('booked behind the pass’s back, a device', () => {
  /** As a hold of any reservation: the foreign key wants one. */
  async function hold(client: pg.Client, on: string, bytes: number | null): Promise<void> {
    await client.query(
      `INSERT INTO device_holds (reservation_id, node, device_id, session_id, kernel_id, attempt, memory_bytes)
       SELECT min(id), $1, 'gpu-0', 'ses_x', 'krn_x', 1, $2::bigint FROM reservations`,
      [on, bytes],
    );
  }
  const cases: readonly [title: string, one: number | null, other: number | null, isRefused: boolean][] = [
    ['is shared within its memory', 12 * GIB, 12 * GIB, false],
    ['is not shared beyond its memory', 12 * GIB, 13 * GIB, true],
    ['is not held whole while it is shared', 1 * GIB, null, true],
    ['is not shared while it is held whole', null, 1 * GIB, true],
    ['is not held whole twice', null, null, true],
  ];
  test.each(cases)('%s, whoever comes first: Postgres refuses the second', async (_, one, other, isRefused) => {
    const on = await node('mps');
    await submitAndAdmit(ledger);
    await placeAll(ledger.store);
    const [a, b] = [new pg.Client({ connectionString: ledger.url }), new pg.Client({ connectionString: ledger.url })];
    await Promise.all([a.connect(), b.connect()]);
    await a.query('BEGIN');
    await b.query('BEGIN');
    await hold(a, on, one);
    const second = hold(b, on, other).then(
      () => 'booked',
      (error: unknown) => (error as { code?: string }).code,
    ); // waits for the row of the first
    await a.query('COMMIT');
    expect(await second).toEqual(isRefused ? expect.stringMatching(/^23/) : 'booked');
    await b.query('ROLLBACK');
    await Promise.all([a.end(), b.end()]);
    await query(ledger, 'DELETE FROM device_holds WHERE node = $1', [on]);
    await query(ledger, 'DELETE FROM device_use WHERE node = $1', [on]);
  });
});
