import { describe, expect, test } from 'vitest';
import { valueText } from '../../src/cli/budget-columns.js';
import { budgetExplainText } from '../../src/cli/budget-explain-text.js';
import { patchOf } from '../../src/cli/budget-fields.js';
import { changedSettings, settingsText } from '../../src/cli/budget-settings.js';
import { budgetText } from '../../src/cli/budget-text.js';
import { budgetTreeText, treeLegend } from '../../src/cli/budget-tree-text.js';
import { splitPath } from '../../src/cli/commands/budget/create.js';
import type { Budget, BudgetExplanation } from '../../src/contract/index.js';

const NOW = new Date('2026-11-30T12:00:00.000Z');
const HOUR = 3600;

function budget(path: string, depth: number, more: Partial<Budget['use']> = {}, fields: Partial<Budget> = {}): Budget {
  const name = path.split('/').at(-1) ?? path;
  const use = {
    at: NOW.toISOString(),
    windowSeconds: 604_800,
    claim: 0.35,
    allocatedGpuSeconds: 3763.2 * HOUR,
    usedGpuSeconds: 3000 * HOUR,
    committedGpuSeconds: 100 * HOUR,
    unallocatedGpuSeconds: 0,
    ratio: 3000 / 3763.2,
    expectedRatio: 3100 / 3763.2,
    runningGpus: 16,
    pendingGpus: 0,
    ...more,
  };
  return {
    id: `bgt_${name}` as Budget['id'],
    name,
    path,
    parent: depth === 0 ? null : 'root',
    domain: 'lab',
    depth,
    isLeaf: depth > 1,
    state: 'open',
    weight: 50,
    projects: depth > 1 ? ['lab/one'] : [],
    managers: [],
    minRuntimeCapSeconds: null,
    use,
    etag: '1',
    createdAt: NOW.toISOString(),
    closedAt: null,
    ...fields,
  };
}

describe('the tree', () => {
  const tree = [
    budget('root', 0),
    budget('a', 1),
    budget('a/a1', 2),
    budget('a/a2', 2),
    budget('b', 1),
    budget('b/b1', 2),
  ];
  test('has a branch for each budget and its figures in GPU-hours', () => {
    const lines = budgetTreeText(tree, { isWide: false, now: NOW }).split('\n');
    const names = lines.map((line) => line.slice(0, 10).trimEnd());
    expect(names).toEqual(['NAME', 'root', '├─ a', '│  ├─ a1', '│  └─ a2', '└─ b', '   └─ b1']);
    expect(lines[0]).toMatch(/WEIGHT +CLAIM +ALLOCATED +USED +COMMITTED +RATIO +EXPECTED/);
    expect(lines[3]).toMatch(/50 +35 % +3763.2 +3000 +100 +0.80 +0.82 +16 +0$/);
    expect(treeLegend(tree[0] as Budget)).toMatch(/GPU-hours of the last 7d; ratio: used \/ allocated/);
  });
  test('may begin below the root, and marks what is closed', () => {
    const part = [budget('a', 1), budget('a/a1', 2, { ratio: null, expectedRatio: null }, { state: 'closed' })];
    const [, top, closed] = budgetTreeText(part, { isWide: false, now: NOW }).split('\n');
    expect(top).toMatch(/^a /);
    expect(closed).toMatch(/^└─ a1 \(closed\) .* - +- +16/);
  });
});

test('a budget says who may charge it, what it bears, and its figures', () => {
  const text = budgetText(budget('a/a1', 2, {}, { minRuntimeCapSeconds: 4 * HOUR }));
  expect(text).toMatch(/charged by +lab\/one/);
  expect(text).toMatch(/minimum runtime +at most 4h/);
  expect(text).toMatch(/used +3000 GPU-h \(ratio 0.80\)/);
});

