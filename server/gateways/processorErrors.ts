/** The errors that the payment gateway throws. Stripe's own errors do not leave `stripeCalls.ts`. */

/**
 * The outcome is unknown (network, timeout, 5xx), the call came too early (429, 409), or our API key lacks the
 * permission (401, 403). Repeat the call with the same idempotency key.
 */
export class ProcessorUnavailable extends Error {
  override readonly name: string = "ProcessorUnavailable";
}

/**
 * The idempotency key was used before with other parameters, so a call with it may well have succeeded. This is a bug
 * of ours, and a new key would risk paying twice. Look up what exists, then repair it by hand.
 */
export class IdempotencyKeyReused extends ProcessorUnavailable {
  override readonly name: string = "IdempotencyKeyReused";
}

/**
 * A definite refusal (any other 4xx): nothing was done. `code` is Stripe's error code or, if there is none, its error
 * type.
 */
export class ProcessorRefused extends Error {
  override readonly name: string = "ProcessorRefused";
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The paying balance (the platform's for a transfer, the account's for a payout) does not cover the amount yet. */
export class BalanceTooLow extends ProcessorRefused {
  override readonly name: string = "BalanceTooLow";
}

/** Not an event that the processor signed within the last 300 s. */
export class InvalidEventSignature extends Error {
  override readonly name: string = "InvalidEventSignature";
}
