import { describe, expect, test } from 'vitest';
import { generatorSchema } from '../../src/contract/simulation.js';
import { generateJobs } from '../../src/simulator/generate-jobs.js';
import { historyJobs } from '../../src/simulator/history-jobs.js';
import { onTerms } from '../../src/simulator/job-terms.js';
import { parseCsv } from '../../src/simulator/parse-csv.js';
import { parseSwf } from '../../src/simulator/parse-swf.js';
import { atLoad, offeredLoad } from '../../src/simulator/stream.js';
import { HOUR, job } from './build.js';

const HEAD = 'job,virtual_cluster,submit_seconds,gpus,duration_seconds';

describe('a CSV file', () => {
  test('is read by the names of its columns, in any order', () => {
    expect(parseCsv(`${HEAD}\nj1,vc-a,12.5,4,3600\n`).jobs).toMatchObject([
      { name: 'j1', project: 'vc-a', submittedMs: 12_500, gpus: 4, durationMs: HOUR, maxRuntimeMs: null, priority: 10 },
    ]);
    const turned = 'duration,gpu_count,user,submit,priority,max_runtime\r\n60,1,ann,0,70,120\r\n';
    expect(parseCsv(turned).jobs).toMatchObject([{ user: 'ann', priority: 70, maxRuntimeMs: 120_000, project: 'all' }]);
  });

  test('is read by columns that are named', () => {
    const text = 'when,many,long\n1,2,3';
    expect(parseCsv(text, { submit: 'When', gpus: 'many', duration: 'long' }).jobs).toMatchObject([
      { submittedMs: 1000, gpus: 2, durationMs: 3000 },
    ]);
  });

  test('may hold commas and quotes in quoted cells', () => {
    expect(parseCsv(`${HEAD}\n"a, ""b""",v,0,1,1`).jobs[0]?.name).toBe('a, "b"');
  });

  test('leaves out and counts rows without work', () => {
    const { jobs, leftOut } = parseCsv(`${HEAD}\na,v,0,0,10\nb,v,0,1,0\nc,v,0,1,1`);
    expect(jobs.map(({ name }) => name)).toEqual(['c']);
    expect(leftOut).toEqual(['2 rows without GPUs or without a duration']);
  });

  test.each([
    ['x,y\n1,2', /^line 1: no column for submit; there are x, y\. Known names: submit_seconds/],
    [`${HEAD}\na,v,0,1,1\nb,v,soon,1,1`, /^line 3: submit: "soon" is not a number/],
    [`${HEAD}\na,v,0,1.5,1`, /^line 2: gpus: "1.5" is not whole/],
    [`${HEAD}\na,v,0,1,-4`, /^line 2: duration: "-4" is not a number of at least 0/],
    [`${HEAD}\na,v,,1,4`, /^line 2: submit is empty/],
    [`${HEAD}\n"a,v,0,1,1`, /^line 2: a quote is not closed/],
    [`${HEAD}\na,v,0,1,1\na,v,0,1,1`, /^the job "a" stands more than once/],
  ])('%j is refused with the line and the field', (text, message) => {
    expect(() => parseCsv(text)).toThrow(message);
  });

  test('is refused when a named column is not there', () => {
    expect(() => parseCsv(`${HEAD}\n`, { gpus: 'cards' })).toThrow('line 1: there is no column "cards" for gpus');
  });
});

describe('a file of the Standard Workload Format', () => {
  const row = (given: Partial<Record<number, number>> = {}): string =>
    Array.from({ length: 18 }, (_, k) => given[k + 1] ?? -1).join(' ');

  test('is read with -1 as unknown, and requested processors before allocated ones', () => {
    const text = [
      '; Version: 2.2',
      row({ 1: 7, 2: 10, 4: 3600, 5: 4, 8: 8, 9: 7200, 12: 3, 13: 5 }),
      `  ${row({ 1: 8, 2: 20, 4: 60, 5: 2, 15: 1 })} ; a comment`,
    ].join('\n');
    expect(parseSwf(text).jobs).toMatchObject([
      {
        name: 'job-000000007',
        submittedMs: 10_000,
        durationMs: HOUR,
        gpus: 8,
        maxRuntimeMs: 2 * HOUR,
        user: 'user-3',
        project: 'group-5',
      },
      { gpus: 2, maxRuntimeMs: null, user: 'unknown', project: 'queue-1' },
    ]);
  });

  test('leaves out what did not run', () => {
    expect(parseSwf(`${row({ 1: 1, 2: 0, 4: 0, 8: 1 })}\n${row({ 1: 2, 2: 0, 4: 5 })}`)).toMatchObject({
      jobs: [],
      leftOut: ['2 jobs that did not run, or without a number of processors'],
    });
  });

  test.each([
    ['1 2 3', /^line 1: 3 fields, and the format has 18/],
    [`; head\n${row().replace('-1', 'x')}`, /^line 2: field 1: "x" is not a number/],
  ])('%j is refused', (text, message) => {
    expect(() => parseSwf(text)).toThrow(message);
  });
});

