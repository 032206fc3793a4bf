import { invalidRequest } from "../model/refusal.ts";

/** Converts metadata to its stored form: values become strings; `''` and null remove a key. Has Stripe's limits. */
export function metadataOf(
  given: Record<string, string | number | null> | null | "" | undefined,
): Record<string, string> {
  const pairs = Object.entries(given === null || given === "" || given === undefined ? {} : given);
  const metadata: Record<string, string> = {};
  for (const [name, value] of pairs) {
    if (value !== null && value !== "") metadata[name] = String(value);
    if (name.length > 40)
      throw invalidRequest("parameter_invalid", "Metadata keys can have at most 40 characters.", "metadata");
    if (String(value).length > 500) {
      throw invalidRequest(
        "parameter_invalid",
        "Metadata values can have at most 500 characters.",
        `metadata[${name}]`,
      );
    }
  }
  if (pairs.length > 50) throw invalidRequest("parameter_invalid", "Metadata can have at most 50 keys.", "metadata");
  return metadata;
}

/** Returns the amount in cents. Refuses an amount below 1 cent or above Stripe's limit of eight digits. */
export function requirePositive(amountCents: number | undefined, name = "amount"): number {
  if (amountCents === undefined) throw invalidRequest("parameter_missing", `Missing required param: ${name}.`, name);
  if (amountCents < 1) {
    throw invalidRequest("parameter_invalid_integer", "This value must be greater than or equal to 1.", name);
  }
  if (amountCents > 99_999_999)
    throw invalidRequest("amount_too_large", "Amount must be no more than $999,999.99", name);
  return amountCents;
}
