import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formOf, recorded, sampleNames, streamForm } from './recorded.js';
import { GIB, type Member, post, type StartedEngine, sample, startMember, until } from './simulated-engines.js';

const USABLE = 95 * GIB;
const sizes = [
  '--simulated-footprint',
  '30Gi',
  '--simulated-residue',
  '1Gi',
  '--simulated-kv-bytes-per-request',
  '1Gi',
];
const quick = [
  '--simulated-sleep-seconds',
  '0',
  '--simulated-wake-seconds',
  '0',
  '--simulated-tokens-per-second',
  '500',
];
const args = [...sizes, ...quick];
const tell = (engine: StartedEngine, knobs: object) => post(engine.url, '/simulated', knobs);

let member: Member;
beforeAll(async () => {
  member = await startMember([{ id: 'sim-0', memoryBytes: USABLE }]);
});
afterAll(() => member.close());

describe('the simulated engine answers as the real vLLM was recorded', () => {
  const key = 'test-key';
  let engine: StartedEngine;
  beforeAll(async () => {
    const environment = { VLLM_API_KEY: key, KVCACHED_IPC_NAME: 'kv-likeness' };
    const tiny = ['--max-model-len', '256', '--simulated-footprint', '1Gi', '--simulated-residue', '64Mi', ...quick];
    await member.setLimit('kv-likeness', 4 * GIB);
    engine = await member.start({ name: 'tiny', args: tiny, environment });
  });
  afterAll(() => engine.stop());

  async function replay(name: string, authorization = `Bearer ${key}`) {
    const { request, response } = recorded(name);
    const body = typeof request.body === 'string' ? request.body : JSON.stringify(request.body);
    const headers = authorization === '' ? {} : { authorization };
    const mine = await fetch(engine.url + request.path, { method: request.method, headers, ...(body ? { body } : {}) });
    const text = await mine.text();
    expect({ status: mine.status, type: mine.headers.get('content-type') }).toEqual({
      status: response.status,
      type: response.contentType,
    });
    return { mine: text, real: response.text };
  }

  const wholes = [
    'health',
    'version',
    'models',
    'load',
    'is-sleeping',
    'chat',
    'completion',
    'error-no-path',
    'error-method',
  ];
  const asleep = [
    'sleep',
    'sleep-again',
    'is-sleeping-asleep',
    'health-asleep',
    'wake-up',
    'wake-up-again',
    'is-sleeping-awake',
  ];
  const sequence = [...wholes, 'embeddings', 'embeddings-two', ...asleep];
  const form = (text: string): string => (text === '' ? '' : formOf(JSON.parse(text)));
  it.each(sequence)('%s: the same status and the same fields', async (name) => {
    const { mine, real } = await replay(name);
    expect(form(mine)).toBe(form(real));
  });

  const streams = ['chat-stream', 'chat-stream-usage', 'chat-stream-running-usage', 'completion-stream-usage'];
  it.each(streams)('%s: the same kinds of events in the same order', async (name) => {
    const { mine, real } = await replay(name);
    expect(streamForm(mine)).toEqual(streamForm(real));
  });

  const errors = [
    'error-model',
    'error-no-messages',
    'error-no-json',
    'error-too-long',
    'error-sleep-level',
    'error-sleep-mode',
  ];
  it.each(errors)('%s: the same kind of error', async (name) => {
    const { mine, real } = await replay(name);
    const { error } = JSON.parse(real) as { error: object };
    expect(JSON.parse(mine)).toEqual({ error: { ...error, message: expect.any(String) as string } });
  });

  it.each([
    ['error-no-key', ''],
    ['error-wrong-key', 'Bearer wrong'],
  ])('%s: refused in the same words', async (name, authorization) => {
    const { mine, real } = await replay(name, authorization);
    expect(mine).toBe(real);
  });

  it('tells samples that the real one tells, with the same labels', async () => {
    const { mine, real } = await replay('metrics-idle');
    expect([...sampleNames(mine)].filter((name) => !sampleNames(real).has(name))).toEqual([]);
  });

  it('a sleep aborts what runs and what waits, in the same form', async () => {
    const count = (state: string) => sample(engine.url, `vllm:num_requests_${state}`);
    await tell(engine, { maxRunning: 1, tokensPerSecond: 20 });
    const whole = replay('completion-slept-on');
    await until(
      () => count('running'),
      (running) => running === 1,
    );
    const streamed = replay('completion-stream-slept-on');
    await until(
      () => count('waiting'),
      (waiting) => waiting === 1,
    );
    await post(engine.url, '/sleep?level=1');
    const [ran, waited] = await Promise.all([whole, streamed]);
    await post(engine.url, '/wake_up');
    expect(ran.mine).toContain('"finish_reason":"abort"');
    expect(form(ran.mine)).toBe(form(ran.real));
    expect(streamForm(waited.mine)).toEqual(streamForm(waited.real));
  });
});

