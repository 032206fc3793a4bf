/** The next round number of cents, for the top of a chart. */
export function niceCeiling(cents: number): number {
  const power = 10 ** Math.floor(Math.log10(cents));
  return ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((factor) => factor * power >= cents) ?? 10) * power;
}
