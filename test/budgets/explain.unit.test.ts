import { describe, expect, test } from 'vitest';
import type { BudgetFacts, Charge } from '../../src/budgets/budget-facts.js';
import { budgetSight } from '../../src/budgets/budget-view.js';
import { chargedLeaves, type ExplainQuestion, explain } from '../../src/budgets/explain.js';
import { fromGpuHours, HOUR_MS } from '../../src/budgets/gpu-time.js';
import type { OrderedRequest } from '../../src/budgets/order-loads.js';
import { budgetExplanationSchema } from '../../src/contract/index.js';
import { factsOf, idOf, leaf, row } from './rows.js';

const NOW_MS = Date.parse('2026-11-30T12:00:00.000Z');
const sessionId = (name: string) =>
  `ses_0${name.replace(/[ilou]/g, 'z').padEnd(25, '0')}` as ExplainQuestion['session']['id'];

const request = (name: string, budget: string | null, more: Partial<OrderedRequest> = {}): OrderedRequest => ({
  id: sessionId(name),
  name,
  budgetId: budget === null ? null : idOf(budget),
  minRuntimeMs: 4 * HOUR_MS,
  milliGpus: 8000,
  priority: 10,
  submittedMs: NOW_MS - HOUR_MS,
  projectId: 'prj_one',
  ...more,
});
const free = { minRuntimeMs: 0 };

interface Setting {
  readonly facts?: Partial<BudgetFacts>;
  readonly order?: readonly OrderedRequest[];
  readonly chosen?: readonly string[];
  readonly session?: Partial<ExplainQuestion['session']>;
  readonly held?: readonly string[];
}
function questionOf(
  name: string,
  { facts = {}, order = [], chosen = [], session = {}, held = [] }: Setting,
): ExplainQuestion {
  const own = order.find((one) => one.name === name);
  return {
    session: {
      id: sessionId(name),
      budgetId: own?.budgetId ?? null,
      minRuntimeMs: own?.minRuntimeMs ?? 0,
      state: own === undefined ? 'running' : 'waiting',
      protectedUntilMs: null,
      graceMs: 60_000,
      preemptible: true,
      ...session,
    },
    group: 'default',
    sight: budgetSight(factsOf(facts)),
    order,
    chosen: new Set(chosen.map(sessionId)),
    unallocatedUse: new Map([[idOf('b'), fromGpuHours(40)]]),
    held: new Set(held.map(sessionId)),
  };
}
const explained = (name: string, setting: Setting) => explain(questionOf(name, setting), []);

/** Example 2: A3 before A1 before A2 before B. */
const EXAMPLE_2 = [
  leaf('a1', { use: fromGpuHours(3000) }),
  leaf('a2', { use: fromGpuHours(2500) }),
  leaf('b', { use: fromGpuHours(3000) }),
];
const order = [request('third', 'a3'), request('first', 'a1'), request('second', 'a2'), request('bee', 'b')];
/** Example 7: two equal budgets, x has used 4. */
const EQUAL = [row('root', null), row('x', 'root'), row('y', 'root')];

