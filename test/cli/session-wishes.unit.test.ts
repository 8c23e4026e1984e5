import { describe, expect, test } from 'vitest';
import { parseMoment } from '../../src/cli/moments.js';
import { type RunOptions, sessionSpec } from '../../src/cli/session-spec.js';
import { type CreateSessionInput, createSessionSchema } from '../../src/contract/index.js';

const NOW = new Date('2026-11-30T12:00:00.000Z');
const GIB = 2 ** 30;

const specOf = (options: Partial<RunOptions>): CreateSessionInput =>
  sessionSpec({
    image: 'busybox:1',
    command: [],
    options: { cpu: '1', mem: '1Gi', kind: 'batch', ...options },
    project: {},
    env: {},
    now: NOW,
  });

const rows: readonly (readonly [title: string, Partial<RunOptions>, Partial<CreateSessionInput>])[] = [
  ['--starts-at +2h', { startsAt: '+2h' }, { startsAt: '2026-11-30T14:00:00.000Z' }],
  [
    '--depends-on a --depends-on b:ignore',
    { dependsOn: ['a', 'b:ignore'] },
    { dependsOn: [{ session: 'a' }, { session: 'b', onFailure: 'ignore' }] },
  ],
  [
    '--min-runtime 10m --max-runtime 2h --grace 30s',
    { minRuntime: '10m', maxRuntime: '2h', grace: '30s' },
    { minRuntimeSeconds: 600, maxRuntimeSeconds: 7200, gracePeriodSeconds: 30 },
  ],
  ['--no-preemptible', { preemptible: false }, { preemptible: false }],
  ['--resumable', { resumable: true }, { resumable: true }],
  ['--checkpoint', { checkpoint: 'save && sync' }, { notice: { command: ['sh', '-c', 'save && sync'] } }],
  ['--notice-signal usr1', { noticeSignal: 'usr1' }, { notice: { signal: 'SIGUSR1' } }],
  ['--retries 0: one attempt', { retries: '0' }, { retry: { maxAttempts: 1 } }],
  ['--retries 2: three attempts', { retries: '2' }, { retry: { maxAttempts: 3 } }],
  ['--node', { node: ['n1'] }, { placement: { nodes: ['n1'] } }],
  ['--require-node twice', { requireNode: ['n1', 'n2'] }, { placement: { nodes: ['n1', 'n2'], nodesRequired: true } }],
  ['--zone', { zone: 'z' }, { placement: { zone: 'z' } }],
  ['--require-zone', { requireZone: 'z' }, { placement: { zone: 'z', zoneRequired: true } }],
  ['--spread', { spread: 'web' }, { placement: { spread: 'spread', replicaGroup: 'web' } }],
  ['--pack', { pack: 'web' }, { placement: { spread: 'pack', replicaGroup: 'web' } }],
  ['--gpu-model', { gpus: '2', gpuModel: 'h100' }, { gpuModel: 'h100' }],
];

describe('berth run', () => {
  test.each(rows)('%s', (_title, options, want) => {
    const spec = specOf(options);
    expect(spec).toMatchObject(want);
    expect(createSessionSchema.safeParse(spec).error).toBeUndefined();
  });

  test('--gpu-mem is a share of one device, for each kernel, with its limit', () => {
    const spec = specOf({ gpuMem: '12Gi', gpuMemLimit: '16Gi', workers: '1', multiNode: true });
    expect(spec.kernels.map(({ slots, gpuMemoryLimitBytes }) => [slots.gpuMemoryBytes, gpuMemoryLimitBytes])).toEqual([
      [12 * GIB, 16 * GIB],
      [12 * GIB, 16 * GIB],
    ]);
    expect(createSessionSchema.safeParse(spec).error).toBeUndefined();
  });

  test('nothing that was not asked for is sent: the defaults are the API’s', () => {
    expect(Object.keys(specOf({})).toSorted()).toEqual(
      ['clusterMode', 'command', 'environment', 'image', 'kernels', 'kind', 'labels', 'mounts', 'ports'].toSorted(),
    );
  });

  const refused: readonly (readonly [title: string, Partial<RunOptions>, RegExp])[] = [
    ['whole GPUs and a share', { gpus: '1', gpuMem: '1Gi' }, /--gpus and --gpu-mem/],
    ['a limit without a share', { gpuMemLimit: '1Gi' }, /--gpu-mem-limit.*--gpu-mem/],
    ['two models', { gpus: 'a100:1', gpuModel: 'h100' }, /a100.*h100/],
    ['two ways of notice', { checkpoint: 'x', noticeSignal: 'SIGINT' }, /--checkpoint and --notice-signal/],
    ['an unknown signal', { noticeSignal: 'SIGSTOP' }, /--notice-signal.*SIGTERM/],
    ['an unknown way to fail', { dependsOn: ['a:never'] }, /--depends-on.*NAME:ignore/],
    ['spread and pack', { spread: 'a', pack: 'b' }, /--spread and --pack/],
    ['preferred and required nodes', { node: ['a'], requireNode: ['b'] }, /--node and --require-node/],
    ['a duration without a unit it knows', { minRuntime: '5 weeks' }, /--min-runtime.*10m/],
  ];
  test.each(refused)('refuses %s, and names the option', (_title, options, message) => {
    expect(() => specOf(options)).toThrow(message);
  });
});

describe('a moment', () => {
  test('of the day is the next one by this machine’s clock', () => {
    const at = (text: string): Date => new Date(parseMoment({ name: '--at', text }, NOW));
    for (const text of ['00:00', '9:30', '18:00', '23:59']) {
      const moment = at(text);
      expect([moment.getHours(), moment.getMinutes()]).toEqual(text.split(':').map(Number));
      expect(moment.getTime() - NOW.getTime()).toBeGreaterThan(0);
      expect(moment.getTime() - NOW.getTime()).toBeLessThanOrEqual(86_400_000);
    }
  });
  test('with an offset is told in UTC', () => {
    expect(parseMoment({ name: '--at', text: '2026-12-01T01:00:00+02:00' }, NOW)).toBe('2026-11-30T23:00:00.000Z');
  });
  test.each(['24:00', 'tomorrow', '2026-13-01T00:00:00Z', '2026-12-01', '+'])('%s is none', (text) => {
    expect(() => parseMoment({ name: '--starts-at', text }, NOW)).toThrow(/--starts-at/);
  });
});
