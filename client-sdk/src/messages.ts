import { MessagesApi } from "./generated/namespaces.ts";
import type { FinalizeMessageFileResponse } from "./generated/types.ts";
import { declarationOf, optionsOfStep, putFile, type UploadFile, type UploadOptions } from "./uploads.ts";

/** The procedures of conversations, and whole uploads of their files. */
export class Messages extends MessagesApi {
  /**
   * Uploads a file for a message about a bid, as `tasks.uploadFile` does for a brief. Nobody else sees it until you send it:
   * put its `id` into the `fileIds` of one message within 24 hours.
   *
   * @throws {RebidError} `file_too_large` (400) with `violations`, `limit_reached`, `wrong_status` (409), and those of
   * `fileInit` and `fileFinalize`.
   * @throws {RebidUploadError} if the object store refuses the bytes.
   */
  async uploadFile(bidId: string, file: UploadFile, options: UploadOptions = {}): Promise<FinalizeMessageFileResponse> {
    const declaration = declarationOf(file, options);
    const target = await this.fileInit({ id: bidId, ...declaration }, optionsOfStep(options, "init"));
    await putFile(this.requests.transport, target, file, declaration.mimeType, options);
    return this.fileFinalize({ id: bidId, storageKey: target.storageKey }, optionsOfStep(options, "finalize"));
  }
}
