import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { comparisonText } from '../../src/cli/simulate/comparison-text.js';
import { readCluster, readGenerator, readPolicy } from '../../src/cli/simulate/read-settings.js';
import { readStream } from '../../src/cli/simulate/read-stream.js';
import { PLAIN_POLICY, simulate } from '../../src/cli/simulate/simulate.js';
import { writeResults } from '../../src/cli/simulate/write-results.js';
import { simulationClusterSchema } from '../../src/contract/simulation.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-simulate-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const file = async (name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text);
  return join(folder, name);
};
const noClient = () => Promise.reject(new Error('no server is asked'));

describe('a policy file', () => {
  test('extends another one: objects are merged, the name is its own', async () => {
    await file(
      'base.yaml',
      'name: base\npolicy:\n  backfill: easy\n  decay: {by: time, step: 7}\njobs: {maxRuntime: duration}\n',
    );
    const above = await file(
      'above.yaml',
      'extends: base.yaml\npolicy:\n  decay: {by: attempts}\njobs: {minRuntimeSeconds: 60}\n',
    );
    expect(await readPolicy(above)).toMatchObject({
      name: 'above',
      policy: { backfill: 'easy', decay: { by: 'attempts', step: 7 }, placement: 'dispersed' },
      jobs: { maxRuntime: 'duration', minRuntimeSeconds: 60 },
    });
  });

  test.each([
    ['policy: {backfil: easy}', /wrong\.yaml: policy: Unrecognized key: "backfil"/],
    ['policy: {backfill: soon}', /wrong\.yaml: policy\.backfill: /],
    ['jobs: {minRuntimeSeconds: -1}', /wrong\.yaml: jobs\.minRuntimeSeconds: /],
    ['extends: wrong.yaml', /extends itself/],
    ['extends: gone.yaml', /gone\.yaml cannot be read/],
    ['- a', /is not a mapping/],
    ['a: [', /is not YAML/],
  ])('%j is refused with the file and the field', async (text, message) => {
    await expect(readPolicy(await file('wrong.yaml', text))).rejects.toThrow(message);
  });
});

test('cluster and generator files are checked field by field', async () => {
  expect(await readCluster(await file('cluster.yaml', 'nodes: [{count: 2, gpus: 4}]'))).toMatchObject({
    nodes: [{ count: 2, gpus: 4, prefix: 'node' }],
  });
  await expect(readCluster(await file('bad.yaml', 'nodes: [{count: 0, gpus: 4}]'))).rejects.toThrow(/nodes\.0\.count/);
  expect(await readGenerator(await file('g.yaml', 'projects: [{name: x, weight: 3}]'))).toMatchObject({ load: 0.9 });
  await expect(readGenerator(await file('g2.yaml', 'load: 0'))).rejects.toThrow(/g2\.yaml: load: /);
});

describe('a stream', () => {
  test('comes from a CSV file, cut and stretched as asked', async () => {
    const trace = await file('t.csv', 'submit,gpus,duration\n0,1,3600\n3600,1,3600\n7200,1,3600\n');
    const { jobs } = await readStream({ trace, jobs: 2, load: 1 }, 1, noClient);
    expect(jobs.map(({ submittedMs }) => submittedMs)).toEqual([0, 7_200_000]);
  });

  test.each([
    [{ trace: 'x.csv', history: 'default' }, /one of --trace/],
    [{ trace: 'gone.csv' }, /gone\.csv cannot be read/],
    [{ trace: 'bad', columns: 'gpu=x' }, /--columns: "gpu=x"/],
    [{ trace: 'bad' }, /bad: line 2: gpus: "x"/],
  ])('of %j is refused', async (flags, message) => {
    await file('bad', 'submit,gpus,duration\n0,x,1');
    const trace = flags.trace === 'bad' ? { trace: join(folder, 'bad') } : {};
    await expect(readStream({ ...flags, ...trace }, 8, noClient)).rejects.toThrow(message);
  });
});

test('policies are compared side by side, in tables, JSON and plots', async () => {
  const cluster = simulationClusterSchema.parse({ nodes: [{ count: 2, gpus: 8 }] });
  const stream = await readStream({ jobs: 40, load: 2, seed: 3 }, 16, noClient);
  const easy = { ...PLAIN_POLICY, name: 'easy', policy: { ...PLAIN_POLICY.policy, backfill: 'easy' as const } };
  const { comparison, results } = simulate({ stream, cluster, policies: [PLAIN_POLICY, easy], drainHours: 24 });
  expect(comparison).toMatchObject({
    jobs: 40,
    gpuCount: 16,
    policies: [{ zeroSum: null }, { zeroSum: { holds: true } }],
  });

  const text = comparisonText(comparison);
  expect(text).toMatch(/^40 jobs on 16 GPUs, offered load [12]\.\d\d/);
  expect(text).toMatch(/easy against default: gains .* GPU-h$/);

  const out = join(folder, 'out');
  const runs = results.map((result, k) => ({ name: comparison.policies[k]?.name ?? '', result }));
  const names = await writeResults(out, { comparison, runs });
  const plots = ['waits', 'occupancy', 'shares-default', 'shares-easy', 'gantt-default', 'gantt-easy'];
  expect(names).toEqual(['comparison.json', ...plots.flatMap((plot) => [`${plot}.svg`, `${plot}.png`])]);
  expect(JSON.parse(await readFile(join(out, 'comparison.json'), 'utf8'))).toEqual(
    JSON.parse(JSON.stringify(comparison)),
  );
  expect(await readFile(join(out, 'gantt-easy.svg'), 'utf8')).toMatch(/^<svg [^]*job-01[^]*<\/svg>$/);
  const png = await readFile(join(out, 'waits.png'));
  expect(png.subarray(1, 4).toString()).toBe('PNG');
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([960, 540]);
}, 60_000);
