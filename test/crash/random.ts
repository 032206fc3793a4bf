/** Random choices that a seed repeats: mulberry32, which is small and random enough for this. */
export function randomFrom(seed: number) {
  let state = seed >>> 0;
  /** 0 up to, and not including, 1. */
  const share = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  /** Both ends included. */
  const integer = (from: number, to: number): number => from + Math.floor(share() * (to - from + 1));
  return {
    integer,
    chance: (probability: number): boolean => share() < probability,
    pick<Item>(items: readonly Item[]): Item {
      const item = items[integer(0, items.length - 1)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
    shuffle<Item>(items: readonly Item[]): Item[] {
      return items
        .map((item) => ({ item, order: share() }))
        .sort((one, other) => one.order - other.order)
        .map(({ item }) => item);
    },
  };
}

export type Random = ReturnType<typeof randomFrom>;
