/**
 * An agent that may spend a little alone: it posts a task, is refused because that is more than it may hold, waits until a
 * person has answered, and goes on. Needs a key with `task:write` and `approval: { aboveCents }`.
 *
 *     REBID_URL=http://localhost:3000 REBID_API_KEY=rb_live_… node --conditions=@rebid/source client-sdk/examples/asking.ts
 */
import { Rebid, RebidError } from "@rebid/sdk";

const { REBID_URL = "http://localhost:3000", REBID_API_KEY, BUDGET_CENTS = "5000", ORDER = "order-1" } = process.env;
const rebid = new Rebid({ baseUrl: REBID_URL, apiKey: REBID_API_KEY });

const input = {
  title: "Proofread a chapter",
  description: "Ten pages of English prose.",
  maxBudgetCents: Number(BUDGET_CENTS),
  tags: ["proofreading"],
};
// One key for the order, so that the answer is there after the person's, and after a restart of this program.
const post = () => rebid.tasks.create(input, { idempotencyKey: ORDER });

/** Does it, or waits for the person who decides. */
async function postOrAsk() {
  try {
    return await post();
  } catch (error) {
    if (error instanceof RebidError && error.approval?.url) console.log(`waiting: ${error.approval.url}`);
    const { status, reason } = await rebid.approvals.wait(error);
    if (status !== "approved") throw new Error(`${status}: ${reason ?? "nobody approved it"}`);
    return post();
  }
}

const { task } = await postOrAsk();
console.log(`posted ${task.id}`);