describe('a made-up stream', () => {
  const settings = generatorSchema.parse({ jobs: 2000, load: 2.5, seed: 7 });

  test('is the same for the same seed, and another for another', () => {
    expect(generateJobs(settings, 64)).toEqual(generateJobs(settings, 64));
    expect(generateJobs({ ...settings, seed: 8 }, 64)).not.toEqual(generateJobs(settings, 64));
  });

  test('offers the load that was asked for', () => {
    expect(offeredLoad(generateJobs(settings, 64), 64)).toBeCloseTo(2.5, 1);
  });

  test('has sizes, owners and lengths as its settings say', () => {
    const jobs = generateJobs(settings, 64);
    const median = jobs.map(({ durationMs }) => durationMs).toSorted((a, b) => a - b)[1000] ?? 0;
    expect(median / 1000).toBeGreaterThan(1500);
    expect(median / 1000).toBeLessThan(2200);
    expect(jobs.filter(({ gpus }) => gpus === 1).length / 2000).toBeCloseTo(0.7, 1);
    expect(new Set(jobs.map(({ project }) => project))).toEqual(new Set(['a', 'b', 'c']));
    expect(new Set(jobs.map(({ user }) => user)).size).toBe(15);
  });
});

test('a stream is stretched to a load, from its first submission on', () => {
  const jobs = [job('a', { submittedMs: HOUR }), job('b', { submittedMs: 2 * HOUR })];
  expect(offeredLoad(jobs, 1)).toBe(2);
  expect(atLoad(jobs, 0.5, 1).map(({ submittedMs }) => submittedMs)).toEqual([0, 4 * HOUR]);
});

test('jobs come on the terms of a policy file', () => {
  const plain = { maxRuntime: 'given', maxRuntimeFactor: 1 } as const;
  const given = job('a', { maxRuntimeMs: 2 * HOUR, minRuntimeMs: 60_000 });
  expect(onTerms([given], plain)).toEqual([given]);
  expect(onTerms([given], { ...plain, maxRuntime: 'none', minRuntimeSeconds: 9000, preemptible: false })).toMatchObject(
    [{ maxRuntimeMs: null, minRuntimeMs: 9_000_000, preemptible: false }],
  );
  expect(
    onTerms([given], { ...plain, maxRuntime: 'duration', maxRuntimeFactor: 1.5, minRuntimeSeconds: 9000 }),
  ).toMatchObject([{ maxRuntimeMs: 1.5 * HOUR, minRuntimeMs: 1.5 * HOUR }]);
});

test('sessions of the past work for as long as they ran', () => {
  const at = (hour: number): string => new Date(Date.UTC(2026, 0, 1, hour)).toISOString();
  const past = {
    ...{ id: 'ses_1', user: 'ann', project: 'lab/x', priority: 5, basePriority: 10, minRuntimeSeconds: 60 },
    ...{ maxRuntimeSeconds: null, preemptible: true, resumable: false },
    ...{ submittedAt: at(1), startedAt: at(2), endedAt: at(5) },
    slots: { cpuMilli: 1, memoryBytes: 1, gpuCount: 2, gpuMemoryBytes: 0 },
  } as unknown as Parameters<typeof historyJobs>[0][number];
  const { jobs, leftOut } = historyJobs([past, { ...past, submittedAt: at(0), startedAt: null }]);
  expect(jobs).toMatchObject([{ name: 'ses_1', submittedMs: 0, durationMs: 3 * HOUR, gpus: 2, priority: 10 }]);
  expect(leftOut).toEqual(['1 session without whole GPUs, or that did not run and end']);
});
