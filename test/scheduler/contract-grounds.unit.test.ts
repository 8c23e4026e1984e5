import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../src/budgets/gpu-time.js';
import { groupPolicySchema } from '../../src/contract/index.js';
import { type ContractQuestion, chargedBudget, contractGrounds } from '../../src/scheduler/contract-grounds.js';
import { factsOf, idOf, ROWS, row } from '../budgets/rows.js';

const HOUR = HOUR_MS / 1000;
const GIB = 2 ** 30;
const nodes = [
  {
    devices: [
      {
        id: 'gpu-0',
        model: 'h100',
        memoryBytes: 80 * GIB,
        simulated: true,
        healthy: true,
        sharing: 'none' as const,
        parentId: null,
        heldBy: null,
        shares: [],
      },
    ],
  },
];
const CLOSED = '2026-11-20T00:00:00.000Z';
const rows = [
  ...ROWS.map((one) => (one.name === 'a2' ? { ...one, projects: [{ id: 'prj_two', path: 'lab/two' }] } : one)),
  row('capped', 'root', { weight: 0, projects: [], capMs: 2 * HOUR_MS }),
  row('old', 'root', { closedAt: CLOSED }),
  row('x', 'root', { domainId: 'dom_other', domain: 'other', weight: 0 }),
];
const budgets = factsOf({ rows });

type Wishes = Partial<NonNullable<ContractQuestion['contract']>>;
const gpus = (gpuCount: number) => ({
  gpuModel: null,
  kernels: [{ slots: { cpuMilli: 100, memoryBytes: GIB, gpuCount, gpuMemoryBytes: 0 } }],
});
const question = (wishes: Wishes, more: Partial<ContractQuestion> = {}): ContractQuestion => ({
  contract: { kind: 'batch', budget: null, minRuntimeSeconds: 0, preemptible: undefined, ...wishes },
  budgets,
  request: gpus(8),
  nodes,
  group: { name: 'default', policy: groupPolicySchema.parse({ order: 'fair-share' }) },
  project: { id: 'prj_two', name: 'two', domain: 'lab' },
  ...more,
});
const fifo = { budgets: null, group: { name: 'plain', policy: groupPolicySchema.parse({}) } };
const stranger = { project: { id: 'prj_none', name: 'none', domain: 'lab' } };
/** The project may charge the leaf, whose row is changed so. */
const charging = (name: string, more: object): Partial<ContractQuestion> => ({
  budgets: factsOf({
    rows: rows.map((one) =>
      one.name === name ? { ...one, ...more, projects: [{ id: 'prj_two', path: 'lab/two' }] } : one,
    ),
  }),
});

