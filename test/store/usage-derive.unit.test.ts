import { describe, expect, test } from 'vitest';
import { derive, type Known, overHours, type Promised, type Sample } from '../../src/store/usage/derive.js';

const MINUTE = 60_000;
const promised: Promised = { memoryBytes: 1000, devices: [] };
const withGpus: Promised = { memoryBytes: 1000, devices: ['a', 'b'].map((id) => ({ id, memoryBytes: 200 })) };

const at = (minute: number, cpuSeconds: number, devices: Sample['devices'] = []): Sample => ({
  atMs: minute * MINUTE,
  everyMs: MINUTE,
  cpuNanoseconds: cpuSeconds * 1e9,
  memoryBytes: 250,
  devices,
});
const gpu = (id: string, busyMs: number, observedMs: number, memoryBytes: number | null = 50) => ({
  id,
  busyMs,
  observedMs,
  memoryBytes,
});
const known = (last: Sample, base = last, segment = 1): Known => ({ last: { ...last, segment }, base });

describe('the rate of the processor', () => {
  test('is over what there is of the last 5 min', () => {
    expect(derive(known(at(4, 90), at(1, 60)), at(5, 84 + 60), promised).cpuMilli).toBe(350);
  });
  test('is not known at the first measurement', () =>
    expect(derive(null, at(0, 3), promised)).toMatchObject({ segment: 1, cpuMilli: null, memoryPercent: 25 }));
  test.each<[string, Sample, Sample, number, number | null]>([
    ['three batches that are missing are no gap yet', at(0, 0), at(3, 18), 1, 100],
    ['a fourth one is: the window starts again', at(0, 0), at(4, 18), 2, null],
    ['a container that was started again', at(0, 50), at(1, 6), 2, null],
  ])('%s', (_title, last, next, segment, cpuMilli) => {
    expect(derive(known(last), next, promised)).toMatchObject({ segment, cpuMilli });
  });
});

describe('of GPUs', () => {
  test('the busiest counts, over the time in which they were observed', () => {
    const last = at(0, 0, [gpu('a', 1000, 5000), gpu('b', 0, 5000)]);
    const next = at(1, 0, [gpu('a', 1000 + 6000, 65_000), gpu('b', 30_000, 65_000, 100)]);
    expect(derive(known(last), next, withGpus)).toMatchObject({ gpuPercent: 50, gpuMemoryPercent: 50, busyMs: 36_000 });
  });
  test.each<[string, Sample['devices'], Sample['devices']]>([
    ['one that the driver does not tell of', [gpu('a', 0, 0)], [gpu('a', 0, 60_000)]],
    [
      'one that was observed for less than half of the time',
      [gpu('a', 0, 0), gpu('b', 0, 0)],
      [gpu('a', 0, 60_000), gpu('b', 0, 20_000)],
    ],
  ])('%s makes their load unknown', (_title, before, after) => {
    expect(derive(known(at(0, 0, before)), at(1, 0, after), withGpus).gpuPercent).toBeNull();
  });
  test('an agent that lost its counters: they begin anew, and so does the window', () => {
    const derived = derive(known(at(0, 0, [gpu('a', 9000, 90_000)])), at(1, 0, [gpu('a', 300, 1000)]), {
      memoryBytes: 1,
      devices: [{ id: 'a', memoryBytes: 100 }],
    });
    expect(derived).toMatchObject({ segment: 2, gpuPercent: null, busyMs: 300, observedMs: 1000 });
  });
  test('a gap costs no use: the counters have it', () => {
    const derived = derive(known(at(0, 0, [gpu('a', 0, 0)])), at(60, 0, [gpu('a', 1_800_000, 3_600_000)]), withGpus);
    expect(derived).toMatchObject({ segment: 2, busyMs: 1_800_000, observedMs: 3_600_000 });
  });
  test('a device that somebody else holds is not counted', () => {
    expect(derive(null, at(0, 0, [gpu('z', 1, 1)]), withGpus).devices).toEqual([]);
  });
});

describe('use over hours', () => {
  test.each<[string, number, number, number, [number, number][]]>([
    ['within one', 60, 10, 20, [[0, 60]]],
    [
      'over a full hour',
      60,
      50,
      70,
      [
        [0, 30],
        [60, 30],
      ],
    ],
    [
      'over several',
      100,
      30,
      150,
      [
        [0, 25],
        [60, 50],
        [120, 25],
      ],
    ],
    ['nothing', 0, 10, 90, []],
  ])('%s', (_title, amount, from, to, parts) => {
    const got = overHours(amount, from * MINUTE, to * MINUTE);
    expect(got.map(({ hourMs, amount: part }) => [hourMs / MINUTE, part])).toEqual(parts);
  });
  test('the parts add up exactly', () => {
    const parts = overHours(1_000_003, 1_234_567, 98_765_432);
    expect(parts.reduce((sum, { amount }) => sum + amount, 0)).toBe(1_000_003);
  });
});
