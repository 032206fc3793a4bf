import Stripe from "stripe";
import { BalanceTooLow, IdempotencyKeyReused, ProcessorRefused, ProcessorUnavailable } from "./processorErrors.ts";

/** Awaits a call to Stripe, and throws our errors instead of Stripe's. */
export async function translated<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw translate(error);
  }
}

/** Iterates over one of Stripe's lists and converts each object to a record of ours. */
export async function* records<Raw, Result>(
  list: AsyncIterable<Raw>,
  read: (raw: Raw) => Result,
): AsyncGenerator<Result> {
  try {
    for await (const raw of list) yield read(raw);
  } catch (error) {
    throw translate(error);
  }
}

/** The same for a whole list at once. */
export async function collected<Raw, Result>(list: AsyncIterable<Raw>, read: (raw: Raw) => Result): Promise<Result[]> {
  const result: Result[] = [];
  for await (const record of records(list, read)) result.push(record);
  return result;
}

/** The one place that translates Stripe's errors to ours. Any other error is a bug and stays as it is. */
function translate(error: unknown): unknown {
  if (!(error instanceof Stripe.errors.StripeError)) return error;
  const status = error.statusCode;
  const options = { cause: error };
  if (status === undefined || status >= 500 || status === 429 || status === 409 || isAboutOurKey(error)) {
    return new ProcessorUnavailable(error.message, options);
  }
  if (error.rawType === "idempotency_error") return new IdempotencyKeyReused(error.message, options);
  const code = error.code ?? error.rawType ?? `http_${status}`;
  if (code === "balance_insufficient") return new BalanceTooLow(code, error.message, options);
  return new ProcessorRefused(code, error.message, options);
}

/**
 * Whether our API key is wrong, being replaced or lacks a permission. The payment is not to blame, so it waits. The
 * only 403 about the payment itself concerns an account that is not, or no longer, connected to us.
 */
function isAboutOurKey({ statusCode, code }: Stripe.errors.StripeError): boolean {
  return statusCode === 401 || (statusCode === 403 && code !== "account_invalid");
}
