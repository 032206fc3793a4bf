import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { feeOf, feeOfPayment } from "../../../server/market/fees/rules.ts";
import { MAX_BASIS_POINTS } from "../../../server/schemas/fee.ts";

const MAX_CENTS = 10_000_000;
const RUNS = 20_000;

const price = fc.oneof(fc.integer({ min: 1, max: MAX_CENTS }), fc.integer({ min: 1, max: 1_000 }));
const limit = fc.oneof(fc.integer({ min: 0, max: MAX_CENTS }), fc.integer({ min: 0, max: 500 }));
const terms = fc
  .record({
    basisPoints: fc.oneof(fc.integer({ min: 0, max: MAX_BASIS_POINTS }), fc.constantFrom(0, 1, 250, MAX_BASIS_POINTS)),
    limits: fc.tuple(limit, limit).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const),
    isCapped: fc.boolean(),
  })
  .map(({ basisPoints, limits: [minCents, max], isCapped }) => ({
    basisPoints,
    minCents,
    maxCents: isCapped ? max : null,
  }));

/** The rule in whole numbers of any size, as the contract says it. */
function feeBySentence(
  cents: number,
  { basisPoints, minCents, maxCents }: { basisPoints: number; minCents: number; maxCents: number | null },
) {
  let fee = (BigInt(cents) * BigInt(basisPoints)) / 10_000n;
  if (fee < BigInt(minCents)) fee = BigInt(minCents);
  if (maxCents !== null && fee > BigInt(maxCents)) fee = BigInt(maxCents);
  if (fee > BigInt(cents)) fee = BigInt(cents);
  return Number(fee);
}

test("net and fee are the price, neither is negative, and the fee is what the contract says, for every price and schedule", () => {
  fc.assert(
    fc.property(price, terms, (cents, schedule) => {
      const fee = feeOf(cents, schedule);
      const net = cents - fee;
      expect(net + fee).toBe(cents);
      expect(Number.isSafeInteger(fee) && fee >= 0 && net >= 0).toBe(true);
      expect(fee).toBe(feeBySentence(cents, schedule));
    }),
    { numRuns: RUNS },
  );
});

test("a part of a price never has more than the same rule takes of it, and a moderator's split has no minimum", () => {
  fc.assert(
    fc.property(price, price, terms, (a, b, schedule) => {
      const [paidCents, priceCents] = [Math.min(a, b), Math.max(a, b)];
      const frozen = { ...schedule, feeCents: feeOf(priceCents, schedule) };
      const payment = { paidCents, priceCents };
      const agreed = feeOfPayment(payment, "agreed", frozen);
      const decided = feeOfPayment(payment, "decided", frozen);
      const whole = paidCents === priceCents;
      expect(agreed).toBe(whole ? frozen.feeCents : feeBySentence(paidCents, schedule));
      expect(decided).toBe(whole ? frozen.feeCents : feeBySentence(paidCents, { ...schedule, minCents: 0 }));
      expect(decided).toBeLessThanOrEqual(agreed);
      expect(agreed).toBeLessThanOrEqual(paidCents);
      expect(feeOfPayment(payment, "agreed", null)).toBe(0);
    }),
    { numRuns: RUNS },
  );
});

describe("by hand", () => {
  test.each([
    [10_000, { basisPoints: 500, minCents: 0, maxCents: null }, 500],
    [199, { basisPoints: 500, minCents: 0, maxCents: null }, 9],
    [199, { basisPoints: 500, minCents: 50, maxCents: null }, 50],
    [20, { basisPoints: 500, minCents: 50, maxCents: null }, 20],
    [10_000_000, { basisPoints: 5_000, minCents: 0, maxCents: 20_000 }, 20_000],
    [1, { basisPoints: 5_000, minCents: 0, maxCents: 0 }, 0],
  ])("of %i by %j it is %i", (cents, schedule, fee) => expect(feeOf(cents, schedule)).toBe(fee));
});
