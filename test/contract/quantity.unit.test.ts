import { expect, test } from 'vitest';
import { parseQuantity } from '../../src/contract/quantity.js';

test.each<[string, number]>([
  ['30Gi', 30 * 2 ** 30],
  ['1.5Gi', 1.5 * 2 ** 30],
  ['512Mi', 512 * 2 ** 20],
  ['1G', 1e9],
  ['1048576', 2 ** 20],
  ['1.0000001Mi', 2 ** 20 + 1],
  ['95.1Gi', Math.ceil(95.1 * 2 ** 30)],
  ['1Pi', 2 ** 50],
])('%s is %d bytes: a part of a byte is rounded up', (text, bytes) => {
  expect(parseQuantity(text)).toEqual({ bytes });
});

test.each<[string, RegExp]>([
  ['0', /above 0/],
  ['-1Gi', /above 0/],
  ['0.5', /whole bytes below 1Mi/],
  ['1.1Ki', /whole bytes below 1Mi/],
  ['1.1Pi', /not be above 1Pi/],
  ['999999999999999999999Gi', /not be above 1Pi/],
  ['thirty', /such as 30Gi/],
  ['', /such as 30Gi/],
])('%j is refused', (text, message) => {
  expect(parseQuantity(text)).toEqual({ problem: expect.stringMatching(message) });
});
