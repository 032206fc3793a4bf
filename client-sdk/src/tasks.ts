import type { Call } from "./call.ts";
import { TasksApi } from "./generated/namespaces.ts";
import type { AwardTask, AwardTaskResponse } from "./generated/types.ts";
import type { TryOptions } from "./options.ts";

/** Tasks: post, find, award, accept. */
export class Tasks extends TasksApi {
  /**
   * As `TasksApi.award`, but `expectedPriceCents` is needed: the bidder may have raised the price since you read the bid,
   * and you would pay it. If the price is another one by now, it is 409 `bid_changed`, with `priceCents`.
   */
  override award(input: AwardTask & { expectedPriceCents: number }, options: TryOptions = {}): Call<AwardTaskResponse> {
    return super.award(input, options);
  }
}
