import { ApiError } from "../errors.ts";
import { EgressRefused } from "../gateways/egressErrors.ts";
import type { Services } from "../services.ts";

/** Throws `invalid_url` unless deliveries may be sent to this URL. */
export async function checkWebhookUrl(egress: Services["egress"], url: string): Promise<void> {
  await egress.check(url).catch((error: unknown) => {
    throw error instanceof EgressRefused ? new ApiError("invalid_url", { message: error.message }) : error;
  });
}