describe('an explanation', () => {
  test('shows each fork from the root to the leaf, with the load per weight of every sibling, the least first', () => {
    const { forks, position, message } = explained('bee', { facts: { leaves: EXAMPLE_2 }, order });
    expect(position).toBe(4);
    expect(forks).toHaveLength(1);
    expect(
      forks[0]?.siblings.map(({ budget, isOnPath, pendingSessions }) => [budget, isOnPath, pendingSessions]),
    ).toEqual([
      ['a', false, 3],
      ['b', true, 1],
    ]);
    expect(forks[0]?.siblings.map(({ loadPerWeight }) => Math.round((loadPerWeight ?? 0) / 36) / 100)).toEqual([
      78.57, 100,
    ]);
    expect(message).toBe(
      'place 4 of 4 in default: below root a goes first: a has had 5500 GPU-h for weight 70, b has had 3000 GPU-h for weight 30',
    );
  });

  test('goes down to the leaf', () => {
    const { forks, message } = explained('second', { facts: { leaves: EXAMPLE_2 }, order });
    expect(forks.map(({ below, siblings }) => [below, siblings.map(({ budget }) => budget)])).toEqual([
      ['root', ['a', 'b']],
      ['a', ['a/a3', 'a/a1', 'a/a2']],
    ]);
    expect(message).toContain('below a a/a3 goes first: a/a3 has had 0 GPU-h for weight 20');
  });

  test('says of each that goes before it why, by the rule that decides between the two', () => {
    const queue = [request('held', 'b'), ...order, request('free', null, free)];
    const { ahead } = explained('free', { facts: { leaves: EXAMPLE_2 }, order: queue, held: ['held'] });
    expect(ahead.map(({ name, because }) => [name, because])).toEqual([
      ['held', 'it was chosen before, and room is held for it'],
      ...['third', 'first', 'second', 'bee'].map((name) => [name, 'allocated work goes before unallocated work']),
    ]);
    expect(explained('bee', { facts: { leaves: EXAMPLE_2 }, order }).ahead[1]?.because).toBe(
      'a has had less for its weight: 5500 GPU-h for weight 70, b 3000 GPU-h for weight 30',
    );
  });

  test('counts what the pass has chosen: example 7, y x y x', () => {
    const queue = ['y1', 'x1', 'y2', 'x2'].map((name) => request(name, name.charAt(0), { milliGpus: 8000 }));
    const facts = { rows: EQUAL, leaves: [leaf('x', { use: fromGpuHours(4) })] };
    const { ahead, message } = explained('x2', { facts, order: queue, chosen: ['y1', 'x1', 'y2'] });
    expect(ahead.map(({ because }) => because)).toEqual([
      'y has had less for its weight: 0 GPU-h for weight 1, x 4 GPU-h for weight 1',
      'of the same budget and priority, submitted earlier',
      'y has had less for its weight: 32 GPU-h for weight 1, x 36 GPU-h for weight 1',
    ]);
    expect(message).toBe(
      'place 4 of 4 in default: below root y goes first: y has had 0 GPU-h for weight 1, x has had 4 GPU-h for weight 1',
    );
  });

  test('counts from the start what was chosen before and has room held, as the pass does', () => {
    const facts = { rows: EQUAL, leaves: [leaf('x', { use: fromGpuHours(4) })] };
    const queue = [request('y1', 'y'), request('x1', 'x'), request('y2', 'y')];
    const { ahead, message, forks } = explained('y2', { facts, order: queue, held: ['y1'], chosen: ['x1'] });
    expect(ahead.map(({ because }) => because)).toEqual([
      'it was chosen before, and room is held for it',
      'x has had less for its weight: 4 GPU-h for weight 1, y 32 GPU-h for weight 1',
    ]);
    expect(message).toMatch(/below root x goes first: x has had 4 GPU-h for weight 1, y has had 32 GPU-h/);
    expect(forks[0]?.siblings.map(({ budget, committedGpuSeconds }) => [budget, committedGpuSeconds])).toEqual([
      ['x', 0],
      ['y', 32 * 3600],
    ]);
    expect(explained('y1', { facts, order: queue, held: ['y1'] }).message).toMatch(/room is held for it$/);
  });

  test('says so where a budget claims nothing, though nobody beside it has had less', () => {
    const rows = [...EQUAL, row('idle', 'root'), row('nil', 'idle', { weight: 0 })];
    const queue = [request('x1', 'x'), request('n1', 'nil')];
    const facts = { rows, leaves: [leaf('x', { use: fromGpuHours(4) })] };
    expect(explained('n1', { facts, order: queue }).message).toBe(
      'place 2 of 2 in default: idle/nil claims nothing, its weight or one above it is 0: it goes after all that do',
    );
  });

  test('counts what is committed: example 8, use 16 against 80 and load 192 against 80', () => {
    const leaves = [
      leaf('x', { use: fromGpuHours(16), committed: fromGpuHours(176) }),
      leaf('y', { use: fromGpuHours(80) }),
    ];
    const { forks } = explained('x1', {
      facts: { rows: EQUAL, leaves },
      order: [request('y1', 'y'), request('x1', 'x')],
    });
    expect(forks[0]?.siblings.map(({ budget, loadPerWeight }) => [budget, loadPerWeight])).toEqual([
      ['y', 80 * 3600],
      ['x', 192 * 3600],
    ]);
  });

  test.each<[string, OrderedRequest, OrderedRequest, RegExp]>([
    ['priority within one budget', request('p', 'b', { priority: 20 }), request('o', 'b'), /priority 20 against 10/],
    ['age among equals', request('p', 'x'), request('o', 'y'), /x and y have had as much for their weight.*older/],
    [
      'unallocated use',
      request('p', null, free),
      request('o', 'b', free),
      /its project has had 0 GPU-h unallocated, this one's 40 GPU-h/,
    ],
    [
      'age of unallocated work',
      request('p', null, free),
      request('o', null, free),
      /unallocated like this one, submitted earlier/,
    ],
    ['no claim', request('p', 'x'), request('o', 'nil'), /claims nothing: its weight is 0/],
  ])('names %s', (_what, other, own, because) => {
    const rows = [...EQUAL, row('b', 'root'), row('nil', 'root', { weight: 0 })];
    expect(explained('o', { facts: { rows }, order: [other, own] }).ahead[0]?.because).toMatch(because);
  });

  test('names the charges below the two branches that decide, largest first, in GPU-seconds', () => {
    const question = questionOf('bee', { facts: { leaves: EXAMPLE_2 }, order });
    expect(chargedLeaves(question)).toEqual([idOf('a1'), idOf('a2'), idOf('b')]);
    const charge: Charge = {
      sessionId: sessionId('old'),
      name: 'old',
      user: 'ann',
      budgetId: idOf('a1'),
      milliGpus: 16_000,
      from: '2026-11-30T08:00:00.000Z',
      until: null,
      gpuTime: fromGpuHours(64),
    };
    const explanation = explain(question, [charge]);
    expect(explanation.charges).toMatchObject([{ name: 'old', budget: 'a/a1', gpus: 16, gpuSeconds: 64 * 3600 }]);
    expect(budgetExplanationSchema.parse(explanation)).toEqual(explanation);
  });
});

