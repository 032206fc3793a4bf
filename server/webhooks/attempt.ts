import { SpanKind } from "@opentelemetry/api";
import { EgressFailed, EgressRefused } from "../gateways/egressErrors.ts";
import { measureWebhook } from "../measures.ts";
import { timestampOf } from "../schemas/common.ts";
import type { Services } from "../services.ts";
import { traced } from "../tracing.ts";
import type { EventBody } from "./bodyCache.ts";
import type { Outcome } from "./complete.ts";
import { type Attempt, classifyResponse, retryDelaySeconds } from "./retries.ts";
import { deliveryHeaders } from "./sign.ts";
import type { LeasedDelivery } from "./take.ts";

/** Sends a delivery once. Never throws: a failure is part of the attempt. */
export async function attemptOnce(
  { egress, clock, log }: Pick<Services, "egress" | "clock" | "log">,
  delivery: LeasedDelivery,
  { body, traceParent, timeoutMs }: EventBody & { timeoutMs: number },
): Promise<Attempt> {
  const reasonOf = (error: unknown): string => {
    if (error instanceof EgressFailed || error instanceof EgressRefused) return error.message;
    log.error({ error }, "a delivery failed on our side");
    return "The delivery failed on our side.";
  };
  const now = clock.now();
  const startedMs = performance.now();
  const post = () => {
    const headers = deliveryHeaders({ eventId: delivery.eventId, body }, delivery.signingSecret, clock.real());
    return egress.post(delivery.url, { headers, body, timeoutMs });
  };
  const result = await traced("webhook", post, { kind: SpanKind.PRODUCER, parent: traceParent }).then(
    ({ statusCode }) => ({ statusCode, error: null }),
    (error: unknown) => ({ statusCode: null, error: reasonOf(error) }),
  );
  const attempt = { attemptedAt: timestampOf(now), durationMs: Math.round(performance.now() - startedMs), ...result };
  measureWebhook(classifyResponse(attempt), attempt.durationMs);
  return attempt;
}

/** Decides whether a delivery has succeeded, failed or is retried after an attempt. `schedule` is in seconds. */
export function outcomeOf(delivery: LeasedDelivery, attempt: Attempt, schedule: readonly number[], now: Date): Outcome {
  const verdict = classifyResponse(attempt);
  const outcome = { delivery, attempt, attemptsLeft: 0, dueAt: null, switchOff: verdict === "gone" };
  if (verdict === "succeeded") return { ...outcome, status: "succeeded" };
  const attemptsLeft = delivery.attemptsLeft - 1;
  const delaySeconds = verdict === "retry" ? retryDelaySeconds(attemptsLeft, schedule) : null;
  if (delaySeconds === null) return { ...outcome, status: "failed" };
  return {
    ...outcome,
    status: "pending",
    attemptsLeft,
    dueAt: new Date(now.getTime() + delaySeconds * 1000).toISOString(),
  };
}
