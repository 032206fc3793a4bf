import type { Call } from "./call.ts";
import { TasksApi } from "./generated/namespaces.ts";
import type {
  AwardTask,
  AwardTaskResponse,
  FinalizeTaskFileResponse,
  Task,
  TaskStatus,
  Visibility,
} from "./generated/types.ts";
import type { RequestOptions, TryOptions } from "./options.ts";
import { declarationOf, optionsOfStep, putFile, type UploadFile, type UploadOptions } from "./uploads.ts";
import { waitForStatus } from "./waitFor.ts";

/** Who may download a file of a brief: by default, whoever is signed in. */
export type TaskFileOptions = UploadOptions & { visibility?: Visibility | undefined };

/** The procedures of tasks, whole uploads of their files, and a way to wait for one. */
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
   * Uploads a file for the brief of an open task of yours: declares it, sends the bytes to the object store, and finalises it.
   * Each step is repeated when it fails.
   *
   * @throws {RebidError} `file_too_large` (400) with `violations`, `limit_reached`, `wrong_status` (409), and those of
   * `fileInit` and `fileFinalize`.
   * @throws {RebidUploadError} if the object store refuses the bytes.
   */
  async uploadFile(taskId: string, file: UploadFile, options: TaskFileOptions = {}): Promise<FinalizeTaskFileResponse> {
    const declaration = declarationOf(file, options);
    const input = { id: taskId, ...declaration, visibility: options.visibility };
    const target = await this.fileInit(input, optionsOfStep(options, "init"));
    await putFile(this.requests.transport, target, file, declaration.mimeType, options);
    return this.fileFinalize({ id: taskId, storageKey: target.storageKey }, optionsOfStep(options, "finalize"));
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