const stops: [title: string, session: Partial<ExplainQuestion['session']>, want: RegExp][] = [
  [
    'unallocated work',
    { budgetId: idOf('a1'), minRuntimeMs: 0 },
    /^any allocated request, at any time, after 30 s of notice/,
  ],
  ['work without a budget', { minRuntimeMs: HOUR_MS }, /^any allocated request/],
  [
    'protected work',
    { budgetId: idOf('b'), minRuntimeMs: 4 * HOUR_MS, protectedUntilMs: NOW_MS + 3.5 * HOUR_MS },
    /^nobody until 2026-11-30T15:30:00.000Z \(another 3.5 h\); then allocated requests of budgets that have had less for their weight: now a with 5500 GPU-h for weight 70 \(b: 3000 GPU-h for weight 30\)$/,
  ],
  [
    'work past its minimum',
    { budgetId: idOf('a2'), minRuntimeMs: HOUR_MS, protectedUntilMs: NOW_MS - 1 },
    /^allocated requests of budgets.*: now a\/a1 with 3000 GPU-h for weight 50, a\/a3 with 0 GPU-h for weight 20 \(a\/a2: 2500/,
  ],
  [
    'work of the least served',
    { budgetId: idOf('a3'), minRuntimeMs: HOUR_MS, protectedUntilMs: NOW_MS - 1 },
    /^nobody now, though its minimum runtime is over/,
  ],
  [
    'work that starts',
    { budgetId: idOf('b'), minRuntimeMs: HOUR_MS, state: 'starting' },
    /^nobody while it starts and for its first 1 h/,
  ],
  [
    'work that waits',
    { budgetId: idOf('b'), minRuntimeMs: HOUR_MS, state: 'waiting' },
    /^nobody while it waits; once it runs, nobody for its first 1 h/,
  ],
  [
    'a replica',
    { budgetId: idOf('b'), minRuntimeMs: HOUR_MS, preemptible: false },
    /^nobody for fair share; only a drain/,
  ],
  ['what has ended', { budgetId: idOf('b'), state: 'ended' }, /^nobody: it has ended/],
];
test.each(stops)('%s may be stopped by the right ones', (_title, session, want) => {
  expect(explained('own', { facts: { leaves: EXAMPLE_2 }, session }).mayBeStoppedBy).toMatch(want);
});
