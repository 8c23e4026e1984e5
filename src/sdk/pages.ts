import type { Page } from '../contract/index.js';

/** Reads one page; `cursor` is undefined for the first. */
export type ReadPage<Item> = (cursor: string | undefined) => Promise<Page<Item>>;

/** A list: iterate over all its items, or await `page()` for one page. */
export interface List<Item> extends AsyncIterable<Item> {
  readonly page: (cursor?: string) => Promise<Page<Item>>;
  /** Every item; `max` bounds how many. */
  readonly toArray: (max?: number) => Promise<readonly Item[]>;
}

/** The query of the page at `cursor`. */
export const cursorIn = (cursor: string | undefined): { readonly cursor?: string } =>
  cursor === undefined ? {} : { cursor };

export function listOf<Item>(read: ReadPage<Item>): List<Item> {
  return {
    page: (cursor) => read(cursor),
    toArray: async (max = Number.POSITIVE_INFINITY) => {
      const items: Item[] = [];
      for await (const item of itemsOf(read)) {
        if (items.length >= max) break;
        items.push(item);
      }
      return items;
    },
    [Symbol.asyncIterator]: () => itemsOf(read),
  };
}

async function* itemsOf<Item>(read: ReadPage<Item>): AsyncGenerator<Item, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    yield* page.items;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
