import { z } from "zod";
import { book } from "../model/books.ts";
import {
  bankAccounts,
  type Choice,
  callFaults,
  checkoutOutcomes,
  eventFaults,
  onboardingOutcomes,
  payoutAmounts,
} from "../model/choices.ts";
import { queueDelivery } from "../model/events.ts";
import { clearFaults, listFaults, setFault } from "../model/faults.ts";
import { Refusal } from "../model/refusal.ts";
import type { World } from "../model/world.ts";
import { setCapabilities } from "../resources/accounts.ts";
import { expireSession, paySession } from "../resources/checkout.ts";
import { closeDispute, openDispute } from "../resources/disputes.ts";
import { onboard } from "../resources/onboarding.ts";
import { changePayout } from "../resources/payouts.ts";
import { failRefund, refund } from "../resources/refunds.ts";

interface TestCall {
  method: string;
  path: string;
  description: string;
  run(world: World, id: string, body: unknown): unknown;
}

const nothing = z.strictObject({});

/** What a script can do without a browser. All bodies are JSON; `:id` is the id of the object in the path. */
export const testCalls: TestCall[] = [
  testCall("GET /test", "All calls and names, as on the start page.", nothing, () => ({
    calls: testCalls.map(({ method, path, description }) => ({ method, path, description })),
    checkoutOutcomes,
    onboardingOutcomes,
    bankAccounts,
    payoutAmounts,
    callFaults,
    eventFaults,
  })),
  testCall(
    "POST /test/checkout/:id/pay",
    "Pays a session; outcome is one of the checkout outcomes.",
    z.strictObject({ outcome: nameOf(checkoutOutcomes).default("pays") }),
    (world, id, { outcome }) => {
      const successUrl = paySession(world, id, outcome);
      return { session: world.store.get("checkout.session", id), declined: successUrl === null, successUrl };
    },
  ),
  testCall("POST /test/checkout/:id/expire", "Expires an open session now.", nothing, (world, id) => ({
    session: expireSession(world, id),
  })),
  testCall(
    "POST /test/charges/:id/refund",
    "Refunds a charge in full, or amountCents of it. The id may be a session's or a payment intent's.",
    z.strictObject({ amountCents: z.int().positive().optional() }),
    (world, id, { amountCents }) => ({ refund: refund(world, chargeOf(world, id), amountCents) }),
  ),
  testCall("POST /test/refunds/:id/fail", "A refund that the bank sends back.", nothing, (world, id) => ({
    refund: failRefund(world, id),
  })),
  testCall(
    "POST /test/charges/:id/dispute",
    "Disputes a charge. The id may be a session's or a payment intent's.",
    nothing,
    (world, id) => ({ dispute: openDispute(world, chargeOf(world, id)) }),
  ),
  testCall(
    "POST /test/disputes/:id/close",
    "Closes a dispute; outcome is won or lost.",
    z.strictObject({ outcome: z.enum(["won", "lost"]) }),
    (world, id, { outcome }) => ({ dispute: closeDispute(world, id, outcome) }),
  ),
  testCall(
    "POST /test/accounts/:id/onboard",
    "Onboards a connected account; outcome and bank as on the onboarding page.",
    z.strictObject({
      outcome: nameOf(onboardingOutcomes).default("finishes"),
      bank: nameOf(bankAccounts).default("pays"),
    }),
    (world, id, { outcome, bank }) => {
      onboard(world, id, outcome, bank);
      return { account: world.store.get("v2.core.account", id) };
    },
  ),
  testCall(
    "POST /test/accounts/:id/capabilities",
    "Gives or takes an account's capabilities; status is active, pending, restricted or rejected.",
    z.strictObject({ status: z.enum(["active", "pending", "restricted", "rejected"]) }),
    (world, id, { status }) => ({ account: setCapabilities(world, id, status) }),
  ),
  testCall("POST /test/payouts/:id/leave", "Sends a pending payout on its way.", nothing, (world, id) => ({
    payout: changePayout(world, id, "in_transit"),
  })),
  testCall("POST /test/payouts/:id/pay", "Lets a payout arrive.", nothing, (world, id) => ({
    payout: changePayout(world, id, "paid"),
  })),
  testCall("POST /test/payouts/:id/fail", "Lets a payout fail, also one that was paid.", nothing, (world, id) => ({
    payout: changePayout(world, id, "failed"),
  })),
  testCall("POST /test/payouts/:id/cancel", "Cancels a pending payout.", nothing, (world, id) => ({
    payout: changePayout(world, id, "canceled"),
  })),
  testCall(
    "POST /test/balance",
    "Adds amountCents (negative to take) to the platform's balance.",
    z.strictObject({
      amountCents: z.int(),
      currency: z
        .string()
        .regex(/^[a-z]{3}$/)
        .default("usd"),
    }),
    (world, _id, { amountCents, currency }) => ({
      balanceTransaction: book(world, { type: "topup", amountCents, currency, source: null }),
    }),
  ),
  testCall("GET /test/events", "How many events were delivered, and the pending ones.", nothing, (world) => ({
    delivered: world.store.rows("select count(*) as count from deliveries where delivered_ms is not null")[0]?.count,
    pending: world.store.rows("select event_id, attempts, next_attempt_ms from deliveries where delivered_ms is null"),
  })),
  testCall("POST /test/events/:id/resend", "Sends an event once more.", nothing, (world, id) => {
    if (world.store.findAny(id) === undefined) throw new Refusal(404, { message: `No such event: ${id}` });
    queueDelivery(world, id);
    return { eventId: id };
  }),
  testCall("GET /test/faults", "All faults, and how often each really hit.", nothing, (world) => ({
    faults: listFaults(world),
  })),
  testCall(
    "POST /test/faults",
    "Sets a fault for the next N or a random share (0 to 1); call limits it to calls that start so.",
    z.strictObject({
      name: nameOf([...callFaults, ...eventFaults]),
      next: z.int().min(0).default(0),
      share: z.number().min(0).max(1).default(0),
      call: z.string().optional(),
    }),
    (world, _id, { call, ...fault }) => {
      setFault(world, call === undefined ? fault : { ...fault, call });
      return { faults: listFaults(world) };
    },
  ),
  testCall("DELETE /test/faults", "Ends all faults; the counts stay.", nothing, (world) => {
    clearFaults(world);
    return { faults: listFaults(world) };
  }),
];

