import { describe, expect, test } from 'vitest';
import { HOUR, job, MINUTE, nodes, policy, run, starts } from './build.js';

const wide = job('wide', { gpus: 8, submittedMs: 0, durationMs: 2 * HOUR });
const half = job('half', { gpus: 6, durationMs: 2 * HOUR });
const whole = job('whole', { gpus: 8, submittedMs: MINUTE });
const short = job('short', { gpus: 2, submittedMs: 2 * MINUTE, durationMs: HOUR });
const long = job('long', { gpus: 2, submittedMs: 3 * MINUTE, durationMs: 3 * HOUR });

describe('a stream on one node of 8 GPUs', () => {
  test('starts each job when those before it left it room', () => {
    const result = run([wide, whole, job('last', { submittedMs: 2 * MINUTE })]);
    expect(starts(result)).toEqual({ wide: 0, whole: 2, last: 3 });
    expect(result).toMatchObject({ endMs: 4 * HOUR, gpuCount: 8 });
    expect(result.occupancy.points).toEqual([
      [0, 8],
      [3 * HOUR, 1],
      [4 * HOUR, 0],
    ]);
  });

  test.each([
    ['none', { half: 0, whole: 2, short: 3, long: 3 }],
    ['easy', { half: 0, whole: 2, short: 2 / 60, long: 3 }],
    ['conservative', { half: 0, whole: 2, short: 2 / 60, long: 3 }],
  ])('lets pass who delays nobody, as backfill %s says', (backfill, expected) => {
    expect(starts(run([half, whole, short, long], { policy: policy({ backfill }) }))).toEqual(expected);
  });

  test('ends a job at its maximum runtime, done or not', () => {
    const { outcomes } = run([job('cut', { durationMs: 2 * HOUR, maxRuntimeMs: HOUR })]);
    expect(outcomes).toMatchObject([{ end: 'cut', endedMs: HOUR }]);
  });

  test('refuses what no node can hold, and the queue goes on', () => {
    const { outcomes } = run([job('huge', { gpus: 9 }), job('small')]);
    expect(outcomes.map(({ job: { name }, end }) => [name, end])).toEqual([
      ['huge', 'refused'],
      ['small', 'done'],
    ]);
  });

  test('leaves open what has not ended when the run is over', () => {
    const result = run([wide, whole], { untilMs: HOUR });
    expect(result.outcomes).toMatchObject([
      { end: 'open', held: [{ fromMs: 0 }] },
      { end: 'open', startedMs: null, held: [] },
    ]);
  });
});

test('a job that is larger than a node runs as a gang of whole nodes, all at once', () => {
  const result = run([job('one', { gpus: 4 }), job('gang', { gpus: 20 })], { nodes: nodes(3) });
  expect(starts(result)).toEqual({ one: 0, gang: 0 });
  const later = run([job('before', { gpus: 5 }), job('gang', { gpus: 20 })], { nodes: nodes(3) });
  expect(starts(later)).toEqual({ before: 0, gang: 1 });
  expect(later.outcomes[1]?.held[0]?.nodes).toHaveLength(3);
});

describe('a stop for a more urgent job', () => {
  const preempting = policy({ preemption: { enabled: true, scope: 'group' } });
  const victim = { gpus: 8, durationMs: 2 * HOUR, minRuntimeMs: HOUR / 2 };
  const urgent = job('urgent', { gpus: 8, priority: 50, submittedMs: HOUR });
  const GRACE = 10_000;

  test('costs a resumable victim no work, and it goes on behind', () => {
    const result = run([job('victim', victim), urgent], { policy: preempting });
    expect(result.outcomes).toMatchObject([
      {
        end: 'done',
        stops: 1,
        lostGpuMs: 0,
        held: [
          { fromMs: 0, toMs: HOUR + GRACE },
          { fromMs: 2 * HOUR + GRACE, toMs: 3 * HOUR },
        ],
      },
      { end: 'done', stops: 0, startedMs: HOUR + GRACE },
    ]);
  });

  test('costs one that makes checkpoints what it did since the last', () => {
    const { outcomes } = run([job('victim', { ...victim, checkpointMs: 25 * MINUTE }), urgent], { policy: preempting });
    expect(outcomes[0]).toMatchObject({ end: 'done', lostGpuMs: 8 * (10 * MINUTE + GRACE) });
  });

  test('costs one that cannot go on all that it did', () => {
    const { outcomes } = run([job('victim', { ...victim, resumable: false }), urgent], { policy: preempting });
    expect(outcomes[0]).toMatchObject({ end: 'done', lostGpuMs: 8 * (HOUR + GRACE), endedMs: 4 * HOUR + GRACE });
  });

  test('ends it where the policy says so', () => {
    const terminating = policy({ preemption: { enabled: true, scope: 'group', mode: 'terminate' } });
    const { outcomes } = run([job('victim', victim), urgent], { policy: terminating });
    expect(outcomes[0]).toMatchObject({ end: 'stopped', endedMs: HOUR + GRACE });
  });

  test('comes when the minimum runtime is over, and no event is needed for it', () => {
    const early = job('urgent', { gpus: 8, priority: 50, submittedMs: 10 * MINUTE });
    const { outcomes } = run([job('victim', victim), early], { policy: preempting });
    expect(outcomes[1]?.startedMs).toBe(HOUR / 2 + GRACE);
  });
});

test('a longest wait of the policy cancels', () => {
  const { outcomes } = run([wide, whole], { policy: policy({ maxWaitSeconds: 3600 }) });
  expect(outcomes[1]).toMatchObject({ end: 'cancelled', endedMs: HOUR + MINUTE, startedMs: null });
});
