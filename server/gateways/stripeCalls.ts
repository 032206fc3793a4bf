import Stripe from "stripe";
import { BalanceTooLow, IdempotencyKeyReused, ProcessorRefused, ProcessorUnavailable } from "./processor.ts";

/** The answer of a call to Stripe; throws our errors instead of Stripe's. */
export async function translated<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw translate(error);
  }
}

/** The items of one of Stripe's lists, read into records of ours. */
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

/** All items of such a list. */
export async function collected<Raw, Result>(list: AsyncIterable<Raw>, read: (raw: Raw) => Result): Promise<Result[]> {
  const result: Result[] = [];
  for await (const record of records(list, read)) result.push(record);
  return result;
}

/** The one place where Stripe's errors become ours. What is not an error of Stripe's stays as it is: a bug. */
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
 * Our own key is wrong, being replaced or lacks a permission: not the fault of this payment, so it waits. The 403 that says
 * something of the payment is the one about an account that is not, or no longer, connected to us.
 */
function isAboutOurKey({ statusCode, code }: Stripe.errors.StripeError): boolean {
  return statusCode === 401 || (statusCode === 403 && code !== "account_invalid");
}
