import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EngineLaunch } from '../../src/engines/engine-adapter.js';
import { createEngineClient, type EngineClient } from '../../src/engines/engine-client.js';
import { sumOf } from '../../src/engines/prometheus-text.js';
import { decodeSegment, encodeSegment, mappedBytes } from '../../src/engines/segment-codec.js';
import { sglang } from '../../src/engines/sglang.js';
import { vllm } from '../../src/engines/vllm.js';

interface Recorded {
  readonly response: { readonly status: number; readonly text: string };
}
const recorded = (name: string): Recorded['response'] =>
  (JSON.parse(readFileSync(`test/models/recorded/vllm-0.32.0/${name}.json`, 'utf8')) as Recorded).response;

const launch: EngineLaunch = {
  modelName: 'a',
  modelPath: '/models/1',
  args: ['--max-model-len', '2048'],
  parallel: { tensor: 2, pipeline: 1 },
  environment: { ENABLE_KVCACHED: 'false', HF_HUB_OFFLINE: '1' },
  apiKey: 'a-key',
  segment: 'berth-ins-1',
};

describe('vLLM', () => {
  test('is served with sleep mode under kvcached; a pool’s environment takes it out of neither', () => {
    const { command, environment, port } = vllm.process(launch);
    expect(command.slice(0, 5)).toEqual(['vllm', 'serve', '/models/1', '--served-model-name', 'a']);
    expect(command.join(' ')).toContain('--enable-sleep-mode --tensor-parallel-size 2 --max-model-len 2048');
    expect(port).toBe(8000);
    expect(environment).toEqual({
      HF_HUB_OFFLINE: '1',
      ENABLE_KVCACHED: 'true',
      KVCACHED_AUTOPATCH: '1',
      KVCACHED_IPC_NAME: 'berth-ins-1',
      VLLM_SERVER_DEV_MODE: '1',
      VLLM_API_KEY: 'a-key',
    });
  });

  test.each([
    ['idle', { running: 0, waiting: 0 }],
    ['asleep', { running: 0, waiting: 0 }],
  ])('as it was recorded %s: its load', (name, load) => {
    expect(vllm.readLoad(recorded(`metrics-${name}`).text)).toMatchObject(load);
  });

  test('as it was recorded busy: what runs and waits, and what has ended', () => {
    const load = vllm.readLoad(recorded('metrics-busy').text);
    expect((load?.running ?? 0) + (load?.waiting ?? 0)).toBeGreaterThan(0);
    expect(load?.completed).toBeGreaterThanOrEqual(0);
    expect(vllm.readLoad('something else')).toBeUndefined();
  });

  test.each([
    ['is-sleeping-awake', false],
    ['is-sleeping-asleep', true],
  ])('as it was recorded: %s is %s', (name, expected) => {
    expect(vllm.readSleeping(recorded(name).text)).toBe(expected);
  });
});

describe('SGLang', () => {
  test('is launched with metrics, memory saver and its key, and sleeps by giving memory back', () => {
    const { command, environment } = sglang.process(launch);
    expect(command.join(' ')).toContain('python3 -m sglang.launch_server --model-path /models/1 --served-model-name a');
    expect(command.join(' ')).toContain('--enable-metrics --enable-memory-saver --api-key a-key --tp-size 2');
    expect(environment['KVCACHED_IPC_NAME']).toBe('berth-ins-1');
    expect([sglang.sleep.path, sglang.wake.path]).toEqual(['/release_memory_occupation', '/resume_memory_occupation']);
    const text = 'sglang:num_running_reqs{tp_rank="0"} 2.0\nsglang:num_queue_reqs{} 1\nsglang:num_requests_total 7';
    expect(sglang.readLoad(text)).toEqual({ running: 2, waiting: 1, completed: 7 });
  });
});

describe('a client of an engine', () => {
  const server = createServer((request, response) => {
    const name = { '/health': 'health', '/v1/models': 'models', '/metrics': 'metrics-idle' }[request.url ?? ''];
    const isRefused = request.url === '/v1/models' && request.headers.authorization !== 'Bearer a-key';
    const { status, text } = isRefused ? { status: 401, text: '{}' } : recorded(name ?? 'error-no-path');
    response.writeHead(status).end(text);
  });
  let client: (apiKey?: string) => EngineClient;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    client = (apiKey) => createEngineClient({ adapter: vllm, host: '127.0.0.1', port, apiKey });
  });
  afterAll(() => void server.close());

  test('knows a model that is served, with its key; without one, that somebody listens', async () => {
    expect(await client('a-key').serves('tiny')).toBe(true);
    expect(await client('a-key').serves('another')).toBe(false);
    expect(await client('wrong').serves('tiny')).toBe(false);
    expect(await client().serves('tiny')).toBe(true);
    expect(await client().isHealthy()).toBe(true);
    expect(await client().load()).toMatchObject({ running: 0, waiting: 0 });
  });

  test('a question without an answer is not known; an order without one fails', async () => {
    expect(await client().isSleeping()).toBeUndefined();
    await expect(client().sleep(AbortSignal.timeout(2000))).rejects.toThrow('/sleep?level=1&mode=wait: 404');
  });
});

test('a segment is three little-endian 64-bit integers; what is mapped ahead counts as mapped', () => {
  const segment = { limitBytes: 2 ** 50, usedBytes: 5, preallocatedBytes: 2 };
  const data = encodeSegment(segment);
  expect(data.toString('hex')).toBe('0000000000000400' + '0500000000000000' + '0200000000000000');
  expect(decodeSegment(data)).toEqual(segment);
  expect(decodeSegment(data.subarray(0, 8))).toBeUndefined();
  expect(mappedBytes(segment)).toBe(7);
});

test('samples of one metric are added up, whatever their labels; others that begin alike are not', () => {
  expect(sumOf('# HELP a b\na{x="}"} 1.0\na{x="2"} 2 1700000000\na_total 9\na NaN\n', 'a')).toBe(3);
});
