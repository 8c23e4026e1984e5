import { expect, test } from 'vitest';
import { type BudgetNode, budgetTree, pathText } from '../../src/budgets/budget-tree.js';
import { isMoreOverServed } from '../../src/budgets/over-served.js';
import { node, TREE } from './tree-of-the-spec.js';

const root = node('root', null, 1);
test.each<[string, readonly BudgetNode[], RegExp]>([
  ['no root', [{ ...node('a', 'b', 1) }, { ...node('b', 'a', 1) }], /no budget is the root/],
  ['two roots', [root, node('other', null, 1)], /several budgets have no parent: root, other/],
  ['a cycle', [root, node('a', 'b', 1), node('b', 'a', 1)], /a is below itself, by way of b/],
  ['a negative weight', [root, node('a', 'root', -1)], /the weight of a is -1: a whole number, 0 or more/],
  ['a weight that is no whole number', [root, node('a', 'root', 0.5)], /the weight of a is 0.5/],
  ['an unknown parent', [root, node('a', 'nobody', 1)], /the parent of a, nobody, does not exist/],
  [
    'another domain below the root',
    [root, node('a', 'root', 1), { ...node('b', 'a', 1), domainId: 'dom_other' }],
    /b is of another domain than its parent a/,
  ],
  ['no domain', [root, { ...node('a', 'root', 1), domainId: null }], /a is of no domain: only the root may be/],
  [
    'two of one name',
    [root, node('a', 'root', 1), { ...node('a', 'root', 2), id: 'a2' }],
    /two budgets under one parent are called a/,
  ],
])('a tree with %s is refused with the reason', (_what, nodes, message) => {
  const checked = budgetTree(nodes);
  expect('problems' in checked && checked.problems.map((problem) => problem.message).join('; ')).toMatch(message);
});

test('children of the root are of any domains, and a path is told without the root', () => {
  const nodes = [root, { ...node('a', 'root', 1), domainId: 'dom_a' }, { ...node('b', 'root', 1), domainId: 'dom_b' }];
  const checked = budgetTree([...nodes, { ...node('c', 'b', 1), domainId: 'dom_b' }]);
  expect('tree' in checked && ['root', 'a', 'c'].map((id) => pathText(checked.tree, id))).toEqual(['root', 'a', 'b/c']);
});

test('over-served is compared at the children of the lowest common ancestor, strictly', () => {
  const loads = new Map(Object.entries({ A: 70, A1: 60, A2: 10, A3: 0, B: 40 }));
  const over = (victim: string, requester: string) =>
    isMoreOverServed(TREE, (id) => loads.get(id) ?? 0, { victim, requester });
  expect(over('B', 'A2')).toBe(true); // 40/30 against A's 70/70
  expect(over('A1', 'B')).toBe(false);
  expect(over('A1', 'A2')).toBe(true); // 60/50 against 10/30
  expect(over('A1', 'A1')).toBe(false);
  expect(over('A', 'A1')).toBe(false);
});
