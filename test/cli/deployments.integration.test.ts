import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.js';
import type { Deployment } from '../../src/contract/index.js';
import { readyNode, startTestApi, type TestApi } from '../api/support.js';

let api: TestApi;
let bob: string;
const dir = mkdtempSync(join(tmpdir(), 'berth-test-deployments-'));
const file = join(dir, 'chat.yaml');
const write = (replicas: number, image = 'berth/python:test') =>
  writeFileSync(
    file,
    `name: chat\nreplicas: ${replicas}\ntemplate: { image: '${image}', slots: { cpu: 1, memory: 1Gi, gpus: 1 }, port: 8000 }\n`,
  );

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

/** The program in this process, with what it wrote to stdout and stderr, and its exit code. */
async function berth(line: string) {
  const written = { out: '', told: '' };
  vi.stubEnv('BERTH_TOKEN', bob);
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

test('a file is tried, applied and changed; what it would change is told before', async () => {
  write(2);
  expect((await berth(`deploy apply -f ${file} --dry-run`)).told).toMatch('chat would be made, with 2 wanted');
  const made = await berth(`deploy apply -f ${file}`);
  expect([made.code, made.out, made.told]).toEqual([0, 'chat\n', expect.stringMatching(/berth deploy why chat/)]);
  expect((await berth(`deploy apply -f ${file} --dry-run`)).told).toMatch('nothing would change');
  write(3, 'berth/other:1');
  const told = (await berth(`deploy apply -f ${file} --dry-run`)).told;
  expect(told).toMatch('revision 2 would be rolled out; 2 → 3 replicas wanted');
});

test('it is listed, looked at and explained for people, and as data unchanged', async () => {
  expect((await berth('deploy ls')).out).toMatch(/^NAME +STATE +WHY +SERVING[\s\S]+chat +DEPLOYING.+0\/2/);
  expect((await berth('deploy get chat')).out).toMatch(/chat is DEPLOYING[\s\S]+endpoint +http.+\/deployments\/chat/);
  expect((await berth('deploy why chat')).out).toMatch(/^chat is DEPLOYING/);
  expect(JSON.parse((await berth('deploy get chat -o json')).out)).toMatchObject({ name: 'chat', replicasWanted: 2 });
  expect((await berth('deploy rollout status chat')).out).toMatch(/^revision 1/);
  expect((await berth('deploy revisions chat')).out).toMatch('berth/python:test');
  expect((await berth('deploy events chat')).out).toMatch('made with 2 wanted');
  expect((await berth('deploy decisions chat')).told).toMatch('no decision yet');
  expect((await berth('get deployments')).out).toMatch('chat');
});

test('it is scaled, held, and ended; what cannot be says why, with an exit code of its own', async () => {
  expect((await berth('deploy scale chat 4')).told).toMatch('4 wanted');
  expect((await berth('deploy rollout pause chat')).told).toMatch('paused');
  expect((await berth('deploy rollout promote chat')).code).toBe(5);
  const late = await berth('deploy scale chat 4 --wait --timeout 100ms');
  expect([late.code, late.told]).toEqual([expect.any(Number), expect.stringMatching(/serving, .* live, 4 wanted/)]);
  expect((await berth('deploy get none')).code).toBe(3);
  expect((await berth('deploy rm chat')).code).toBe(0);
  const state = (JSON.parse((await berth('deploy get chat -o json')).out) as Deployment).state;
  expect(['ENDING', 'ENDED']).toContain(state);
});

test('a token goes to stdout alone, once', async () => {
  writeFileSync(join(dir, 'web.yaml'), 'template: { image: i, slots: { cpu: 1, memory: 1Gi }, preset: tgi }\n');
  expect((await berth(`deploy apply -f ${join(dir, 'web.yaml')} web`)).code).toBe(0);
  const made = await berth('deploy token create web app --expires 12h');
  expect([made.out, made.told]).toEqual([expect.stringMatching(/^bdt_.+\n$/), expect.not.stringMatching('bdt_')]);
  const listed = (await berth('deploy token ls web')).out;
  expect(listed).toMatch(/app +dpt_/);
  expect((await berth(`deploy token rm web ${/dpt_\w+/.exec(listed)?.[0] ?? ''}`)).code).toBe(0);
});
