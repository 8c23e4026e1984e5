import { expect, test } from 'vitest';
import { raisable } from '../../src/lifecycle/raisable.js';

const write = (instanceId: string, toBytes: number, ...gpus: string[]) => ({ instanceId, toBytes, gpus });
const member = {
  lower: [write('a', 10, 'g0'), write('b', 10, 'g1')],
  raise: [write('c', 5, 'g0'), write('d', 5, 'g1'), write('e', 5, 'g0', 'g1'), write('f', 5, 'g2')],
};
const result = (instanceId: string, limitBytes: number | null, kvUsedBytes: number | null = 0) => ({
  instanceId,
  limitBytes,
  kvUsedBytes,
});

test.each([
  ['all lowers are in force: everything rises', [result('a', 10, 10), result('b', 10)], ['c', 'd', 'e', 'f']],
  ['one uses more than its limit: nothing rises on its GPU', [result('a', 10, 11), result('b', 10)], ['d', 'f']],
  ['one has another limit than asked', [result('a', 10), result('b', 9)], ['c', 'f']],
  ['one cannot be read', [result('a', null), result('b', 10)], ['d', 'f']],
  ['what one uses cannot be read', [result('a', 10, null), result('b', 10)], ['d', 'f']],
  ['one is not answered for', [result('b', 10)], ['d', 'f']],
  ['the node did not answer', 'unreachable', ['f']],
] as const)('%s', (_, lowered, rises) => {
  expect(raisable(member, lowered).map(({ instanceId }) => instanceId)).toEqual(rises);
});
