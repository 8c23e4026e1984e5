import { describe, expect, test } from 'vitest';
import { gpuViews } from '../../src/api/pool-gpus.js';
import { createModelClaimSchema, type PoolSnapshotInput, poolSnapshotSchema } from '../../src/contract/index.js';
import { checkClaim, checkClaimChange } from '../../src/models/check-claim.js';
import { newClaimReason } from '../../src/models/new-claim-reason.js';
import { suggestPerGpu } from '../../src/models/suggest-per-gpu.js';
import { gib, inGib } from './gpu.js';

const asked = (more: object = {}) =>
  createModelClaimSchema.parse({
    modelName: 'a',
    pool: 'chat',
    artifactUrl: 'folder://models/a',
    perGpu: { maximumFootprint: '30Gi', kvFloor: '10Gi' },
    ...more,
  });
const POOL = { engine: 'vllm', gpusPerMember: 4 };

describe('a new claim is refused for', () => {
  const refusals: [what: string, more: object, field: string, message: RegExp][] = [
    ['kvMax below kvFloor', { kvMax: '9Gi' }, '/kvMax', /9 GiB is below perGpu.kvFloor \(10 GiB\)/],
    ['kvMax below kvMin', { kvMin: '12Gi', kvMax: '11Gi' }, '/kvMax', /below kvMin \(12 GiB\)/],
    ['more GPUs than a member has', { parallel: { tensor: 8 } }, '/parallel', /is 8, and a member of the pool has 4/],
    ['GPUs that leave a rest', { parallel: { tensor: 3 } }, '/parallel', /1, 2, 4 match/],
    ['an engine that the pool does not run', { engine: 'sglang' }, '/engine', /the pool runs vllm/],
    ['a checksum of many files', { artifactSha256: 'a'.repeat(64) }, '/artifactSha256', /https/],
    ['sleep of what is pinned', { pinned: true, sleep: { afterSeconds: 5 } }, '/sleep/afterSeconds', /never sleeps/],
  ];
  test.each(refusals)('%s', (_what, more, field, message) => {
    const refused = checkClaim(asked(more), POOL);
    expect(refused).toMatchObject({ field, message: expect.stringMatching(message) });
  });
  test.each([
    [{}],
    [{ kvMax: '10Gi' }],
    [{ parallel: { tensor: 2, pipeline: 2 } }],
    [{ engine: 'vllm', pinned: true }],
  ])('nothing: %j', (more) => expect(checkClaim(asked(more), POOL)).toBeNull());
});

const MEMBER = { sessionId: 'ses_1', node: 'h20-a', state: 'READY' as const, hostMemoryBytes: gib(256) };
const GPU = { name: 'h20-a/0', member: 'ses_1', device: 'sim-96', usableBytes: gib(95.1) };
const claim = (id: string) => ({
  id,
  model: id,
  createdMs: 0,
  footprintBytes: gib(30),
  kvFloorBytes: gib(10),
});
const engine = (id: string, more: object = {}) => ({
  id: `eng_${id}`,
  claimId: id,
  member: 'ses_1',
  gpus: ['h20-a/0'],
  phase: 'ACTIVE' as const,
  ...more,
});
const snapshot = (more: Partial<PoolSnapshotInput> = {}) =>
  poolSnapshotSchema.parse({
    pool: 'chat',
    policy: {},
    gpus: [GPU],
    members: [MEMBER],
    claims: [claim('a'), claim('b')],
    instances: [engine('a'), engine('b')],
    ...more,
  });

