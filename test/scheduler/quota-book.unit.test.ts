import { expect, test } from 'vitest';
import { demandOf } from '../../src/scheduler/demand.js';
import {
  amountsOf,
  charge,
  learnQuotas,
  quotaBlockers,
  quotaBook,
  quotaMessage,
  quotaReason,
  quotaViolations,
} from '../../src/scheduler/quota-book.js';
import { GIB, quota, session, slots } from './build.js';

const owner = session(1);
const asks = (cpu: number, gib: number, gpus = 0) =>
  amountsOf(demandOf(session(1, { kernels: [slots(cpu, gib, gpus)] })));

test('all violated scopes and slots are told together, user before project before domain', () => {
  const book = quotaBook([
    quota('domain', { sessions: 1 }, { sessions: 1 }),
    quota('project', { gpuCount: 2, memoryBytes: 8 * GIB }, { gpuCount: 2, memoryBytes: 8 * GIB }),
    quota('user', { cpuMilli: 4000 }, { cpuMilli: 3500 }),
  ]);
  const violations = quotaViolations(book, owner, asks(1, 2, 1));
  expect(
    violations.map(({ scope, slot, held, requested, limit, overBy }) => [scope, slot, held, requested, limit, overBy]),
  ).toEqual([
    ['user', 'cpuMilli', 3500, 1000, 4000, 500],
    ['project', 'gpuCount', 2, 1, 2, 1],
    ['project', 'memoryBytes', 8 * GIB, 2 * GIB, 8 * GIB, 2 * GIB],
    ['domain', 'sessions', 1, 1, 1, 1],
  ]);
  expect(quotaReason(violations)).toBe('user_quota');
  expect(quotaMessage(violations.slice(0, 3))).toBe(
    'quota of user alice: CPU held 3.5 + 1 > 4, over by 0.5 CPU; ' +
      'quota of project vision: GPU held 2 + 1 > 2, over by 1 GPU; ' +
      'quota of project vision: memory held 8 GiB + 2 GiB > 8 GiB, over by 2 GiB of memory',
  );
  expect(quotaBlockers(violations)[1]).toEqual({
    kind: 'quota',
    scope: 'project',
    name: 'vision',
    resource: 'gpuCount',
    need: 1,
    used: 2,
    limit: 2,
  });
});

test.each([
  ['exactly the limit fits', quota('user', { gpuCount: 2 }, { gpuCount: 1 }), asks(1, 1, 1), 0],
  [
    'a limit lowered under present use does not stop who asks none of it',
    quota('user', { gpuCount: 1 }, { gpuCount: 4 }),
    asks(1, 1),
    0,
  ],
  ['… but who asks one', quota('user', { gpuCount: 1 }, { gpuCount: 4 }), asks(1, 1, 1), 1],
  ['a limit of 0 stops who asks any', quota('user', { gpuCount: 0 }), asks(1, 1, 1), 1],
  ['a slot without a limit is not bound', quota('user', {}), asks(10_000, 10_000, 1000), 0],
  ['the quota of somebody else does not matter', quota('user', { sessions: 0 }, {}, 'usr_bob'), asks(1, 1), 0],
  ['pending sessions are counted at admission, not here', quota('user', { pendingSessions: 0 }), asks(1, 1), 0],
] as const)('%s', (_title, given, requested, count) => {
  expect(quotaViolations(quotaBook([given]), owner, requested)).toHaveLength(count);
});

test('what is placed is charged to each of its owner, and a later page does not reset it', () => {
  const given = quota('user', { sessions: 1 });
  const book = quotaBook([given]);
  charge(book, owner, asks(1, 1));
  learnQuotas(book, [given, quota('project', { sessions: 0 })]);
  expect(quotaViolations(book, owner, asks(1, 1)).map(({ scope, held }) => [scope, held])).toEqual([
    ['user', 1],
    ['project', 0],
  ]);
  expect(given.held.sessions).toBe(0);
});

test('no violation, no reason', () => expect(quotaReason([])).toBeNull());
