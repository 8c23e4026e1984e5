import { expect, test } from 'vitest';
import { skippedReason } from '../../src/scheduler/skipped-reason.js';
import { session, sessionId } from './build.js';

const alice = session(2, { name: 'alice-training' });
const blocked = { blockedBy: alice.id, waiting: [{ sessionId: alice.id, message: 'needs 4 CPU; 2 more needed' }] };

test('names who blocks, and what that one waits for', () => {
  expect(skippedReason(blocked, session(3), alice)).toEqual({
    reason: 'behind_in_queue',
    message: `skipped: behind alice-training (${alice.id}) in the queue, which needs 4 CPU; 2 more needed`,
    blockers: [
      { kind: 'session', scope: 'session', name: alice.id, resource: null, need: null, used: null, limit: null },
    ],
  });
});

test('without its row, its id stands for its name', () => {
  expect(skippedReason({ ...blocked, waiting: [] }, session(3))?.message).toBe(
    `skipped: behind ${alice.id} in the queue`,
  );
});

test.each([
  ['the one that blocks', alice, blocked],
  ['one ahead of it', session(1), blocked],
  ['one that arrived later with a higher priority', session(9, { priority: 90 }), blocked],
  [
    'one that waits for its own reason',
    session(3),
    { ...blocked, waiting: [{ sessionId: sessionId(3), message: '' }] },
  ],
  ['one that was placed', session(3), { ...blocked, placed: [{ sessionId: sessionId(3) }] }],
  ['anyone when nobody blocks', session(3), { ...blocked, blockedBy: null }],
])('%s is not skipped', (_title, given, queue) => {
  expect(skippedReason(queue, given, alice)).toBeNull();
});
