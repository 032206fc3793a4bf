import { describe, expect, test } from "vitest";
import {
  ageOfKey,
  factOfPayoutStatus,
  firstStepDelaySeconds,
  nextPayoutState,
  type PayoutFact,
  type PayoutState,
  payoutStates,
  pollDelaySeconds,
  retryDelaySeconds,
} from "../../../server/market/payouts/rules.ts";

const states = Object.keys(payoutStates) as PayoutState[];
const facts: PayoutFact[] = [
  "transferMade",
  "transferUnfunded",
  "transferRefused",
  "transferReversed",
  "payoutUnfunded",
  "payoutSent",
  "payoutPaid",
  "payoutRefused",
  "payoutFailed",
];
const pairs = states.flatMap((state) => facts.map((fact) => [state, fact] as const));

describe("the state machine of a payout", () => {
  test.each(pairs)("in %s, the fact %s has the same effect twice as once", (state, fact) => {
    const once = nextPayoutState(state, fact);
    expect(nextPayoutState(once, fact)).toBe(once);
  });

  test.each(facts)("nothing leads out of failed: %s", (fact) => {
    expect(nextPayoutState("failed", fact)).toBe("failed");
  });

  test("money that has left is never credited before it is back", () => {
    const credited = pairs.filter(([state, fact]) => state !== "failed" && nextPayoutState(state, fact) === "failed");
    for (const [state, fact] of credited) {
      if (fact !== "transferReversed")
        expect([fact, payoutStates[state].step]).toEqual(["transferRefused", "transfer"]);
    }
  });

  test("a paid payout is undone only by a failure or a reversal", () => {
    for (const fact of facts) {
      const undoes = fact === "payoutFailed" || fact === "transferReversed";
      expect(nextPayoutState("paid", fact) === "paid").toBe(!undoes);
    }
  });

  test("each state except failed has a next step, with a delay", () => {
    for (const state of states) expect(firstStepDelaySeconds(state, 300) === null).toBe(state === "failed");
  });
});

test("a status of the processor that this code does not know counts as in transit", () => {
  expect(["pending", "in_transit", "unheard_of"].map(factOfPayoutStatus)).toEqual([
    "payoutSent",
    "payoutSent",
    "payoutSent",
  ]);
  expect(["failed", "canceled"].map(factOfPayoutStatus)).toEqual(["payoutFailed", "payoutFailed"]);
});

test("nothing that hangs waits longer than the polling interval", () => {
  for (let attempts = 1; attempts < 100; attempts++) expect(retryDelaySeconds(attempts, 300)).toBeLessThanOrEqual(150);
  expect(pollDelaySeconds("sent", 0, 300)).toBe(150);
  expect(pollDelaySeconds("paid", 86_400, 300)).toBe(8_640);
  expect(pollDelaySeconds("paid", 15 * 86_400, 300)).toBeNull();
});

test("a key is not used again in the hours before Stripe forgets it", () => {
  const made = new Date("2026-11-20T00:00:00Z");
  const hoursLater = (hours: number) => new Date(made.getTime() + hours * 3_600_000);
  expect([0, 21.9, 22, 24, 24.9, 25, 100].map((hours) => ageOfKey(made, hoursLater(hours)))).toEqual([
    "fresh",
    "fresh",
    "stale",
    "stale",
    "stale",
    "expired",
    "expired",
  ]);
});