type Want = readonly [code: string, pointer: string, message: RegExp] | null;
const cases: [title: string, question: ContractQuestion, want: Want][] = [
  ['work without a contract', question({}), null],
  ['a budget with a minimum runtime that it bears', question({ budget: 'a/a2', minRuntimeSeconds: 4 * HOUR }), null],
  ['a budget by its id', question({ budget: idOf('a2'), minRuntimeSeconds: 4 * HOUR }), null],
  ['a budget without a minimum runtime', question({ budget: 'a/a2' }), null],
  [
    'example 9: 64 GPUs for 48 h, with the largest minimum runtime',
    question({ budget: 'a/a2', minRuntimeSeconds: 48 * HOUR }, { request: gpus(64) }),
    [
      'quota_exceeded',
      '/minRuntimeSeconds',
      /^64 GPUs for 48 h are 3072 GPU-h, a\/a2 has 2257.92 GPU-h allocated in 7 d: the largest minimum runtime is 35.28 h$/,
    ],
  ],
  [
    'example 9: 32 GPUs for 48 h',
    question({ budget: 'a/a2', minRuntimeSeconds: 48 * HOUR }, { request: gpus(32) }),
    null,
  ],
  [
    "more than the leaf's owner allows",
    question({ budget: 'a/a2', minRuntimeSeconds: 3 * HOUR }, charging('a2', { capMs: 2 * HOUR_MS })),
    ['quota_exceeded', '/minRuntimeSeconds', /a\/a2 takes minimum runtimes of at most 2 h/],
  ],
  [
    'factors count: 64 GPUs of factor 2 are 128',
    question(
      { budget: 'a/a2', minRuntimeSeconds: 20 * HOUR },
      {
        request: gpus(64),
        budgets: factsOf({ rows, settings: { ...budgets.settings, factors: { h100: 2 } }, presentMilliGpus: 64_000 }),
      },
    ),
    ['quota_exceeded', '/minRuntimeSeconds', /128 GPUs for 20 h are 2560 GPU-h.*17.64 h/],
  ],
  [
    'a budget that claims nothing bears nothing',
    question({ budget: 'capped', minRuntimeSeconds: HOUR }, charging('capped', { capMs: null })),
    [
      'quota_exceeded',
      '/minRuntimeSeconds',
      /capped has 0 GPU-h allocated in 7 d \(it claims nothing: its weight or one above it is 0\).*is 0 h/,
    ],
  ],
  [
    'any minimum runtime while no GPU is healthy, since nothing is allocated then',
    question({ budget: 'a/a2', minRuntimeSeconds: HOUR }, { budgets: factsOf({ rows, presentMilliGpus: 0 }) }),
    ['quota_exceeded', '/minRuntimeSeconds', /a\/a2 has 0 GPU-h allocated in 7 d \(no GPU is healthy now\)/],
  ],
  [
    'a minimum runtime without a budget, naming those that the project may charge',
    question({ minRuntimeSeconds: HOUR }),
    ['invalid_request', '/budget', /a minimum runtime is charged to a budget: name a\/a2/],
  ],
  [
    'a minimum runtime of a project that may charge nothing',
    question({ minRuntimeSeconds: HOUR }, stranger),
    ['invalid_request', '/budget', /the project lab\/none may charge none/],
  ],
  [
    'a budget that is not there',
    question({ budget: 'a/z' }),
    ['invalid_request', '/budget', /there is no budget a\/z: name a\/a2/],
  ],
  ["another domain's budget is not there", question({ budget: 'x' }), ['invalid_request', '/budget', /no budget x/]],
  ['a budget that was closed', question({ budget: 'old' }), ['invalid_request', '/budget', /old was closed at 2026/]],
  [
    'a budget that is no leaf, naming the leaves',
    question({ budget: 'a' }),
    ['invalid_request', '/budget', /a is no leaf, and only leaves are charged: name a\/a2/],
  ],
  ['the root', question({ budget: 'root' }), ['invalid_request', '/budget', /root is no leaf/]],
  [
    'a budget that does not list the project',
    question({ budget: 'a/a1' }),
    ['invalid_request', '/budget', /the project lab\/two may not charge a\/a1: name a\/a2/],
  ],
  [
    'a session that nobody may ever stop',
    question({ preemptible: false }),
    ['invalid_request', '/preemptible', /ask for a longer one instead/],
  ],
  [
    'a replica that nobody may stop and nobody pays for',
    question({ kind: 'inference' }),
    ['invalid_request', '/preemptible', /name a budget and a minimum runtime, or let it be preemptible/],
  ],
  ['a replica that is charged', question({ kind: 'inference', budget: 'a/a2', minRuntimeSeconds: HOUR }), null],
  ['a replica that may be stopped', question({ kind: 'inference', preemptible: true }), null],
  ['a replica without GPUs', question({ kind: 'system' }, { request: gpus(0) }), null],
  [
    'a budget where nothing is charged',
    question({ budget: 'a/a2' }, fifo),
    ['invalid_request', '/budget', /the group plain orders by fifo: nothing is charged there/],
  ],
  ['a minimum runtime where nothing is charged', question({ minRuntimeSeconds: HOUR }, fifo), null],
  ['a session that nobody may stop, where fair share does not order', question({ preemptible: false }, fifo), null],
];
describe('a contract of a request:', () => {
  test.each(cases)('%s', (_title, asked, want) => {
    const [ground] = contractGrounds(asked);
    expect(ground === undefined ? null : [ground.code, ground.pointer]).toEqual(
      want === null ? null : want.slice(0, 2),
    );
    if (want !== null) expect(ground?.message).toMatch(want[2]);
  });

  test('each refusal has a command that helps', () => {
    const refused = cases.flatMap(([, asked]) => contractGrounds(asked));
    expect(refused.filter(({ hint }) => hint === undefined || !hint.startsWith('berth '))).toEqual([]);
    const [cap] = contractGrounds(question({ budget: 'a/a2', minRuntimeSeconds: 48 * HOUR }, { request: gpus(64) }));
    expect(cap?.hint).toBe('berth run --budget a/a2 --min-runtime 35h16m48s …');
  });

  test('the leaf is charged where it was named and may be', () => {
    expect(chargedBudget(question({ budget: 'a/a2' }))).toBe(idOf('a2'));
    expect(chargedBudget(question({ budget: 'a/a1' }))).toBeNull();
    expect(chargedBudget(question({}))).toBeNull();
    expect(chargedBudget(question({ budget: 'a/a2' }, fifo))).toBeNull();
  });
});
