import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureSimulatedEngineImage } from '../../infra/images/simulated-engine.mjs';
import { SOLO_NETWORK } from '../../src/agent/kernel-container.js';
import { seriesOf } from '../../src/agent/prometheus-text.js';
import { connectDocker } from '../../src/docker/connect.js';
import { type Containers, createContainers } from '../../src/docker/containers.js';
import { removeContainers, uniqueLabel } from '../support/docker.js';
import { eventually } from '../support/process.js';

const label = uniqueLabel('replica-test');
const engine: Containers = createContainers({ docker: connectDocker() });
let folder: string;
let image: string;

beforeAll(async () => {
  image = (await ensureSimulatedEngineImage()).name;
  folder = mkdtempSync(join(tmpdir(), 'berth-model-'));
  await engine.ensureNetwork(SOLO_NETWORK, { labels: {}, isolated: true });
  chmodSync(folder, 0o755);
});
afterAll(async () => {
  await removeContainers(`berth.test-replica=${label}`);
  rmSync(folder, { recursive: true, force: true });
});

/** As a deployment's vLLM preset starts it: its own command line, knobs by environment. */
async function start(name: string, environment: Record<string, string>): Promise<string> {
  const container = `${label}-${name}`;
  await engine.ensureCreated({
    name: container,
    labels: { 'berth.test-replica': label },
    image,
    entrypoint: ['vllm', 'serve'],
    command: ['/model', '--served-model-name', 'chat', '--host', '0.0.0.0', '--port', '8000'],
    environment: { SIMULATED_START_SECONDS: '0.1', SIMULATED_TOKENS_PER_SECOND: '1000', ...environment },
    cpuMilli: 500,
    memoryBytes: 128 * 2 ** 20,
    mounts: [{ source: folder, target: '/model', readOnly: true }],
    ports: [],
    network: { name: SOLO_NETWORK, aliases: [], extraHosts: {} },
  });
  const { addresses } = await engine.ensureStarted(container);
  return `http://${Object.values(addresses)[0]}:8000`;
}
async function logOf(name: string): Promise<string> {
  let text = '';
  for await (const { data } of engine.logs(`${label}-${name}`)) text += String(data);
  return text;
}
const status = (url: string): Promise<number> =>
  fetch(url).then(
    (answer) => answer.status,
    () => 0,
  );
const post = (url: string, body: object) =>
  fetch(url, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
const exitOf = async (name: string) => (await engine.inspect(`${label}-${name}`))?.exitCode;

describe('the simulated engine as a replica', () => {
  test('does not start from a folder without a model', async () => {
    await start('empty', {});
    await eventually('ended', async () => (await exitOf('empty')) === 1);
    expect(await logOf('empty')).toContain('/model does not appear to have a file named config.json (simulated)');
    writeFileSync(join(folder, 'config.json'), '{}');
    await start('no-weights', {});
    await eventually('ended', async () => (await exitOf('no-weights')) === 1);
    expect(await logOf('no-weights')).toContain('/model has no weights');
    writeFileSync(join(folder, 'model.safetensors'), 'weights');
  });

  test('serves the folder, shows who runs and who waits, and is unhealthy when it is told to', async () => {
    const url = await start('good', { SIMULATED_CONTROL: '1', SIMULATED_MAX_RUNNING: '2', SIMULATED_RUNNING: '5' });
    await eventually('healthy', async () => (await status(`${url}/health`)) === 200);
    const figures = seriesOf(await (await fetch(`${url}/metrics`)).text(), 100);
    expect(figures.get('vllm:num_requests_running')).toBe(2);
    expect(figures.get('vllm:num_requests_waiting')).toBe(3);
    await post(`${url}/simulated`, { running: 0 });
    const answer = await post(`${url}/v1/chat/completions`, {
      model: 'chat',
      messages: [{ role: 'user', content: 'hi' }],
    });
    expect(answer.status).toBe(200);
    await post(`${url}/simulated`, { unhealthy: true });
    expect(await status(`${url}/health`)).toBe(503);
    expect(await status(`${url}/v1/models`)).toBe(200);
    await post(`${url}/simulated`, { crash: true }).catch(() => undefined); // it may be gone before it answers
    await eventually('ended', async () => (await exitOf('good')) === 1);
  });

  test('is told nothing unless that is allowed, may never be healthy, and may crash by itself', async () => {
    const url = await start('bad', { SIMULATED_UNHEALTHY: '1', SIMULATED_CRASH_AFTER_SECONDS: '1' });
    await eventually('listening', async () => (await status(`${url}/health`)) === 503);
    expect((await post(`${url}/simulated`, { unhealthy: false })).status).toBe(404);
    await eventually('ended', async () => (await exitOf('bad')) === 1);
  });
});
