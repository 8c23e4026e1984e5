import { describe, expect, test } from 'vitest';
import type { BudgetGround } from '../../src/budgets/budget-facts.js';
import type { BudgetPerson } from '../../src/budgets/budget-rights.js';
import { type BudgetCommand, changeBudget, lookUpOf } from '../../src/budgets/change-budget.js';
import type { SessionId } from '../../src/contract/index.js';
import { idOf, ROWS, row } from './rows.js';

const AT = '2026-11-30T12:00:00.000Z';
const ROWS_AND_MORE = [
  ...ROWS,
  row('x', 'root', { domainId: 'dom_other', domain: 'other', weight: 5 }),
  row('x1', 'x', { domainId: 'dom_other', domain: 'other' }),
  row('old', 'root', { closedAt: '2026-11-20T00:00:00.000Z' }),
];
const ground: BudgetGround = {
  at: AT,
  rows: ROWS_AND_MORE,
  openSessions: [
    { budgetId: idOf('a2'), id: 'ses_1' as SessionId, name: 'training' },
    { budgetId: idOf('a2'), id: 'ses_2' as SessionId, name: 'notebook' },
  ],
  domains: [{ id: 'dom_other', name: 'other' }],
  projects: [
    { id: 'prj_lab/new', path: 'lab/new', domainId: 'dom_lab' },
    { id: 'prj_other/p', path: 'other/p', domainId: 'dom_other' },
  ],
  users: [{ id: 'usr_lab/ben', path: 'lab/ben' }],
};
const person = (userId: string, role: BudgetPerson['role'] = 'user', domainId = 'dom_lab'): BudgetPerson => ({
  userId: userId as BudgetPerson['userId'],
  role,
  domainId: domainId as BudgetPerson['domainId'],
});
const OPERATOR = person('usr_op', 'operator');
const ANN = person('usr_lab/ann');
const ADMIN = person('usr_lab/adm', 'domain-admin');
const USER = person('usr_lab/zoe');

type Create = Partial<Extract<BudgetCommand, { kind: 'create' }>['asked']>;
const create = (asked: Create): BudgetCommand => ({
  kind: 'create',
  id: idOf('new'),
  asked: { name: 'new', parent: 'root', weight: 1, projects: [], managers: [], minRuntimeCapSeconds: null, ...asked },
});
const patch = (
  budget: string,
  asked: Extract<BudgetCommand, { kind: 'patch' }>['asked'],
  etag: string | null = null,
): BudgetCommand => ({ kind: 'patch', budget, asked, etag });
const close = (budget: string): BudgetCommand => ({ kind: 'close', budget, etag: null });

