import { afterAll, beforeAll, expect, test } from 'vitest';
import { admit } from '../../activities/control/admission.js';
import type { ControlDependencies } from '../../activities/control/dependencies.js';
import { planGroup } from '../../activities/control/planning.js';
import type { SessionId } from '../../src/contract/index.js';
import { newKernelId } from '../../src/platform/ids.js';
import { GIB, joinNode, type Ledger, openLedger, submit, unsound } from '../store/ledger.js';
import { sealing } from '../support/sealing.js';

let ledger: Ledger;
let dependencies: ControlDependencies;
const placed: SessionId[] = [];
let kicks = 0;
beforeAll(async () => {
  ledger = await openLedger();
  const door = {
    kickGroup: async () => void (kicks += 1),
    signalSession: async ({ sessionId }: { sessionId: SessionId }) => placed.push(sessionId) > 0,
  };
  const log = { warn: () => undefined };
  dependencies = {
    store: ledger.store,
    door: door as never,
    newKernelId,
    ...sealing,
    log,
    count: () => undefined,
  };
});
afterAll(() => ledger.store.close());

const tiny = { kernels: [{ role: 'main', slots: { cpuMilli: 1, memoryBytes: 6 * 2 ** 20 } }] };

test('of two admissions of one name at once one is refused as a conflict, when its activity is tried again', async () => {
  const ids = [await submit(ledger, { ...tiny, name: 'twin' }), await submit(ledger, { ...tiny, name: 'twin' })];
  const once = (id: SessionId) => admit(dependencies, id);
  const retried = (id: SessionId) => once(id).catch(() => once(id));
  const answers = await Promise.all(ids.map(retried));
  expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['admitted', 'refused']);
  const refused = answers.find((answer) => answer.outcome === 'refused');
  expect(refused).toMatchObject({ refusal: { code: 'conflict', detail: expect.stringContaining('twin') as string } });
  for (const [index, id] of ids.entries()) expect(await once(id)).toEqual(answers[index]);
});

test('a pass that places a thousand tells counts and the head of the queue, below 4 KiB, and signals each once', async () => {
  await joinNode(ledger.store, 'n2', 0, { capacity: { cpuMilli: 64_000, memoryBytes: 64 * GIB } });
  const wanted = new Set<SessionId>();
  for (let rest = 1_000; rest > 0; rest -= 50)
    for (const id of await Promise.all(Array.from({ length: 50 }, () => submit(ledger, tiny)))) wanted.add(id);
  for (const id of wanted) await admit(dependencies, id);
  kicks = 0;
  const report = await planGroup(dependencies, 'default');
  expect(report.placed).toBeGreaterThanOrEqual(1_000);
  expect(JSON.stringify(report).length).toBeLessThan(4_096);
  expect(placed.filter((id) => wanted.has(id)).length).toBe(1_000);
  expect(new Set(placed).size).toBe(placed.length);
  expect(await unsound(ledger.store)).toEqual({});
});
