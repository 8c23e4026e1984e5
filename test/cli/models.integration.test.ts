import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.js';
import type { ModelClaim, Pool, PoolGpuView } from '../../src/contract/index.js';
import { runningMember, settled } from '../api/pool-member.js';
import { readyNode, startTestApi, type TestApi } from '../api/support.js';

let api: TestApi;
let bob: string;
const dir = mkdtempSync(join(tmpdir(), 'berth-test-models-'));

beforeAll(async () => {
  api = await startTestApi();
  await readyNode(api);
  bob = await api.user('bob');
  vi.stubEnv('BERTH_URL', await api.listen());
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await api.close();
  rmSync(dir, { recursive: true, force: true });
});

interface Ran {
  readonly out: string;
  readonly told: string;
  readonly code: number;
}

/** The program in this process, with what it wrote to stdout and stderr, and its exit code. */
async function berth(line: string, key = bob): Promise<Ran> {
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
const asAdmin = (line: string): Promise<Ran> => berth(line, api.adminKey);
const CLAIM = '--pool chat --artifact huggingface://models/a --footprint 6Gi --kv-floor 2Gi';

test('an operator makes a pool, changes what is named, and sees what it is', async () => {
  const create = 'pool create chat --image engine:1 --gpus 2 --mem 4Gi --allow default-work --sleep-after 10m';
  expect((await asAdmin(`${create} --dry-run`)).told).toMatch(/allowed; nothing was changed/);
  const made = await asAdmin(create);
  expect([made.code, made.out, made.told]).toEqual([0, 'chat\n', expect.stringMatching(/berth model claim NAME/)]);
  expect((await asAdmin('pool set chat --release --room-after 20s')).code).toBe(0);
  const { policy } = JSON.parse((await asAdmin('pool get chat -o json')).out) as Pool;
  expect(policy).toMatchObject({
    sleepAfterSeconds: 600,
    noWakeReserveWhileAsleep: true,
    sleepToMakeRoomAfterSeconds: 20,
  });
  expect((await asAdmin('pool get chat')).out).toMatch(/^pool chat: EMPTY, 0 of 1 members ready/);
  const again = await asAdmin(create);
  expect([again.code, again.told]).toEqual([5, expect.stringMatching(/there is a pool chat already/)]);
  const refused = await berth('pool scale chat 2');
  expect([refused.code, refused.told]).toEqual([4, expect.stringMatching(/needs the role operator/)]);
  expect((await asAdmin('pool create other --image engine:1')).told).toMatch(/--mem/);
  expect((await berth('pool ls')).out).toMatch(/^chat +EMPTY +0\/1 +2 each/m);
});

test('a claim is refused in words that a stranger understands, before anything is made', async () => {
  const arg = await berth(`model claim a ${CLAIM} -- --gpu-memory-utilization=0.9`);
  expect([arg.code, arg.told]).toEqual([
    2,
    expect.stringMatching(/--gpu-memory-utilization is not the claim's: .*perGpu/),
  ]);
  expect((await berth('model claim a --pool chat')).told).toMatch(
    /needs --artifact, --footprint, --kv-floor\nhint: berth/,
  );
  const none = await berth(`model claim a ${CLAIM.replace('chat', 'none')}`);
  expect([none.code, none.told]).toEqual([3, expect.stringMatching(/no pool none that the project may use/)]);
  const big = await berth(`model claim a ${CLAIM} --kv-max 1Gi`);
  expect([big.code, big.told]).toEqual([2, expect.stringMatching(/1 GiB is below perGpu.kvFloor \(2 GiB\)/)]);
});

test('a claim of a file waits, says what for, and serves', async () => {
  const file = join(dir, 'claim.yaml');
  const figures = 'perGpu: {maximumFootprint: 6Gi, kvFloor: 2Gi}';
  writeFileSync(
    file,
    `modelName: qwen\npool: chat\nartifactUrl: huggingface://models/a\n${figures}\nsleep: {afterSeconds: 60}\n`,
  );
  expect((await berth(`model claim -f ${file} --dry-run`)).told).toMatch(/allowed; nothing was changed/);
  const waits = berth(`model claim -f ${file} --priority 2 --wait --timeout 60s`);
  await vi.waitFor(async () => expect(await api.store.models.claim('qwen', { projects: null })).not.toBeNull());
  await runningMember(api, 'chat');
  await settled(api, 'chat');
  const { code, out, told } = await waits;
  expect([code, out]).toEqual([0, 'qwen\n']);
  expect(told).toMatch(/^PENDING/);
  expect(told).toMatch(/it serves\n$/);
  expect((await berth('model why qwen')).out).toMatch(
    /^qwen is ACTIVE\n {2}it serves, with 1 of 1 engines on the route\n/,
  );
  const [head, row] = (await berth('model ls')).out.split('\n');
  expect(head).toMatch(/^NAME +PHASE +WHY +POOL +GPU +FOOTPRINT/);
  expect(row).toMatch(/^qwen +ACTIVE +chat +node-1\/\d +6Gi +2Gi +14Gi/);
  expect((await berth('model get qwen')).out).toMatch(/ {2}size +1 × 1 GPUs, priority 2\n {2}sleep +after 1m\n/);
});

test('a claim above every GPU fails at once and says why; with a time-out that is over, too', async () => {
  const huge = await berth(
    'model claim huge --pool chat --artifact huggingface://models/b --footprint 30Gi --kv-floor 10Gi --wait',
  );
  expect([huge.code, huge.told]).toEqual([6, expect.stringMatching(/huge does not serve: .*40 GiB.*20 GiB/)]);
  await settled(api, 'chat');
  expect((await berth('model why huge')).out).toMatch(
    /TooLargeForAnyGpu\n.*\n {2}needs 40Gi: 30Gi footprint \+ 10Gi KV floor\n/,
  );
  const full = await berth(
    'model claim wide --pool chat --artifact huggingface://models/b --footprint 15Gi --kv-floor 1Gi --wait --timeout 0.1s',
  );
  expect([full.code, full.told]).toEqual([124, expect.stringMatching(/wide is PENDING after 0.1 s/)]);
});

test('what is claimed is changed within its room, asked to sleep, and ended', async () => {
  await settled(api, 'chat');
  expect((await berth('model set qwen --kv-max 15Gi --sleep-after none')).code).toBe(0);
  const { kvMaxBytes, sleep } = JSON.parse((await berth('model get qwen -o json')).out) as ModelClaim;
  expect([kvMaxBytes, sleep.afterSeconds]).toEqual([15 * 2 ** 30, null]);
  const raise = await berth('model set qwen --kv-floor 15Gi');
  expect([raise.code, raise.told]).toEqual([
    2,
    expect.stringMatching(/needs 21 GiB, and node-1\/\d has .* beside its neighbours/),
  ]);
  expect((await berth('model set qwen')).told).toMatch(/nothing to set\nhint: berth model set qwen/);
  expect((await berth('model sleep qwen')).told).toMatch(/asked to sleep/);
  expect((await berth('model history qwen -o wide')).out).toMatch(/claimed .*bob/);
  expect((await berth('model suggest qwen')).out).toMatch(/^qwen: /);
  expect((await berth('model usage qwen')).told).toMatch(/nothing was used/);
  expect((await berth('model rm wide')).told).toMatch(/ends; what is in flight has 90 s/);
  expect((await berth('model why none')).code).toBe(3);
});

test('berth gpu draws each GPU with its numbers; for programs it is the API’s object', async () => {
  await settled(api, 'chat');
  const drawn = await berth('gpu chat');
  expect(drawn.out).toMatch(/^node-1\/0 \(sim-0\): 20Gi usable, /);
  expect(drawn.out).toMatch(/^ {2}\[#+=+\+*.*\]$/m);
  expect(drawn.out).toMatch(/^ {2}qwen +ACTIVE +6Gi +2Gi /m);
  expect(drawn.told).toBe(
    '# footprint  = KV floor  + extra KV  z residue asleep  k kept for its wake  h room held  . free\n',
  );
  const { items } = JSON.parse((await berth('gpu --json')).out) as { items: PoolGpuView[] };
  expect(items.map(({ name, usableBytes }) => [name, usableBytes])).toEqual([
    ['node-1/0', 20 * 2 ** 30],
    ['node-1/1', 20 * 2 ** 30],
  ]);
  expect((await berth('gpu -q')).out).toBe('node-1/0\nnode-1/1\n');
});

test('a key is bound to models and rates, and what is not named stays', async () => {
  await berth('key create app --scope read');
  const id = (await berth('key ls -q')).out.trim().split('\n').at(-1) ?? '';
  expect((await berth(`model key set ${id} --models qwen --requests 60`)).code).toBe(0);
  expect((await berth(`model key set ${id} --tokens 1000 --requests none`)).code).toBe(0);
  expect((await berth(`model key show ${id}`)).out).toMatch(/^key_\w+ +qwen +no limit +1000$/m);
});

test('a pool with models is not forgotten, and its snapshot is saved for berth models plan', async () => {
  const file = join(dir, 'pool.json');
  expect((await asAdmin(`pool snapshot chat -f ${file}`)).told).toMatch(
    /2 GPUs, \d models; plan it: berth models plan /,
  );
  const held = await asAdmin('pool rm chat');
  expect([held.code, held.told]).toEqual([5, expect.stringMatching(/has claims\nhint: berth model ls --pool chat/)]);
  expect((await asAdmin('pool drain chat')).told).toMatch(/fill it again: berth pool scale chat 1/);
});
