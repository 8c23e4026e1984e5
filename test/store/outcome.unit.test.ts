import { expect, test } from 'vitest';
import type { EndCause } from '../../src/contract/index.js';
import { outcomeOf } from '../../src/store/sessions/outcome.js';

const cases: readonly [cause: EndCause, ran: string, neverRan: string][] = [
  ['completed', 'TERMINATED success', 'TERMINATED success'],
  ['user-failure', 'TERMINATED failure', 'ERROR failure'],
  ['out-of-memory', 'TERMINATED failure', 'ERROR failure'],
  ['max-runtime', 'TERMINATED failure', 'ERROR failure'],
  ['health-check', 'TERMINATED failure', 'ERROR failure'],
  ['bad-image', 'TERMINATED failure', 'ERROR failure'],
  ['user-stop', 'TERMINATED stopped', 'CANCELLED cancelled'],
  ['operator-stop', 'TERMINATED stopped', 'CANCELLED cancelled'],
  ['node-lost', 'ERROR platform-failure', 'ERROR platform-failure'],
  ['engine-failed', 'ERROR platform-failure', 'ERROR platform-failure'],
  ['pull-failed', 'ERROR platform-failure', 'ERROR platform-failure'],
  ['device-unavailable', 'ERROR platform-failure', 'ERROR platform-failure'],
  ['port-taken', 'ERROR platform-failure', 'ERROR platform-failure'],
  ['folder-refused', 'ERROR platform-failure', 'ERROR platform-failure'],
  ['start-deadline', 'ERROR platform-failure', 'ERROR platform-failure'],
  ['workflow-lost', 'ERROR platform-failure', 'ERROR platform-failure'],
];
test.each(cases)('%s after it ran: %s; before: %s', (cause, ran, neverRan) => {
  const text = ({ state, result }: ReturnType<typeof outcomeOf>) => `${state} ${result}`;
  expect([text(outcomeOf(cause, true)), text(outcomeOf(cause, false))]).toEqual([ran, neverRan]);
});