describe('the segment', () => {
  it('is kept to from the start; more requests wait, a lower limit takes nothing back, a higher one lets them in', async () => {
    await member.setLimit('kv-a', 2 * GIB);
    const engine = await member.start({ name: 'a', args });
    await tell(engine, { running: 3 });
    expect(await member.segment('kv-a')).toEqual({ limit: 2 * GIB, used: 2 * GIB, preallocated: 0 });
    expect(await sample(engine.url, 'vllm:num_requests_waiting')).toBe(1);
    await member.setLimit('kv-a', GIB);
    expect(await member.segment('kv-a')).toEqual({ limit: GIB, used: 2 * GIB, preallocated: 0 });
    await member.setLimit('kv-a', 4 * GIB);
    const running = await until(
      () => sample(engine.url, 'vllm:num_requests_running'),
      (found) => found === 3,
    );
    expect([running, (await member.segment('kv-a'))?.used]).toEqual([3, 3 * GIB]);
    expect(await engine.stop()).toBe(0);
    expect((await member.segment('kv-a'))?.used).toBe(0);
  });

  it('a client that leaves gives its KV cache back', async () => {
    await member.setLimit('kv-leave', 2 * GIB);
    const engine = await member.start({ name: 'leave', args: [...args, '--simulated-tokens-per-second', '1'] });
    const leaving = new AbortController();
    const asked = { model: 'leave', prompt: 'hello', max_tokens: 1000 };
    const options = { method: 'POST', body: JSON.stringify(asked), signal: leaving.signal };
    const answer = fetch(`${engine.url}/v1/completions`, options).catch(() => 'left');
    await until(
      () => member.segment('kv-leave'),
      (found) => found?.used === GIB,
    );
    leaving.abort();
    expect(await answer).toBe('left');
    expect(
      (
        await until(
          () => member.segment('kv-leave'),
          (found) => found?.used === 0,
        )
      )?.used,
    ).toBe(0);
    await engine.stop();
  });

  it('a write reaches nothing where the engine lies: it ignores the limit, writes its own back, or has no segment', async () => {
    await member.setLimit('kv-liar', 2 * GIB);
    const engine = await member.start({ name: 'liar', args: [...args, '--simulated-limit-lie', 'ignore'] });
    await member.setLimit('kv-liar', GIB);
    await tell(engine, { running: 2 });
    expect(await member.segment('kv-liar')).toMatchObject({ limit: GIB, used: 2 * GIB });
    await tell(engine, { limitLie: 'revert' });
    await member.setLimit('kv-liar', GIB);
    const reverted = await until(
      () => member.segment('kv-liar'),
      (found) => found?.limit === 2 * GIB,
    );
    expect(reverted?.limit).toBe(2 * GIB);
    await tell(engine, { limitLie: 'missing' });
    expect(await member.segment('kv-liar')).toBeNull();
    await engine.stop();
  });
});

