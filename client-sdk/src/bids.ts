import { BidsApi } from "./generated/namespaces.ts";
import type { FinalizeDeliveryResponse, FinalizeSampleResponse, InitSample } from "./generated/types.ts";
import { declarationOf, optionsOfStep, putFile, type UploadFile, type UploadOptions } from "./uploads.ts";

/** Of an image, audio or video; judged by the limits of its type. */
export type SampleOptions = UploadOptions & Pick<InitSample, "dimensions" | "durationSec">;

/** The procedures of bids, and whole uploads. */
export class Bids extends BidsApi {
  /**
   * Uploads a sample for an awarded bid of yours: declares it, sends the bytes to the object store, and finalises it. Each
   * step is repeated when it fails.
   *
   * @throws {RebidError} `sample_too_large` (400) with `violations`, `wrong_status` (409), and those of `sampleInit` and
   * `sampleFinalize`.
   * @throws {RebidUploadError} if the object store refuses the bytes.
   */
  async uploadSample(bidId: string, file: UploadFile, options: SampleOptions = {}): Promise<FinalizeSampleResponse> {
    const { dimensions, durationSec } = options;
    const declaration = declarationOf(file, options);
    const input = { id: bidId, ...declaration, dimensions, durationSec };
    const target = await this.sampleInit(input, optionsOfStep(options, "init"));
    await putFile(this.requests.transport, target, file, declaration.mimeType, options);
    return this.sampleFinalize({ id: bidId, storageKey: target.storageKey }, optionsOfStep(options, "finalize"));
  }

  /**
   * Uploads the delivery of an awarded bid of yours, as `uploadSample` does. The task is then `delivered`.
   *
   * @throws {RebidError} `delivery_too_large` (400) with `violations`, `wrong_status` (409), and those of `deliveryInit` and
   * `deliveryFinalize`.
   * @throws {RebidUploadError} if the object store refuses the bytes.
   */
  async uploadDelivery(
    bidId: string,
    file: UploadFile,
    options: UploadOptions = {},
  ): Promise<FinalizeDeliveryResponse> {
    const declaration = declarationOf(file, options);
    const target = await this.deliveryInit({ id: bidId, ...declaration }, optionsOfStep(options, "init"));
    await putFile(this.requests.transport, target, file, declaration.mimeType, options);
    return this.deliveryFinalize({ id: bidId, storageKey: target.storageKey }, optionsOfStep(options, "finalize"));
  }
}
