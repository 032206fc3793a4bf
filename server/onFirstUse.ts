/**
 * Makes the methods of a part of the service that is loaded by the first call of one of them. It is for parts with large
 * packages, which together would take half of the time that a start needs for modules, and which no start uses.
 * @param load imports the part and opens it
 */
export function onFirstUse<Part>(load: () => Promise<Part>) {
  let loading: Promise<Part> | undefined;
  const loaded = () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined; // The next call tries again.
      throw error;
    });
    return loading;
  };
  return {
    method:
      <Input extends unknown[], Output>(of: (part: Part) => (...input: Input) => Output | Promise<Output>) =>
      async (...input: Input): Promise<Output> =>
        of(await loaded())(...input),
    list: <Input extends unknown[], Item>(of: (part: Part) => (...input: Input) => AsyncIterable<Item>) =>
      async function* (...input: Input): AsyncGenerator<Item> {
        yield* of(await loaded())(...input);
      },
    /** Closes the part if it has been loaded. */
    async close(end: (part: Part) => void | Promise<void>): Promise<void> {
      if (loading !== undefined) await end(await loading);
    },
  };
}
