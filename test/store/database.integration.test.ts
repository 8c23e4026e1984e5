import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database.js';
import { sql } from '../../src/store/sql.js';
import { createDatabase } from '../support/postgres.js';

let db: Database;
beforeAll(async () => {
  db = openDatabase({ connectionString: await createDatabase() });
  await db.run(
    sql`CREATE TABLE counters (id int PRIMARY KEY, value bigint NOT NULL, at timestamptz NOT NULL DEFAULT now())`,
  );
  await db.run(sql`INSERT INTO counters (id, value) VALUES (1, 0), (2, 0)`);
});
afterAll(() => db.pool.end());

test('two transactions that lock in opposite order both end: the loser of the deadlock runs again', async () => {
  const raise = (first: number, second: number) =>
    db.transaction(async (tx) => {
      await tx.run(sql`UPDATE counters SET value = value + 1 WHERE id = ${first}`);
      await tx.run(sql`SELECT pg_sleep(0.1)`);
      await tx.run(sql`UPDATE counters SET value = value + 1 WHERE id = ${second}`);
    });
  await Promise.all([raise(1, 2), raise(2, 1)]);
  expect(await db.rows(sql`SELECT value FROM counters ORDER BY id`)).toEqual([{ value: 2 }, { value: 2 }]);
});

test('what fails in the middle leaves nothing, and the connection is used again', async () => {
  const failing = db.transaction(async (tx) => {
    await tx.run(sql`UPDATE counters SET value = 99`);
    throw new Error('given up');
  });
  await expect(failing).rejects.toThrow('given up');
  expect(await db.first(sql`SELECT max(value) AS value FROM counters`)).toEqual({ value: 2 });
});

test('amounts come as exact numbers, sums too, and times as RFC 3339 in UTC', async () => {
  const row = await db.first<{ big: number; sum: number; at: string }>(
    sql`SELECT 9007199254740991::bigint AS big, sum(value) AS sum, '2026-11-30T14:20:00.5+01'::timestamptz AS at FROM counters`,
  );
  expect(row).toEqual({ big: Number.MAX_SAFE_INTEGER, sum: 4, at: '2026-11-30T13:20:00.500Z' });
});
