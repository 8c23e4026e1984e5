import { describe, expect, test } from 'vitest';
import { DEFAULT_DURATIONS, durationsOf } from '../../src/lifecycle/durations.js';
import { ConfigError, parseApiConfig, parseControlConfig, parseNodeConfig } from '../../src/platform/config.js';

const CONTROL = {
  DATABASE_URL: 'postgres://u:geheim@127.0.0.1:5432/berth',
  BERTH_TEMPORAL_ADDRESS: '127.0.0.1:7233',
  BERTH_SEALING_KEY_FILE: '/k',
};
const NODE = {
  BERTH_TEMPORAL_ADDRESS: '127.0.0.1:7233',
  BERTH_API_URL: 'http://127.0.0.1:8080',
  BERTH_NODE_NAME: 'n1',
  BERTH_NODE_TOKEN: 'berthnode_x',
  BERTH_NODE_PORT: '8082',
  BERTH_NODE_ADDRESS: 'http://127.0.0.1:8082',
  BERTH_NODE_STATE: '/tmp/n1',
  BERTH_VERIFY_KEY_FILE: '/tmp/keys',
};

function problemsOf(parse: () => unknown): readonly string[] {
  try {
    parse();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
  }
  throw new Error('nothing was refused');
}

describe('configuration', () => {
  test('takes defaults, and an empty variable for an unset one', () => {
    const config = parseControlConfig({ ...CONTROL, BERTH_METRICS_PORT: '', BERTH_LOG_LEVEL: '' });
    expect(config).toMatchObject({ temporalNamespace: 'default', buildId: 'unversioned', logLevel: 'info' });
    expect(config.metricsPort).toBeUndefined();
  });

  test('takes the silence of a node that makes it LOST, and leaves it to the workflows when unset', () => {
    expect(durationsOf(parseControlConfig(CONTROL).nodeSilenceSeconds)).toBeUndefined();
    const short = parseControlConfig({ ...CONTROL, BERTH_NODE_SILENCE_SECONDS: '2.5' });
    expect(durationsOf(short.nodeSilenceSeconds)).toEqual({ ...DEFAULT_DURATIONS, nodeSilenceMs: 2_500 });
    expect(() => parseControlConfig({ ...CONTROL, BERTH_NODE_SILENCE_SECONDS: '0.5' })).toThrow(ConfigError);
  });

  test('turns JSON, numbers and ranges into values', () => {
    const gpus = [{ model: 'simulated', memoryBytes: 2 ** 30, count: 4 }];
    const env = { ...NODE, BERTH_SIMULATED_GPUS: JSON.stringify(gpus), BERTH_PORT_RANGE: '31000-31009' };
    expect(parseNodeConfig(env)).toMatchObject({
      nodePort: 8082,
      simulatedGpus: gpus,
      portRange: { first: 31_000, last: 31_009 },
    });
  });

  test('reads how GPUs are shared and the check of the machine', () => {
    const gpus = [
      { model: 'A100', memoryBytes: 8, count: 1, sharing: 'mps', mig: [{ profile: 'p', memoryBytes: 4, count: 2 }] },
    ];
    const env = {
      ...NODE,
      BERTH_SIMULATED_GPUS: JSON.stringify(gpus),
      BERTH_NODE_SHARING: 'all=none, 0=mps,GPU-3f1c=memory-limit',
      BERTH_NODE_HEALTH_COMMAND: '["/usr/bin/check","--deep"]',
    };
    expect(parseNodeConfig(env)).toMatchObject({
      simulatedGpus: gpus,
      nodeSharing: { all: 'none', 0: 'mps', 'GPU-3f1c': 'memory-limit' },
      nodeHealthCommand: ['/usr/bin/check', '--deep'],
      nodeHealthIntervalSeconds: 60,
      nodeHealthFailures: 3,
    });
  });

  const refused: [title: string, env: Record<string, string>, problem: RegExp][] = [
    ['a port over 65535', { BERTH_NODE_PORT: '70000' }, /^BERTH_NODE_PORT /],
    ['a range that falls', { BERTH_PORT_RANGE: '9-8' }, /^BERTH_PORT_RANGE must rise/],
    ['devices that are no JSON', { BERTH_SIMULATED_GPUS: '4' + 'x' }, /^BERTH_SIMULATED_GPUS is not JSON/],
    [
      'half a device',
      { BERTH_SIMULATED_GPUS: '[{"model":"a","memoryBytes":1,"count":0.5}]' },
      /^BERTH_SIMULATED_GPUS /,
    ],
    ['MIG as a choice', { BERTH_NODE_SHARING: 'all=mig' }, /^BERTH_NODE_SHARING must look like/],
    ['two modes of one device', { BERTH_NODE_SHARING: '0=mps,0=none' }, /^BERTH_NODE_SHARING must look like/],
    [
      'a check that is a shell line',
      { BERTH_NODE_HEALTH_COMMAND: 'check me' },
      /^BERTH_NODE_HEALTH_COMMAND is not JSON/,
    ],
    ['an address without a scheme', { BERTH_API_URL: 'localhost' }, /^BERTH_API_URL /],
    ['a missing name', { BERTH_NODE_NAME: '' }, /^BERTH_NODE_NAME is missing/],
  ];
  for (const [title, env, problem] of refused) {
    test(`refuses ${title}, naming the variable`, () => {
      expect(problemsOf(() => parseNodeConfig({ ...NODE, ...env }))).toEqual([expect.stringMatching(problem)]);
    });
  }

  test('names every problem at once, and no value', () => {
    const problems = problemsOf(() => parseApiConfig({ ...CONTROL, DATABASE_URL: 'mysql://u:geheim@h/d' }));
    expect(problems.length).toBeGreaterThan(5);
    expect(problems.join()).not.toContain('geheim');
  });

  test('gives a node agent no database, whatever the environment holds', () => {
    expect(Object.keys(parseNodeConfig({ ...NODE, ...CONTROL }))).not.toContain('databaseUrl');
  });
});
