import { expect, test } from 'vitest';
import type { QuotaLimits } from '../../src/contract/quota.js';
import { quotaNever } from '../../src/scheduler/quota-never.js';
import { quota, session, slots } from './build.js';

const asked = session(1, { kernels: [slots(2, 4, 1), slots(2, 4, 1)] });

const cases: [title: string, limits: QuotaLimits, want: [string, number][]][] = [
  ['a limit equal to the request is enough', { gpuCount: 2, cpuMilli: 4000 }, []],
  [
    'each limit below the request is told',
    { gpuCount: 1, cpuMilli: 3999 },
    [
      ['gpuCount', 1],
      ['cpuMilli', 1],
    ],
  ],
  ['no session at all', { sessions: 0 }, [['sessions', 1]]],
  ['no waiting session at all', { pendingSessions: 0 }, [['pendingSessions', 1]]],
  ['a slot that is not asked cannot be too small', { gpuMemoryBytes: 0 }, []],
];
test.each(cases)('%s', (_title, limits, want) => {
  const found = quotaNever(asked, [quota('project', limits, { gpuCount: 100 })]);
  expect(found.map(({ slot, overBy }) => [slot, overBy])).toEqual(want);
  expect(found.every(({ held, scope, name }) => held === 0 && scope === 'project' && name === 'vision')).toBe(true);
});