type Refused = readonly [pointer: string, message: RegExp];
const refusals: [title: string, command: BudgetCommand, by: BudgetPerson, code: string, errors: readonly Refused[]][] =
  [
    ['a negative weight', patch('a/a1', { weight: -1 }), OPERATOR, 'invalid_request', [['/weight', /0 or more/]]],
    ['half a weight', create({ parent: 'a', weight: 0.5 }), OPERATOR, 'invalid_request', [['/weight', /whole number/]]],
    [
      'a cycle',
      patch('a', { parent: 'a/a1' }),
      OPERATOR,
      'invalid_request',
      [['/parent', /a\/a1 lies below a: a budget is never below itself/]],
    ],
    ['its own parent', patch('a', { parent: 'a' }), OPERATOR, 'invalid_request', [['/parent', /its own parent/]]],
    [
      'a move into another domain',
      patch('a/a1', { parent: 'x' }),
      OPERATOR,
      'invalid_request',
      [['/parent', /x is of the domain other, a1 would be of another/]],
    ],
    [
      'a budget of another domain than its parent',
      create({ parent: 'a', domain: 'other' }),
      OPERATOR,
      'invalid_request',
      [['/domain', /of its parent's domain/]],
    ],
    [
      'a child of the root without a domain',
      create({}),
      OPERATOR,
      'invalid_request',
      [['/domain', /names its domain/]],
    ],
    [
      'a domain that is not there',
      create({ domain: 'mars' }),
      OPERATOR,
      'invalid_request',
      [['/domain', /no domain mars/]],
    ],
    ['a parent that is not there', create({ parent: 'z' }), OPERATOR, 'invalid_request', [['/parent', /no budget z/]]],
    [
      'a parent that was closed',
      create({ parent: 'old' }),
      OPERATOR,
      'conflict',
      [['/parent', /was closed at 2026-11-20/]],
    ],
    [
      'a leaf with projects as parent',
      create({ parent: 'a/a1' }),
      OPERATOR,
      'conflict',
      [['/parent', /a\/a1 is a leaf that lab\/one may charge: take its projects away first/]],
    ],
    ['a name that is taken', create({ parent: 'a', name: 'a1' }), OPERATOR, 'conflict', [['/name', /a\/a1 already/]]],
    [
      'the name of the root',
      create({ name: 'root', domain: 'other' }),
      OPERATOR,
      'invalid_request',
      [['/name', /root/]],
    ],
    [
      'projects of what is no leaf',
      patch('a', { projects: ['lab/new'] }),
      OPERATOR,
      'invalid_request',
      [['/projects', /name the projects at a\/a1 or a\/a2 or a\/a3/]],
    ],
    [
      'a project of another domain',
      patch('a/a1', { projects: ['lab/new', 'other/p'] }),
      OPERATOR,
      'invalid_request',
      [['/projects/1', /of another domain/]],
    ],
    [
      'everything wrong at once',
      create({ parent: 'a', name: 'a1', weight: -2, projects: ['lab/none'], managers: ['lab/none'] }),
      OPERATOR,
      'invalid_request',
      [
        ['/weight', /-2/],
        ['/name', /already/],
        ['/projects/0', /no project lab\/none/],
        ['/managers/0', /no user lab\/none/],
      ],
    ],
    ['closing with open children', close('a'), OPERATOR, 'conflict', [['', /a\/a1, a\/a2, a\/a3; close or move them/]]],
    [
      'closing while sessions charge it',
      close('a/a2'),
      OPERATOR,
      'conflict',
      [['', /sessions that have not ended charge a\/a2: training, notebook/]],
    ],
    ['closing the root', close('root'), OPERATOR, 'invalid_request', [['', /the root is never closed/]]],
    ['changing what was closed', patch('old', { weight: 2 }), OPERATOR, 'conflict', [['', /was closed at/]]],
    ['a weight of the root', patch('root', { weight: 2 }), OPERATOR, 'invalid_request', [['/weight', /only managers/]]],
    ['a version that is no more', patch('a/a1', { weight: 2 }, 'old'), OPERATOR, 'stale', []],
    ['what is not there', patch('a/z', { weight: 2 }), OPERATOR, 'not_found', []],
    ["another domain's budget below the top", patch('x/x1', { weight: 2 }), ANN, 'not_found', []],
    ['a user', patch('a/a1', { weight: 2 }), USER, 'forbidden', []],
    ['a manager of the budget itself', patch('a', { weight: 2 }), ANN, 'forbidden', []],
    ["a domain's admin at the child of the root", patch('a', { weight: 2 }), ADMIN, 'forbidden', []],
    [
      "a domain's admin below the root",
      create({ domain: 'other' }),
      ADMIN,
      'forbidden',
      [['/parent', /below root is changed by its managers and by operators/]],
    ],
    [
      'a manager who moves to where he is none',
      patch('a/a1', { parent: 'root' }),
      ANN,
      'forbidden',
      [['/parent', /below root/]],
    ],
  ];
describe('refused, with the field and the reason:', () => {
  test.each(refusals)('%s', (_title, command, by, code, errors) => {
    const decided = changeBudget(ground, command, by);
    const refusal = 'refused' in decided ? decided.refused : undefined;
    expect(refusal?.code).toBe(code);
    const told = refusal?.errors ?? [];
    expect(told.map(({ pointer }) => pointer)).toEqual(errors.map(([pointer]) => pointer));
    errors.forEach(([, message], index) => expect(told[index]?.message).toMatch(message));
  });
});

const grants: [title: string, command: BudgetCommand, by: BudgetPerson, written: object, fields: readonly string[]][] =
  [
    [
      'an operator makes a child of the root',
      create({ domain: 'other', projects: ['other/p'], minRuntimeCapSeconds: 3600 }),
      OPERATOR,
      { name: 'new', parentId: idOf('root'), domainId: 'dom_other', projectIds: ['prj_other/p'], capMs: 3_600_000 },
      ['created'],
    ],
    [
      'a manager makes one below his, of its domain',
      create({ parent: 'a', managers: ['lab/ben', 'lab/ben'] }),
      ANN,
      { parentId: idOf('a'), domainId: 'dom_lab', managerIds: ['usr_lab/ben'] },
      ['created'],
    ],
    [
      'a manager weighs what is below his',
      patch('a/a1', { weight: 7 }),
      ANN,
      { weight: 7, projectIds: ['prj_lab/one'] },
      ['weight'],
    ],
    [
      "a domain's admin weighs below its child of the root",
      patch('a/a2', { weight: 7 }),
      ADMIN,
      { weight: 7 },
      ['weight'],
    ],
    ['an operator moves a leaf', patch('a/a1', { parent: 'root' }), OPERATOR, { parentId: idOf('root') }, ['parent']],
    [
      'cap and projects change together',
      patch('a/a1', { minRuntimeCapSeconds: 60, projects: [] }, 'etag-a1'),
      OPERATOR,
      { capMs: 60_000, projectIds: [] },
      ['projects', 'minRuntimeCapSeconds'],
    ],
    ['what is so already is no change', patch('a/a1', { weight: 50 }), OPERATOR, { weight: 50 }, []],
    ['a leaf without sessions closes', close('a/a1'), OPERATOR, { closedAt: AT }, ['closed']],
    ['what is closed is closed again', close('old'), OPERATOR, { closedAt: '2026-11-20T00:00:00.000Z' }, []],
    [
      'managers of the root',
      patch('root', { managers: ['lab/ben'] }),
      OPERATOR,
      { managerIds: ['usr_lab/ben'] },
      ['managers'],
    ],
  ];
describe('granted:', () => {
  test.each(grants)('%s', (_title, command, by, written, fields) => {
    const decided = changeBudget(ground, command, by);
    if ('refused' in decided) throw new Error(decided.refused.detail);
    expect(decided.write.row).toMatchObject(written);
    expect(decided.write.history.map(({ field }) => field)).toEqual(fields);
  });

  test('a creation that is repeated under its id writes the same row and no history', () => {
    const made = row('new', 'a', { weight: 4 });
    const again = changeBudget({ ...ground, rows: [...ROWS, made] }, create({ parent: 'a' }), OPERATOR);
    expect(again).toMatchObject({ write: { row: { id: made.id, weight: 4 }, history: [] } });
  });
});

test('a change says which names it has to be told the ids of', () => {
  expect(lookUpOf(create({ domain: 'lab', projects: ['lab/p'], managers: ['lab/u'] }))).toEqual({
    domains: ['lab'],
    projects: ['lab/p'],
    users: ['lab/u'],
  });
  expect(lookUpOf(close('a'))).toEqual({ domains: [], projects: [], users: [] });
});