test('an explanation tells the fork, who is ahead and why, the hours behind it, and who may stop it', () => {
  const sibling = { weight: 50, usedGpuSeconds: 3000 * HOUR, committedGpuSeconds: 0, pendingSessions: 1 };
  const explanation: BudgetExplanation = {
    sessionId: 'ses_1' as BudgetExplanation['sessionId'],
    at: NOW.toISOString(),
    budget: 'a/a1',
    allocated: true,
    position: 2,
    message: 'place 2 of 2 in default',
    forks: [
      {
        below: 'a',
        siblings: [
          { ...sibling, budget: 'a/a2', loadPerWeight: 20, isOnPath: false },
          { ...sibling, budget: 'a/a1', loadPerWeight: 60 * HOUR, isOnPath: true },
        ],
      },
    ],
    ahead: [{ sessionId: 'ses_2' as BudgetExplanation['sessionId'], name: 'other', because: 'a/a2 has had less' }],
    charges: [
      {
        sessionId: 'ses_3' as BudgetExplanation['sessionId'],
        name: 'greedy',
        user: 'ann',
        budget: 'a/a1',
        gpus: 16,
        from: '2026-11-30T08:00:00.000Z',
        until: null,
        gpuSeconds: 64 * HOUR,
      },
    ],
    protectedUntil: null,
    mayBeStoppedBy: 'nobody while it waits',
  };
  const text = budgetExplainText(explanation, NOW);
  expect(text).toMatch(/^place 2 of 2 in default\n {2}charged to a\/a1\n {2}may be stopped by: nobody while it waits/);
  expect(text).toMatch(/> a\/a1 +50 +3000 +0 +60 +1/);
  expect(text).toMatch(/ {3}a\/a2 +50 +3000 +0 +0\.00556 +1/);
  expect(text).toContain('other: a/a2 has had less');
  expect(text).toContain('greedy of ann in a/a1: 64 GPU-h (16 GPUs since 4h)');
});

test.each([
  ['research', { name: 'research' }],
  ['research/nlp/chat', { name: 'chat', parent: 'research/nlp' }],
])('the path %s is a name below a parent', (path, want) => expect(splitPath(path)).toEqual(want));

test.each([
  [3, '3'],
  [[], 'none'],
  [['lab/a', 'lab/b'], 'lab/a, lab/b'],
  [{ weight: 3, projects: ['lab/a'], managers: [], minRuntimeCapSeconds: null }, 'weight 3; projects lab/a'],
  [{ weight: 3, minRuntimeCapSeconds: 14_400 }, 'weight 3; minRuntimeCapSeconds 4h'],
])('a change of a budget is told in words: %j', (value, words) => {
  expect(valueText(value)).toBe(words);
});

describe('what budget set sends', () => {
  const present = { projects: ['lab/one', 'lab/two'], managers: [] };
  test.each([
    [
      { weight: '3', cap: '4h' },
      { weight: 3, minRuntimeCapSeconds: 14_400 },
    ],
    [{ cap: 'none' }, { minRuntimeCapSeconds: null }],
    [{ addProject: ['lab/three'] }, { projects: ['lab/one', 'lab/two', 'lab/three'] }],
    [{ removeProject: ['lab/one'] }, { projects: ['lab/two'] }],
    [{ projects: false }, { projects: [] }],
    [{ manager: ['lab/ann'] }, { managers: ['lab/ann'] }],
    [{}, {}],
  ])('%j is %j', (options, want) => expect(patchOf(present, options)).toEqual(want));
  test.each([
    [{ removeProject: ['lab/nine'] }, /lab\/nine is none of lab\/one, lab\/two/],
    [{ project: ['lab/a'], addProject: ['lab/b'] }, /exclude each other/],
  ])('%j is refused', (options, message) => expect(() => patchOf(present, options)).toThrow(message));
});

describe('settings', () => {
  const present = { windowSeconds: 604_800, halfLifeSeconds: null, factors: { old: 2 }, unallocatedGraceSeconds: 30 };
  test('are told in the words that the command takes, and changed by them', () => {
    expect(settingsText(present)).toBe('window=7d\nhalfLife=none\nunallocatedGrace=30s\nfactor.old=2');
    const pairs = ['window=14d', 'halfLife=3d', 'factor.H200=1.5', 'factor.old=none', 'unallocatedGrace=10s'];
    expect(changedSettings(present, pairs)).toEqual({
      windowSeconds: 1_209_600,
      halfLifeSeconds: 259_200,
      factors: { H200: 1.5 },
      unallocatedGraceSeconds: 10,
    });
  });
  test.each([
    ['widow=1d', /none of window, halfLife/],
    ['factor.H200=0', /no factor/],
    ['factor.H200=1.2345', /three decimals/],
  ])('%s is refused', (pair, message) => expect(() => changedSettings(present, [pair])).toThrow(message));
});
