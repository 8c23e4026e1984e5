import { expect, test } from 'vitest';
import { withHelp } from '../../src/api/why-actions.js';
import type { Reason, Session, Why } from '../../src/contract/index.js';

const session = {
  id: 'ses_1',
  user: 'ada',
  project: 'vision',
  group: 'default',
  clusterMode: 'single-node',
  kernels: [{}, {}],
  contract: null,
} as unknown as Session;
const stop = { title: 'Stop it', command: 'berth stop ses_1' };
const helped = (reason: Reason | null): readonly string[] =>
  withHelp({ reason, actions: [stop] } as unknown as Why, session).actions.map(({ command }) => command);

const rows: readonly (readonly [Reason, string])[] = [
  ['user_quota', 'berth ps --user ada'],
  ['project_quota', 'berth ps --project vision'],
  ['fragmented', 'berth run --multi-node …'],
  ['too_large_for_any_node', 'berth run --multi-node …'],
];
test.each(rows)('against %s helps: %s', (reason, command) => {
  expect(helped(reason)).toEqual([command, stop.command]);
});

test('where fair share orders, one that waits in line is sent to its budgets', () => {
  const contract = { allocated: true, message: '' };
  const of = (why: Partial<Why>) =>
    withHelp({ reason: 'behind_in_queue', actions: [], ...why } as unknown as Why, { ...session, contract }).actions;
  expect(of({ class: 'wait' })).toMatchObject([{ command: 'berth budget explain ses_1' }]);
  expect(of({ class: 'hold' })).toEqual([]);
});

test('what the ledger offers comes last, and no command twice', () => {
  expect(helped('scheduled_start')).toEqual([stop.command]);
  expect(helped(null)).toEqual([stop.command]);
});