describe('a change of figures', () => {
  test('that raises them beyond the room beside the neighbours is refused with the room that there is', () => {
    const refused = checkClaimChange(snapshot(), 'a', { perGpu: { kvFloor: gib(30) } });
    expect(refused).toMatchObject({
      field: '/perGpu/kvFloor',
      message: 'needs 60 GiB, and h20-a/0 has 55.1 GiB for it beside its neighbours',
      data: { needBytes: gib(60), gpu: 'h20-a/0' },
    });
    expect(checkClaimChange(snapshot(), 'a', { perGpu: { maximumFootprint: gib(46) } })?.field).toBe(
      '/perGpu/maximumFootprint',
    );
    expect(checkClaimChange(snapshot(), 'a', { perGpu: { kvFloor: gib(25.1) } })).toBeNull();
  });
  test('counts the KV cache that neighbours use, held room, and what is not known of the GPU', () => {
    const raise = { perGpu: { kvFloor: gib(25) } };
    const used = snapshot({ instances: [engine('a'), engine('b', { kvUsedBytes: gib(12) })] });
    expect(checkClaimChange(used, 'a', raise)?.message).toMatch(/has 53.1 GiB/);
    const held = snapshot({ holds: [{ claimId: 'x', gpus: ['h20-a/0'], bytes: gib(40), untilMs: 1 }] });
    expect(checkClaimChange(held, 'a', raise)?.message).toMatch(/has 15.1 GiB/);
    const silent = snapshot({ gpus: [{ ...GPU, holes: ['agent silent'] }] });
    expect(checkClaimChange(silent, 'a', raise)?.message).toMatch(/not known now \(agent silent\)/);
  });
  test('of a sleeper that gave its room away, of one that is nowhere, and to less is taken', () => {
    const asleep = snapshot({
      policy: { noWakeReserveWhileAsleep: true },
      instances: [engine('a', { phase: 'SLEEPING', residueBytes: gib(1.33) }), engine('b')],
    });
    const raise = { perGpu: { kvFloor: gib(60) } };
    expect(checkClaimChange(asleep, 'a', raise)).toBeNull();
    expect(checkClaimChange(snapshot({ instances: [engine('b')] }), 'a', raise)).toBeNull();
    expect(checkClaimChange(snapshot(), 'a', { perGpu: { kvFloor: gib(1) }, kvMax: gib(1) })).toBeNull();
  });
  test('keeps kvMax above what it does not name', () => {
    expect(checkClaimChange(snapshot(), 'a', { kvMax: gib(9) })?.field).toBe('/kvMax');
    const capped = snapshot({ claims: [{ ...claim('a'), kvMaxBytes: gib(12) }, claim('b')] });
    expect(checkClaimChange(capped, 'a', { kvMin: gib(13) })?.message).toMatch(/below kvMin/);
  });
});

describe('a claim that cannot be placed at all', () => {
  const need = asked({ perGpu: { maximumFootprint: '90Gi', kvFloor: '10Gi' } });
  test('names its need and the largest GPU', () => {
    const two = snapshot({
      gpus: [
        { ...GPU, usableBytes: gib(40) },
        { ...GPU, name: 'h20-a/1' },
      ],
    });
    expect(newClaimReason(two, need)).toMatchObject({
      code: 'TooLargeForAnyGpu',
      message: 'needs 100 GiB; the largest GPU of chat, h20-a/1, has 95.1 GiB',
    });
  });
  test('waits for the pool where nobody takes models', () => {
    const draining = snapshot({ members: [{ ...snapshot().members[0]!, state: 'DRAINING' }], instances: [] });
    expect(newClaimReason(draining, need)).toMatchObject({ code: 'PoolEmpty' });
  });
  test.each([
    ['one is not measured', { gpus: [GPU, { ...GPU, name: 'h20-a/1', usableBytes: null }] }],
    ['one is as large', { gpus: [GPU, { ...GPU, name: 'h20-a/1', usableBytes: gib(100) }] }],
  ])('is not called too large while %s', (_when, more) =>
    expect(newClaimReason(snapshot({ ...more, instances: [] }), need)).toBeNull(),
  );
});

test('the account of a GPU as it is shown: sums, holds, and no names of other projects’ models', () => {
  const holds = [{ claimId: 'x', gpus: ['h20-a/0'], bytes: gib(10), untilMs: 1 }];
  const [view] = gpuViews(snapshot({ holds }), new Set(['b']));
  expect(view).toMatchObject({ name: 'h20-a/0', device: 'sim-96', heldBytes: gib(10), promisedBytes: gib(80) });
  expect([view?.maximumRoomBytes, view?.roomNowBytes].map((bytes) => inGib(bytes ?? 0))).toEqual([5.1, 5.1]);
  expect(view?.tenants.map(({ model, instanceId }) => [model, instanceId])).toEqual([
    ['(another project)', ''],
    ['b', 'eng_b'],
  ]);
});

describe('a suggestion', () => {
  const present = { modelName: 'a', maximumFootprintBytes: gib(30), kvFloorBytes: gib(10) };
  const measured = { footprintBytes: gib(20), kvUsedBytes: gib(8), residueBytes: null, looks: 100 };
  test('is the most that was seen with a little above it, and half of the KV cache in use', () => {
    const got = suggestPerGpu(present, measured);
    expect([got.maximumFootprintBytes, got.kvFloorBytes].map((bytes) => inGib(bytes ?? 0))).toEqual([21, 4]);
    expect(got.message).toBe('footprint 30 GiB → 21 GiB (9 GiB less), KV floor 10 GiB → 4 GiB (6 GiB less)');
  });
  test('of few looks, of no KV cache in use, and of nothing measured says so', () => {
    expect(suggestPerGpu(present, { ...measured, looks: 3, kvUsedBytes: 0 })).toMatchObject({
      kvFloorBytes: null,
      message: expect.stringMatching(/no KV cache was in use; only 3 looks/),
    });
    const nothing = { footprintBytes: null, kvUsedBytes: null, residueBytes: null, looks: 0 };
    expect(suggestPerGpu(present, nothing).message).toMatch(/nothing was measured yet/);
  });
});
