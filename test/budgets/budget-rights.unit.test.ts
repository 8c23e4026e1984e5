import { expect, test } from 'vitest';
import { forestOf } from '../../src/budgets/budget-forest.js';
import { type BudgetPerson, changeSight } from '../../src/budgets/budget-rights.js';
import { CREATED, idOf, row } from './rows.js';

const foreign = { domainId: 'dom_shop', domain: 'shop' };
const forest = forestOf([
  row('root', null),
  row('own', 'root'),
  row('sub', 'own'),
  row('theirs', 'root', foreign),
  row('again', 'root'),
  { ...row('again', 'root', { ...foreign, closedAt: CREATED }), id: idOf('gone') },
  row('inner', 'theirs', foreign),
]);
const member = { userId: 'usr_lab/ann', role: 'user', domainId: 'dom_lab' } as BudgetPerson;
const operator: BudgetPerson = { ...member, role: 'operator' };

test.each([
  ['the projects of an own budget', 'own/sub', 'projects', true],
  ['the weight of a foreign child of the root', 'theirs', 'weight', true],
  ['the projects of a foreign one', 'theirs', 'projects', false],
  ['the weight of one below a foreign one', 'theirs/inner', 'weight', false],
  ['the managers of a name that a closed foreign one had too', 'again', 'managers', false],
  ['the creation of what lies elsewhere in a foreign domain now', 'inner', 'created', false],
  ['the managers of the root', 'root', 'managers', false],
] as const)('in the history of the root %s of %s, %s, is shown: %s', (_what, budget, field, want) => {
  const { tops = [], openFields = [] } = changeSight(forest, member) ?? {};
  const isOpen = !budget.includes('/') && openFields.includes(field);
  expect(tops.includes(budget.split('/')[0] ?? '') || isOpen).toBe(want);
  expect(changeSight(forest, operator)).toBeNull();
});