function testCall<Body extends z.ZodType>(
  name: string,
  description: string,
  body: Body,
  run: (world: World, id: string, body: z.infer<Body>) => unknown,
): TestCall {
  const [method = "", path = ""] = name.split(" ");
  return {
    method,
    path,
    description,
    run(world, id, raw) {
      const checked = body.safeParse(raw);
      if (!checked.success) throw new Refusal(400, { message: z.prettifyError(checked.error) });
      return world.store.transaction(() => run(world, id, checked.data));
    },
  };
}

function nameOf<const Name extends string>(table: readonly (Choice & { name: Name })[]) {
  return z.enum(table.map(({ name }) => name));
}

/** Answers a call of this API, with a JSON body. */
export function answerTestCall(world: World, method: string, path: string, body: Buffer): unknown {
  return runTestCall(world, `${method} ${path}`, parseBody(body));
}

/** Runs a call by its method and path, such as `POST /test/payouts/po_1/fail`. */
export function runTestCall(world: World, request: string, body: unknown): unknown {
  const found = findTestCall(request);
  if (found === null) throw new Refusal(404, { message: `There is no ${request}; GET /test lists the calls.` });
  return found.call.run(world, found.id, body);
}

/** The call that a method and a path name, with the id in the path. */
export function findTestCall(request: string): { call: TestCall; id: string } | null {
  const [, , , id = ""] = request.split("/");
  const call = testCalls.find(({ method, path }) => `${method} ${path.replace(":id", () => id)}` === request);
  return call === undefined ? null : { call, id };
}

function parseBody(body: Buffer): unknown {
  try {
    return body.length === 0 ? {} : JSON.parse(body.toString("utf8"));
  } catch {
    throw new Refusal(400, { message: "The body is not valid JSON." });
  }
}

/** Follows a session or a payment intent to its charge. */
function chargeOf(world: World, id: string): string {
  const intentId = world.store.find("checkout.session", id)?.payment_intent ?? id;
  const intent = world.store.find("payment_intent", String(intentId));
  return String(intent?.latest_charge ?? id);
}
