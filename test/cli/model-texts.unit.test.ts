import { describe, expect, test } from 'vitest';
import { changeOf, claimSpec, parseHold } from '../../src/cli/claim-fields.js';
import { limitsOf } from '../../src/cli/commands/model/key.js';
import { suggestionText } from '../../src/cli/commands/model/records.js';
import { exactBytes } from '../../src/cli/exact-bytes.js';
import { barOf, cellsOf, gpuBarsText, legend, PLAIN } from '../../src/cli/gpu-bars-text.js';
import { MODEL } from '../../src/cli/model-columns.js';
import { modelWhyText } from '../../src/cli/model-why-text.js';
import { POOL, poolText } from '../../src/cli/pool-columns.js';
import { poolChange, poolSpec } from '../../src/cli/pool-fields.js';
import { renderTable } from '../../src/cli/table.js';
import { progressText } from '../../src/cli/until-pool-ready.js';
import type { ModelClaim, Pool, PoolGpuView } from '../../src/contract/index.js';

const NOW = new Date('2026-11-30T12:00:00.000Z');
const GIB = 2 ** 30;
const gi = (amount: number): number => Math.round(amount * GIB);
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();

type Tenant = PoolGpuView['tenants'][number];
const tenant = (model: string, more: Partial<Tenant> = {}): Tenant => ({
  model,
  instanceId: `eng_${model}`,
  phase: 'ACTIVE',
  footprintBytes: gi(30),
  kvFloorBytes: gi(10),
  limitBytes: gi(17.55),
  kvUsedBytes: gi(1.2),
  residueBytes: null,
  isReleased: false,
  running: 4,
  waiting: 0,
  ...more,
});
const gpu = (tenants: readonly Tenant[], more: Partial<PoolGpuView> = {}): PoolGpuView => ({
  pool: 'chat',
  name: 'h20-a/0',
  device: 'sim-96',
  usableBytes: gi(95.1),
  holes: [],
  heldBytes: 0,
  promisedBytes: gi(80),
  maximumRoomBytes: gi(15.1),
  roomNowBytes: gi(15.1),
  tenants: [...tenants],
  ...more,
});

