import { expect, test } from "vitest";
import { type ErrorCode, errorCatalogue } from "../../server/errors.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { callOverRest, callOverRpc, routes } from "../setup/operations.ts";
import { useService } from "../setup/testService.ts";
import { normalised, playLifecycle } from "./run.ts";

const service = useService();

test("the lifecycle of a task gets the same responses, field by field, over REST and over typed RPC", async () => {
  const overRest = await playLifecycle(service, callOverRest, "rest-run");
  const overRpc = await playLifecycle(service, callOverRpc, "rpc-run");

  expect(normalised(overRpc, "rpc-run")).toEqual(normalised(overRest, "rest-run"));
  for (const { status, body, route } of [...overRest, ...overRpc]) {
    if (status < 400) {
      expect(status).toBe(route.status);
    } else {
      const code: ErrorCode = body.error;
      expectErrorBody(body, code);
      expect(status).toBe(errorCatalogue[code].status);
    }
  }
  const answerOf = (name: string) => overRest.find((step) => step.name === name)?.body;
  expect(answerOf("bidder").user).toMatchObject({ email: "bidder@rest-run.example", displayName: "Linus 🐧" });
  expect(answerOf("task").task.tags).toEqual(["Translation", "finnish"]);
  expect(answerOf("buyersWallet")).toEqual({ availableCents: 25_000 - 8_500, heldCents: 0 });
  expect(answerOf("biddersWallet")).toEqual({ availableCents: 8_500, heldCents: 0 });
  expect(answerOf("sampleTooLarge").violations).toEqual([
    { field: "bytes", limit: 10_000_000, actual: 10_000_001 },
    { field: "width", limit: 8_192, actual: 9_000 },
    { field: "height", limit: 8_192, actual: 9_000 },
  ]);
});

/** What takes a fault, a race, a setting or many uploads: other tests provoke it. */
const provokedElsewhere = [
  ...["create", "update", "award", "accept"].flatMap((name) =>
    ["approval_declined", "approval_required", "limit_reached"].map((code) => `tasks.${name}: ${code}`),
  ),
  "auth.login: second_factor_required",
  "keys.create: limit_reached",
  "tasks.update: checks_locked_by_bids",
  "tasks.create: spam_guard",
  "tasks.create: spend_limit",
  "tasks.update: spend_limit",
  "tasks.award: bid_changed",
  "tasks.award: ledger_failed",
  "wallet.topup: not_needed",
  "wallet.topup: processor_unavailable",
  "bids.sampleFinalize: sample_too_large",
];

test("the lifecycle calls every operation that belongs to it, and provokes every error that these declare", async () => {
  const played = await playLifecycle(service, callOverRest, "whole-run");
  // Disputes, ratings, payouts, statements, checks of a delivery, webhooks, the second factor, giving back, and leaving have tests of their own.
  const belongs =
    /^auth\.(signup|login|me|logout)$|^keys\.|^wallet\.(?!statements)|^bids\.(?!giveBack|deliveryPreflight)|^tasks\.(list|create|read|update|cancel|award|accept)$/;
  const missed = routes
    .filter(({ procedurePath }) => belongs.test(procedurePath))
    .flatMap((route) => {
      const steps = played.filter((step) => step.route === route);
      const wanted = ["success", ...(route.meta.errors ?? [])];
      const got = new Set(steps.map(({ status, body }) => (status < 400 ? "success" : body.error)));
      return wanted.filter((outcome) => !got.has(outcome)).map((outcome) => `${route.procedurePath}: ${outcome}`);
    });
  expect(missed.sort()).toEqual(provokedElsewhere.sort());
});
