import type { Call } from "./call.ts";

/** A list that is read page by page while it is walked: `for await (const task of rebid.tasks.list())`. */
export interface List<Item, Page> extends AsyncIterable<Item> {
  /** Reads one page, as the service answers it: the first, or the one at the input's `cursor`. */
  page(): Call<Page>;
  /** Collects the first items of the list, at most `limit`; `Infinity` for all. */
  toArray(options: { limit: number }): Promise<Item[]>;
}

/** The largest page. */
const MAX_PAGE_SIZE = 100;

interface PageQuery {
  cursor?: string | undefined;
  limit?: number | undefined;
}

/** `readPage` reads the page of a query, and `read` returns what is in it. */
export function listOf<Item, Page, Query extends PageQuery>(
  query: Query,
  readPage: (query: Query) => Call<Page>,
  read: (page: Page) => { items: Item[]; nextCursor: string | null },
): List<Item, Page> {
  async function* walk(from: Query): AsyncGenerator<Item, void, undefined> {
    for (let cursor = from.cursor; ; ) {
      const { items, nextCursor } = read(await readPage({ ...from, cursor }));
      yield* items;
      if (nextCursor === null) return;
      cursor = nextCursor;
    }
  }
  return {
    [Symbol.asyncIterator]: () => walk(query),
    page: () => readPage(query),
    toArray: async ({ limit }) => {
      const collected: Item[] = [];
      if (!(limit >= 1)) return collected;
      const pageSize = query.limit ?? (limit < MAX_PAGE_SIZE ? Math.ceil(limit) : MAX_PAGE_SIZE);
      for await (const item of walk({ ...query, limit: pageSize })) {
        collected.push(item);
        if (collected.length >= limit) break;
      }
      return collected;
    },
  };
}
