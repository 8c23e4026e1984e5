import { expect, test } from 'vitest';
import { withHelp } from '../../src/api/why-actions.js';
import { REASONS, type Reason, type Session, type Why } from '../../src/contract/index.js';

const session = {
  id: 'ses_1',
  user: 'ada',
  project: 'vision',
  group: 'default',
  clusterMode: 'single-node',
  kernels: [{}, {}],
  maxRuntimeSeconds: null,
  dependsOn: [
    { sessionId: 'ses_0', name: 'prepare', state: 'open', onFailure: 'cancel' },
    { sessionId: 'ses_9', name: 'done', state: 'succeeded', onFailure: 'cancel' },
  ],
} as unknown as Session;
const stop = { title: 'Stop it', command: 'berth stop ses_1' };
const helped = (reason: Reason | null): readonly string[] =>
  withHelp({ reason, actions: [stop] } as unknown as Why, session).actions.map(({ command }) => command);

const rows: readonly (readonly [Reason, string])[] = [
  ['dependency_pending', 'berth why ses_0'],
  ['queue_paused', 'berth group set default paused=false'],
  ['user_quota', 'berth ps --user ada'],
  ['project_quota', 'berth ps --project vision'],
  ['guaranteed_share', 'berth group show default'],
  ['no_schedulable_node', 'berth node ls --group default -o wide'],
  ['fragmented', 'berth run --multi-node …'],
  ['delays_reservation', 'berth run --max-runtime 30m …'],
  ['backoff', 'berth history ses_1'],
];
test.each(rows)('against %s helps: %s', (reason, command) => {
  expect(helped(reason)).toEqual([command, stop.command]);
});

test('what the ledger offers comes last, and no command twice', () => {
  expect(helped('scheduled_start')).toEqual([stop.command]);
  expect(helped(null)).toEqual([stop.command]);
});

test('every reason that never passes, or holds, has its own help', () => {
  const own = Object.entries(REASONS).filter(([, kind]) => kind === 'never' || kind === 'hold');
  for (const [reason] of own) {
    const [first] = withHelp({ reason, actions: [] } as unknown as Why, session).actions;
    expect(first?.command).toMatch(/^berth /);
  }
});
