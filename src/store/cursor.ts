import type { Page, PageQuery } from '../contract/index.js';
import { type Sql, sql } from './sql.js';

/** What a page ended with: a time and an id, or other values that order the list. */
export const encodeCursor = (key: readonly string[]): string => Buffer.from(JSON.stringify(key)).toString('base64url');

/** Null for a cursor that is none of ours: the list then starts at its beginning. */
export function decodeCursor(cursor: string | undefined, parts: number): readonly string[] | null {
  if (cursor === undefined) return null;
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    const isKey = Array.isArray(key) && key.length === parts && key.every((part) => typeof part === 'string');
    return isKey && !Number.isNaN(Date.parse(String(key[0]))) ? key : null;
  } catch {
    return null;
  }
}

/** The condition that continues after the cursor, on (created, id); `created` and `id` are column names of ours. */
export function afterCursor(
  query: PageQuery,
  order: { readonly created: Sql; readonly id: Sql; readonly newestFirst: boolean },
): Sql {
  const key = decodeCursor(query.cursor, 2);
  if (key === null) return sql`true`;
  const [created, id] = key;
  return order.newestFirst
    ? sql`(${order.created}, ${order.id}) < (${created}::timestamptz, ${id}::text)`
    : sql`(${order.created}, ${order.id}) > (${created}::timestamptz, ${id}::text)`;
}

/** Rows were read with one more than asked: that one says whether there is a next page. */
export function pageOfRows<Row, Item>(
  rows: readonly Row[],
  query: PageQuery,
  { item, key }: { readonly item: (row: Row) => Item; readonly key: (row: Row) => readonly string[] },
): Page<Item> {
  const shown = rows.slice(0, query.limit);
  const last = shown.at(-1);
  const nextCursor = rows.length > query.limit && last !== undefined ? encodeCursor(key(last)) : null;
  return { items: shown.map(item), nextCursor };
}
