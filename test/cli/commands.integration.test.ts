import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.js';
import type { DrainPlan, Group, Session } from '../../src/contract/index.js';
import { pass, runningSession } from '../api/placed.js';
import { GIB, readyNode, session, startTestApi, type TestApi } from '../api/support.js';

let api: TestApi;
let bob: string;
let waiting: Session;
const gpus = (gpuCount: number) => ({ kernels: [{ slots: { cpuMilli: 100, memoryBytes: GIB, gpuCount } }] });

beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  bob = await api.user('bob');
  vi.stubEnv('BERTH_URL', await api.listen());
  const bounded = { minRuntimeSeconds: 300, maxRuntimeSeconds: 600, gracePeriodSeconds: 10 };
  await runningSession(api, bob, { name: 'train', ...gpus(4), ...bounded });
  waiting = (await api.call(bob, 'POST', '/v1/sessions', session({ name: 'next', ...gpus(2) }))).json<Session>();
  await pass(api);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await api.close();
});

interface Ran {
  readonly out: string;
  readonly told: string;
  readonly code: number;
}

/** The program in this process, with what it wrote to stdout and stderr, and its exit code. */
async function berth(line: string, key = api.adminKey): Promise<Ran> {
  const written = { out: '', told: '' };
  vi.stubEnv('BERTH_TOKEN', key);
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((written.out += String(text)), true)),
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((written.told += String(text)), true)),
  ];
  try {
    const code = await runCli(line.split(' '));
    return { ...written, code };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

test('group set changes the settings that are named, and group show tells them', async () => {
  expect((await berth('group set default backfill=easy preemption.scope=project maxWait=2h')).code).toBe(0);
  const { policy } = (await api.call(api.adminKey, 'GET', '/v1/groups/default')).json<Group>();
  expect(policy).toMatchObject({
    backfill: 'easy',
    maxWaitSeconds: 7200,
    preemption: { enabled: false, mode: 'requeue', scope: 'project', order: 'newest' },
    decay: { by: 'attempts', after: 5 },
  });
  expect((await berth('group show default')).out).toMatch(/backfill +easy: .*\n(.*\n)* +maxWait +2h\n/);
  const wrong = await berth('group set default backfil=easy');
  expect([wrong.code, wrong.told]).toEqual([2, expect.stringContaining('"backfil" is no setting of a group')]);
  await berth('group set default maxWait=none');
  await pass(api);
});

test('queue tells each one’s place, what it waits for, when it starts, and what is reserved', async () => {
  const { out } = await berth('queue', bob);
  expect(out).toMatch(/^NAME +PLACE .* WHY +BEHIND +STARTS\n/);
  expect(out).toMatch(/^next +1 +bob .* insufficient_capacity +- +in (9|10)m/m);
  expect(out).toMatch(/^reserved for next: node-1 from .* \(in (9|10)m.*\) on: /m);
});

test('why tells the reason, the nearest fit, the start with its basis, and what helps', async () => {
  const { out } = await berth(`why ${waiting.name}`, bob);
  expect(out).toMatch(/^PENDING for .*: insufficient_capacity\n/);
  expect(out).toMatch(/nodes: 0 would take it, 1 insufficient_gpu/);
  expect(out).toMatch(/nearest fit: node-1: needs 2 GPU, 0 free/);
  expect(out).toMatch(/starts by .* \(in (9|10)m.*\), on node-1, reserved for it: .*train/);
  expect(out).toMatch(/try: .*: berth queue default/);
});

test('run --dry-run tells what it would get', async () => {
  const { out } = await berth('run --dry-run --gpus 3 busybox:1', bob);
  expect(out).toMatch(/^waits · .*\n {2}place in the queue: 2\n {2}start/);
});

test('inspect tells the devices and what they promise, and until when it is protected', async () => {
  const { out } = await berth('inspect train', bob);
  expect(out).toMatch(/^train \(ses_\w+\): RUNNING/);
  expect(out).toMatch(/may be stopped for others, not before .* \(in (4|5)m/);
  expect(out).toMatch(
    /sim-0 {2}sim-24 \(simulated\) {2}whole: memory limit enforced, compute of its own, faults isolated/,
  );
});

test('node drain --dry-run tells who stops when, and when the node is empty; it is for operators', async () => {
  const { out, code } = await berth('node drain node-1 --dry-run');
  expect(code).toBe(0);
  expect(out).toMatch(/^node node-1 would drain: empty by .* \(in (4|5)m.*\)\n/);
  expect(out).toMatch(/train +bob .* in (4|5)m\w* +.*Z +back to the queue +its minimum runtime of 300 s/);
  expect((await berth('node drain node-1 --dry-run', bob)).code).toBe(4);
  const json = JSON.parse((await berth('node drain node-1 --dry-run --deadline 1m -o json')).out) as DrainPlan;
  expect(json.stops).toMatchObject([{ name: 'train', breaksMinRuntime: true }]);
});

test('node drain, show, uncordon, unhealthy, healthy, move, cancel-move and warm change the node', async () => {
  await berth('node drain node-1 --reason driver');
  expect((await berth('node show node-1')).out).toMatch(
    /node node-1: DRAINING.*\n(.*\n)* {2}drains since .*admin: driver/,
  );
  expect((await berth('node uncordon node-1')).told).toBe('takes work again\n');
  expect((await berth('node unhealthy node-1 --reason fan')).told).toMatch(/^UNHEALTHY: its work leaves/);
  expect((await berth('node healthy node-1')).told).toBe('READY\n');
  await berth('group create night');
  expect((await berth('node move node-1 --to night --at +2h --repeat daily')).told).toMatch(
    /moves to night by .* \(in [12]h/,
  );
  expect((await berth('node cancel-move node-1')).told).toBe('stays in default; it is READY\n');
  expect((await berth('node warm node-1 busybox:1 python:3')).told).toMatch(/told to bring busybox:1, python:3/);
  expect(api.door.warmed).toEqual(['node-1 busybox:1 python:3']);
  expect((await berth('node move node-1 --to night --repeat daily')).code).toBe(2);
});

test('budget creates, changes, moves, closes and tells the tree, its history, its settings and why a session stands where it does', async () => {
  const ok = async (line: string, key?: string): Promise<string> => {
    const { out, told, code } = await berth(line, key);
    expect([line, code, code === 0 ? '' : told]).toEqual([line, 0, '']);
    return `${out}${told}`;
  };
  await ok('group set default order=fair-share');
  expect(await ok('group show default')).toMatch(/order +fair-share: by the budgets/);
  await ok('budget create research --domain default --weight 3');
  await ok('budget create spare --domain default');
  await ok('budget create research/nlp --project default/default-work --cap 2d --manager default/bob');
  const tree = await ok('budget tree', bob);
  expect(tree).toMatch(/^NAME +WEIGHT +CLAIM +ALLOCATED +USED +COMMITTED +RATIO +EXPECTED +RUNNING +WAITING\n/);
  expect(tree).toMatch(/^├─ research +3 +75 % +\d/m);
  expect(tree).toMatch(/^│ {2}└─ nlp +1 +75 %/m);
  expect(tree).toMatch(/GPU-hours of the last 7d/);
  await ok('budget set research/nlp --weight 2 --add-manager default/admin');
  expect(await ok('budget show research/nlp')).toMatch(
    /below +research, with weight 2\n(.*\n)* +minimum runtime +at most 2d/,
  );
  const nothing = await berth('budget set research/nlp');
  expect([nothing.code, nothing.told]).toEqual([
    2,
    expect.stringContaining('berth budget set research/nlp --weight 2'),
  ]);

  const dry = await ok('run --gpus 1 --budget research/nlp --min-runtime 1h --dry-run busybox:1', bob);
  expect(dry).toMatch(/charged to research\/nlp/);
  const long = await berth('run --gpus 1 --budget research/nlp --min-runtime 3d busybox:1', bob);
  expect([long.code, long.told]).toEqual([
    6,
    expect.stringMatching(/at most 2 d(.*\n)*.*berth run --budget research\/nlp/),
  ]);
  const explained = await ok(`budget explain ${waiting.id}`, bob);
  expect(explained).toMatch(
    /unallocated work goes after all allocated work.*\n {2}unallocated\n {2}may be stopped by: /,
  );
  expect(await ok(`why ${waiting.id}`, bob)).toMatch(/berth budget explain/);

  await ok('budget move research/nlp --to spare');
  await ok('budget close research');
  expect(await ok('budget tree spare --closed', bob)).toMatch(/^spare .*\n└─ nlp /m);
  expect(await ok('budget history -o wide')).toMatch(/research +\d+s +admin +closed +none +/);
  expect(await ok('budget settings factor.H200=1.5 window=14d')).toMatch(/^window=14d\n(.*\n)*factor.H200=1.5/);
  expect(JSON.parse(await ok('budget show spare/nlp -o json'))).toMatchObject({ path: 'spare/nlp', weight: 2 });
});
