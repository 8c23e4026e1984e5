import { expect, test } from 'vitest';
import { allOf, compile, sql } from '../../src/store/sql.js';

test('values become parameters, nested statements are spliced with their own', () => {
  const inner = sql`b = ${2} OR c = ${'x; DROP TABLE t'}`;
  expect(compile(sql`SELECT ${1} WHERE ${inner} AND d = ${null}`)).toEqual({
    text: 'SELECT $1 WHERE b = $2 OR c = $3 AND d = $4',
    values: [1, 2, 'x; DROP TABLE t', null],
  });
});
test('no condition is true, several all hold', () => {
  expect(compile(allOf([])).text).toBe('true');
  expect(compile(allOf([sql`a`, sql`b = ${1}`])).text).toBe('true AND a AND b = $1');
});
