import type { Call } from "./call.ts";
import { TasksApi } from "./generated/namespaces.ts";
import type { AwardTask, AwardTaskResponse, Task, TaskStatus } from "./generated/types.ts";
import type { RequestOptions, TryOptions } from "./options.ts";
import { waitForStatus } from "./waitFor.ts";

/** The procedures of tasks, and a way to wait for one. */
export class Tasks extends TasksApi {
  /**
   * Award a task to a bid.
   *
   * Of the service's procedure, the client insists on `expectedPriceCents`, the bid's price as you have read it: the bidder
   * may have raised it since, and you would pay that. If it is another one by now, it is 409 `bid_changed` with
   * `priceCents`, and nothing happens. Otherwise the hold shrinks to the price, and the other bids are rejected.
   *
   * @throws {RebidError} `bid_changed`, `bid_invalid`, `wrong_status` (409), and those of `TasksApi.award`.
   */
  override award(input: AwardTask & { expectedPriceCents: number }, options: TryOptions = {}): Call<AwardTaskResponse> {
    return super.award(input, options);
  }

  /**
   * Waits until a task has one of these statuses, and returns it. Needs credentials. Waits for as long as it takes: end it
   * with `signal`, such as `AbortSignal.timeout(60_000)`.
   *
   * @throws {TaskStatusError} if the task can no longer have any of them, such as `delivered` once it is `expired`. Name
   * every status that you want to know of: a task that is accepted right after its delivery is no longer `delivered`.
   */
  waitFor(id: string, statuses: readonly TaskStatus[], options: RequestOptions = {}): Promise<Task> {
    return waitForStatus(this.requests, id, statuses, options);
  }
}