describe('the simulated GPU', () => {
  const excesses = async (): Promise<number> => (await member.audit()).excesses;

  it('records when more is promised than there is: a neighbour that was not lowered first, not one that was', async () => {
    await member.setLimit('kv-a', 60 * GIB);
    const a = await member.start({ name: 'a', args });
    const before = await excesses();
    await member.setLimit('kv-a', 17 * GIB);
    await member.setLimit('kv-b', 17 * GIB);
    const b = await member.start({ name: 'b', args });
    expect(await excesses()).toBe(before);
    await member.setLimit('kv-b', 19 * GIB);
    const { violations } = await until(member.audit, (found) => found.excesses > before);
    expect(violations.at(-1)).toMatchObject({ kind: 'entitlement', bytes: 96 * GIB });
    await member.setLimit('kv-b', 17 * GIB);
    await post(a.url, '/sleep?level=1');
    await member.setLimit('kv-b', 63 * GIB);
    expect(await excesses()).toBe(before + 1);
    await Promise.all([a.stop(), b.stop()]);
  });

  it('gives no memory that it does not have: the engine ends as CUDA would end it; a dead one has given its own back', async () => {
    await member.setLimit('kv-a', 10 * GIB);
    await member.setLimit('kv-big', 10 * GIB);
    const a = await member.start({ name: 'a', args });
    const big = { name: 'big', args: ['--simulated-footprint', '70Gi'] };
    const refused = await member.start({ ...big, untilReady: false });
    expect(await refused.ended()).toBe(1);
    expect(await refused.log()).toContain('CUDA out of memory (simulated)');
    expect((await member.audit()).violations.at(-1)?.kind).toBe('memory');
    await a.kill();
    const second = await member.start({ ...big, name: 'big-2', environment: { KVCACHED_IPC_NAME: 'kv-big' } });
    const models = Object.values((await member.audit()).engines).map(({ model }) => model);
    expect(models).toEqual(['big-2']);
    await second.stop();
  });

  it('a sleep that leaves too much, a scrape that fails, a crash, starts that crash', async () => {
    await member.setLimit('kv-odd', GIB);
    const odd = await member.start({
      name: 'odd',
      args: [...args, '--simulated-crash-at-start', '1'],
      untilReady: false,
    });
    expect(await odd.ended()).toBe(1);
    const environment = { KVCACHED_IPC_NAME: 'kv-odd' };
    const again = await member.start({
      name: 'odd-2',
      args: [...args, '--simulated-crash-at-start', '1'],
      environment,
    });
    await tell(again, { sleepLeavesTooMuch: true, metricsFail: true });
    expect((await fetch(`${again.url}/metrics`)).status).toBe(500);
    await post(again.url, '/sleep?level=1');
    const [engine] = Object.values((await member.audit()).engines);
    expect(engine).toMatchObject({ state: 'asleep', mappedBytes: Math.floor(30 * GIB * 0.98) });
    await tell(again, { crash: true }).catch(() => undefined); // it may be gone before it answers
    expect(await again.ended()).toBe(1);
  });
});

it('speaks SGLang, too: its metrics, release and resume', async () => {
  const command = [
    'python3',
    '-m',
    'sglang.launch_server',
    '--model-path',
    'model',
    '--host',
    '0.0.0.0',
    '--port',
    '30000',
  ];
  await member.setLimit('kv-sgl', GIB);
  const engine = await member.start({ name: 'sgl', command: [...command, '--enable-memory-saver'], args, port: 30000 });
  await tell(engine, { running: 1 });
  expect(await sample(engine.url, 'sglang:num_running_reqs')).toBe(1);
  expect((await post(engine.url, '/release_memory_occupation')).status).toBe(200);
  expect(Object.values((await member.audit()).engines)[0]).toMatchObject({ state: 'asleep', mappedBytes: GIB });
  expect((await post(engine.url, '/resume_memory_occupation')).status).toBe(200);
  expect(await engine.stop()).toBe(0);
});
