import Stripe from "stripe";
import type { Processor, ProcessorSettings } from "./processor.ts";
import { accountCalls } from "./stripeAccounts.ts";
import { balanceCalls } from "./stripeBalance.ts";
import { checkoutCalls } from "./stripeCheckout.ts";
import { eventCalls } from "./stripeEvents.ts";
import { payoutCalls } from "./stripePayouts.ts";

/** Creates the gateway with the `stripe` package. It opens no connection before the first call. */
export function openStripe(settings: ProcessorSettings): Processor {
  const stripe = new Stripe(settings.secretKey, {
    ...addressOf(settings.apiBase),
    // Our jobs retry with the stored key; a retry here would only hide how long a response takes.
    maxNetworkRetries: 0,
    timeout: settings.timeoutMs ?? 10_000,
    telemetry: false,
    appInfo: { name: "Rebid" },
  });

  return {
    ...checkoutCalls(stripe),
    ...accountCalls(stripe, settings.accountCountry ?? "us"),
    ...payoutCalls(stripe),
    ...balanceCalls(stripe),
    ...eventCalls(stripe, settings.webhookSecrets),
  };
}

function addressOf(apiBase: string | null): Stripe.StripeConfig {
  if (apiBase === null) return {};
  const url = new URL(apiBase);
  const protocol = url.protocol === "https:" ? "https" : "http";
  return { protocol, host: url.hostname, port: url.port === "" ? (protocol === "https" ? 443 : 80) : url.port };
}