describe('the bar of a GPU', () => {
  test('shows footprints, floors and lent KV in proportion, with the exact numbers beside', () => {
    const two = gpu([tenant('a'), tenant('b', { running: null, waiting: null })]);
    expect(barOf(two, PLAIN)).toBe('[###################======+++++|###################======+++++]');
    const lines = gpuBarsText([two], PLAIN).split('\n');
    expect(lines[0]).toBe(
      'h20-a/0 (sim-96): 95.1Gi usable, 80Gi promised; room 15.1Gi with everyone at the floor, 15.1Gi as they are',
    );
    expect(lines[3]).toMatch(/^ {2}a +ACTIVE +30Gi +10Gi +17.55Gi +1.2Gi +- +4 +0$/);
    expect(lines[4]).toMatch(/\? +\?$/);
  });
  test('shows what a sleeper left there or keeps, held room, and what is free', () => {
    const released = tenant('a', { phase: 'SLEEPING', residueBytes: gi(1.33), isReleased: true, limitBytes: gi(10) });
    const parts = gpu([released], { heldBytes: gi(40), maximumRoomBytes: gi(53.77), roomNowBytes: gi(53.77) });
    expect(barOf(parts, PLAIN)).toMatch(/^\[z\|h{25}\.{34}\]$/);
    expect(barOf(gpu([{ ...released, isReleased: false }]), PLAIN)).toMatch(/^\[zzk{24}\|\.{34}\]$/);
    expect(gpuBarsText([parts], PLAIN)).toMatch(/40Gi held; .*\n.*\n.*\n {2}a +SLEEPING \(released\)/);
  });
  test('of what is over, not measured or empty says so', () => {
    expect(gpuBarsText([gpu([], { maximumRoomBytes: gi(-24.9) })], PLAIN)).toMatch(
      /24.9Gi more asked for than there is/,
    );
    const unknown = gpuBarsText([gpu([], { usableBytes: null, holes: ['agent silent'] })], PLAIN);
    expect(unknown).toBe('h20-a/0 (sim-96): not measured\n  takes nothing new: agent silent\n  no model');
  });
  test('is explained by a legend with each of its marks, and painted only where colours are', () => {
    expect(legend(PLAIN)).toBe(
      '# footprint  = KV floor  + extra KV  z residue asleep  k kept for its wake  h room held  . free',
    );
    const painted = barOf(gpu([tenant('a')]), { width: 20, paint: (colour, text) => `<${colour}>${text}</>` });
    expect(painted).toMatch(/^\[<blue>#+<\/><green>=+<\/><cyan>\++<\/>\|<dim>\.+<\/>\]$/);
  });
  test.each([
    [[1, 1, 1], 10, [4, 3, 3]],
    [[1, 1_000_000], 10, [1, 9]],
    [[0, 5], 4, [0, 4]],
    [[0, 0], 4, [0, 0]],
    [[1, 1, 1, 1, 1e9], 5, [1, 1, 1, 1, 1]],
  ])('%j over %i cells is %j', (bytes, width, want) => expect(cellsOf(bytes, width)).toEqual(want));
  test.each([
    [gi(17.55), '17.55Gi'],
    [gi(16.885), '16.885Gi'],
    [0, '0Gi'],
    [512, '512'],
    [gi(-26.23), '-26.23Gi'],
  ])('%i bytes read as %s', (bytes, want) => expect(exactBytes(bytes)).toBe(want));
});

const claim = (more: Partial<ModelClaim> = {}): ModelClaim => ({
  id: 'mdl_1',
  modelName: 'qwen',
  pool: 'chat',
  project: 'lab/nlp',
  artifactUrl: 'huggingface://Qwen/Qwen3-8B',
  engine: 'vllm',
  args: [],
  gpusPerInstance: 1,
  replicas: 1,
  pinned: false,
  hold: null,
  maximumFootprintBytes: gi(30),
  kvFloorBytes: gi(10),
  kvMinBytes: null,
  kvMaxBytes: null,
  priority: 0,
  sleep: { afterSeconds: null, never: false, minimumAwakeSeconds: null },
  phase: 'PENDING',
  reason: null,
  instances: [],
  wakeAskedAt: null,
  lastRequestAt: null,
  startSeconds: null,
  wakeSeconds: null,
  createdAt: ago(60),
  ...more,
});
const instance: ModelClaim['instances'][number] = {
  id: 'eng_1',
  replica: 0,
  member: 'ses_1',
  node: 'h20-a',
  gpus: ['h20-a/0'],
  phase: 'ACTIVE',
  routable: true,
  movesFrom: null,
  limitBytes: gi(17.55),
  plannedBytes: gi(17.55),
  kvUsedBytes: gi(1),
  residueBytes: null,
  running: 1,
  waiting: 2,
  idleSince: null,
  phaseSince: ago(125),
  restarts: 0,
  message: null,
};

describe('why a model does not serve', () => {
  test('tells the reason with its sum, what it needs, and what would help', () => {
    const message = 'needs 40 GiB; h20-a/0 could offer at most 15.1 GiB with every neighbour at its floor';
    const text = modelWhyText(claim({ reason: { code: 'NoRoom', message, data: {} } }), NOW);
    expect(text.split('\n').slice(0, 3)).toEqual([
      'qwen is PENDING: NoRoom',
      `  ${message}`,
      '  needs 40Gi: 30Gi footprint + 10Gi KV floor',
    ]);
    expect(text).toContain('try: see who has the room: berth gpu chat');
    expect(text).toContain('berth model suggest qwen');
  });
  test('tells since when a wake is asked for, and when that may change', () => {
    const reason = {
      code: 'WaitingForRoom' as const,
      message: 'c serves',
      data: { at: new Date(NOW.getTime() + 20_000).toISOString() },
    };
    const sleeper = { ...instance, phase: 'SLEEPING' as const, residueBytes: gi(1.33), routable: false };
    const text = modelWhyText(claim({ phase: 'SLEEPING', reason, wakeAskedAt: ago(5), instances: [sleeper] }), NOW);
    expect(text).toMatch(/its wake was asked for 5s ago/);
    expect(text).toMatch(/the earliest change: .* \(in 20s\)/);
    expect(text).toMatch(/engine 0 on h20-a\/0: SLEEPING for 2m5s, 1.33Gi left there/);
  });
  test('of one that serves tells its engines with limits and load', () => {
    const active = claim({ phase: 'ACTIVE', instances: [{ ...instance, plannedBytes: gi(12.52) }] });
    const text = modelWhyText(active, NOW);
    expect(text).toMatch(/^qwen is ACTIVE\n {2}it serves, with 1 of 1 engines on the route\n/);
    expect(text).toMatch(/KV limit 17.55Gi, planned 12.52Gi, 1Gi in use, 1 running, 2 waiting$/);
    const [, row] = renderTable([active], MODEL.columns, { isWide: false, now: NOW }).split('\n');
    expect(row).toMatch(/^qwen +ACTIVE +chat +h20-a\/0 +30Gi +10Gi +17.55Gi +1\+2 +lab\/nlp +1m$/);
  });
});

describe('what berth model claim sends', () => {
  const options = { pool: 'chat', artifact: 'folder://m', footprint: '30Gi', kvFloor: '10Gi' };
  const whole = {
    modelName: 'a',
    pool: 'chat',
    artifactUrl: 'folder://m',
    perGpu: { maximumFootprint: '30Gi', kvFloor: '10Gi' },
  };
  const none = { args: [], file: {}, project: undefined };
  test('is what the options say, with engine arguments of --arg and behind --', () => {
    const more = { ...options, arg: ['--max-model-len', '2048'], tensor: '2', hold: '30s:100', sleepAfter: '10m' };
    expect(claimSpec({ ...none, name: 'a', options: more, args: ['--dtype', 'half'] })).toEqual({
      ...whole,
      args: ['--max-model-len', '2048', '--dtype', 'half'],
      parallel: { tensor: 2 },
      hold: { maxWaitSeconds: 30, maxQueue: 100 },
      sleep: { afterSeconds: 600 },
    });
  });
  test('is a file with the options over it', () => {
    const file = { ...whole, priority: 3, sleep: { never: true } };
    const got = claimSpec({ ...none, name: 'b', options: { kvFloor: '6Gi' }, file, project: 'lab/nlp' });
    expect(got).toMatchObject({ modelName: 'b', perGpu: { maximumFootprint: '30Gi', kvFloor: '6Gi' }, priority: 3 });
    expect(got).toMatchObject({ sleep: { never: true }, project: 'lab/nlp' });
  });
  test('without what nobody can leave out names all that is missing', () => {
    const call = { ...none, name: undefined, options: { pool: 'chat', footprint: '30Gi' } };
    expect(() => claimSpec(call)).toThrow('a claim needs a NAME, --artifact, --kv-floor');
  });
  test.each([
    [{ kvMax: 'none' }, { kvMax: null }],
    [{ footprint: '20Gi' }, { perGpu: { maximumFootprint: '20Gi' } }],
    [{ neverSleep: true }, { sleep: { never: true } }],
    [{ maySleep: true, minAwake: 'none' }, { sleep: { never: false, minimumAwakeSeconds: null } }],
    [{ priority: '2' }, { priority: 2 }],
    [{}, {}],
  ])('berth model set of %j is %j', (given, want) => expect(changeOf(given)).toEqual(want));
  test.each(['30s', '30s:0', 'x:1', ':5'])('--hold %s is refused', (text) =>
    expect(() => parseHold(text)).toThrow(/--hold/),
  );
  test('limits of a key are those that it has, with what is named changed', () => {
    const present = { keyId: 'key_1', models: ['a'], requestsPerMinute: 60, tokensPerMinute: null };
    expect(limitsOf(present, { models: 'all', tokens: '5000' })).toEqual({
      models: null,
      requestsPerMinute: 60,
      tokensPerMinute: 5000,
    });
    expect(limitsOf(present, { models: 'a,b', requests: 'none' })).toMatchObject({
      models: ['a', 'b'],
      requestsPerMinute: null,
    });
  });
});

const pool = (more: Partial<Pool> = {}): Pool => ({
  name: 'chat',
  project: 'lab/nlp',
  group: 'default',
  engine: 'vllm',
  member: { image: 'engine:1', gpus: 1, cpuMilli: 1000, memoryBytes: gi(64) },
  membersWanted: 2,
  members: [
    {
      sessionId: 'ses_1' as Pool['members'][number]['sessionId'],
      ordinal: 0,
      state: 'READY',
      node: 'h20-a',
      reason: null,
    },
    {
      sessionId: 'ses_2' as Pool['members'][number]['sessionId'],
      ordinal: 1,
      state: 'WAITING',
      node: null,
      reason: 'project_quota',
    },
  ],
  policy: {
    placement: 'spread',
    sleepAfterSeconds: null,
    noWakeReserveWhileAsleep: true,
    sleepToMakeRoomAfterSeconds: null,
  },
  projects: ['lab/vision'],
  claims: 3,
  isDraining: false,
  createdAt: ago(3600),
  ...more,
});

describe('a pool', () => {
  test('says how many of its members are ready, and why the others are not', () => {
    const [head, row] = renderTable([pool()], POOL.columns, { isWide: false, now: NOW }).split('\n');
    expect(head).toMatch(/^NAME +STATE +WHY +MEMBERS +GPUS +MODELS/);
    expect(row).toMatch(/^chat +PARTLY +project_quota +1\/2 +1 each +3 +vllm +to make room +releases +lab\/nlp +1h$/);
    expect(progressText(pool())).toBe('1/2 members ready · 1 WAITING: project_quota');
    expect(poolText(pool())).toMatch(/a sleeper gives its room away\n.*idle for 30s.*\n.*lab\/nlp, lab\/vision\n/);
  });
  test('is made from options, and changed by what is named', () => {
    const options = {
      image: 'engine:1',
      gpus: 'h100:2',
      members: '3',
      cpu: '4',
      mem: '64Gi',
      release: true,
      roomAfter: '20s',
    };
    const call = { name: 'chat', project: {}, env: { TOKEN: 'secret' } };
    expect(poolSpec({ ...call, options: { ...options, env: ['TOKEN'] } })).toEqual({
      name: 'chat',
      members: 3,
      member: {
        image: 'engine:1',
        gpus: 2,
        gpuModel: 'h100',
        cpuMilli: 4000,
        memoryBytes: gi(64),
        environment: { TOKEN: 'secret' },
      },
      policy: { noWakeReserveWhileAsleep: true, sleepToMakeRoomAfterSeconds: 20 },
      projects: [],
    });
    expect(() => poolSpec({ ...call, options: { ...options, keep: true } })).toThrow(/exclude each other/);
    const present = { projects: ['lab/a'] };
    expect(poolChange(present, { sleepAfter: 'none', allow: ['lab/b'] })).toEqual({
      policy: { sleepAfterSeconds: null },
      projects: ['lab/a', 'lab/b'],
    });
    expect(poolChange(present, {})).toEqual({});
    expect(() => poolChange(present, { disallow: ['lab/x'] })).toThrow(/lab\/x is none of lab\/a/);
  });
});

test('a suggestion says what was measured, and the command that takes it over', () => {
  const measured = { footprintBytes: gi(23.1), kvUsedBytes: gi(6), residueBytes: gi(1.33), looks: 900 };
  const text = suggestionText({
    model: 'qwen',
    maximumFootprintBytes: gi(24.5),
    kvFloorBytes: gi(3),
    measured,
    message: 'footprint 30 GiB → 24.5 GiB',
  });
  expect(text).toMatch(/seen at most, in 900 looks: 23.1Gi beside its KV cache, 6Gi of KV cache, 1.33Gi asleep/);
  expect(text).toMatch(/try: berth model set qwen --footprint 24.5Gi --kv-floor 3Gi/);
});
