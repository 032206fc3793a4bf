import { RebidError } from "./errors.ts";
import { ApprovalsApi } from "./generated/namespaces.ts";
import type { Approval, EventPage, ReadApprovalResponse } from "./generated/types.ts";
import type { RequestOptions } from "./options.ts";

/** How long one request waits for an event, in seconds. The approval is read again after it, whether there was one or not. */
const WAIT_SECONDS = 25;

/** The procedures of approvals, and a way to wait for a person's answer. */
export class Approvals extends ApprovalsApi {
  /**
   * Waits until a person has answered, and returns the approval: `approved` with its `result`, `declined` with a `reason`,
   * `failed` with an `error`, or over for another reason. Takes the error with which a request was refused, or an approval's
   * id. Waits for as long as it takes, at most 72 hours: end it with `signal`.
   *
   * ```ts
   * try {
   *   await rebid.tasks.award(input, { idempotencyKey });
   * } catch (error) {
   *   const { status, reason } = await rebid.approvals.wait(error);
   *   if (status === "approved") await rebid.tasks.award(input, { idempotencyKey }); // its answer
   * }
   * ```
   *
   * @throws whatever it was given that is not `approval_required`, so that it can stand in a `catch`.
   */
  async wait(error: unknown, options: RequestOptions = {}): Promise<Approval> {
    const id = idOf(error);
    const readEvents = (after: string, wait: number) =>
      this.requests.readWaiting<EventPage>(wait, "/events", { after, wait, types: "approval.decided" }, options);
    // The cursor is from before the first look, so that nothing falls between the two.
    let after = (await readEvents("latest", 0)).nextCursor;
    for (;;) {
      const { approval } = await this.requests.read<ReadApprovalResponse>("/approvals/{id}", { id }, options);
      if (approval.status !== "pending") return approval;
      for (let concerns = false; !concerns; ) {
        const { events, nextCursor } = await readEvents(after, WAIT_SECONDS);
        after = nextCursor;
        concerns = events.length === 0 || events.some(({ data }) => "approval" in data && data.approval.id === id);
      }
    }
  }
}

function idOf(error: unknown): string {
  if (typeof error === "string") return error;
  const id = error instanceof RebidError && error.code === "approval_required" ? error.approval?.id : undefined;
  if (id === undefined) throw error;
  return id;
}
