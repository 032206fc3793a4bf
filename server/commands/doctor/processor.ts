import type { Processor, ProcessorSettings } from "../../gateways/processor.ts";
import type { EventDestination } from "../../gateways/processorRecords.ts";
import { missedEventTypes } from "../../market/processorEvents/inbox.ts";
import { type Found, messageOf, ok, problem, warning } from "./finding.ts";

/** The events that destinations have to send. Connected accounts tell how payouts end, and whether they may be paid. */
export const neededEvents = [
  { from: "@self", whose: "your account", types: missedEventTypes },
  { from: "@accounts", whose: "connected accounts", types: ["payout.paid", "payout.failed", "payout.canceled"] },
  {
    from: "@accounts",
    whose: "connected accounts, as thin events",
    types: [
      "v2.core.account[requirements].updated",
      "v2.core.account[configuration.recipient].capability_status_updated",
    ],
  },
] as const;

/** Looks at the key and its mode, and at where the processor sends events. */
export async function examineProcessor(
  processor: Processor,
  { secretKey }: Pick<ProcessorSettings, "secretKey">,
  { publicUrl, pollSeconds }: { publicUrl: string; pollSeconds: number },
): Promise<Found[]> {
  const mode = secretKey.includes("_live_") ? "live" : "test";
  try {
    const cents = await processor.getBalanceCents(null, "usd");
    const balance = `the key works, in ${mode} mode; the platform's available balance is ${(cents / 100).toFixed(2)} USD`;
    return [ok(balance), ...(await examineDestinations(processor, `${publicUrl}/processor/events`, pollSeconds))];
  } catch (error) {
    const advice = "Check STRIPE_SECRET_KEY, its permissions at Stripe, and the way to Stripe's API.";
    return [problem(`the payment processor refuses or does not respond: ${messageOf(error)}`, advice)];
  }
}

async function examineDestinations(processor: Processor, url: string, pollSeconds: number): Promise<Found[]> {
  const destinations: EventDestination[] = [];
  try {
    for await (const destination of processor.listEventDestinations()) destinations.push(destination);
  } catch (error) {
    const advice = "Let the key read event destinations, or compare their types with the documentation by hand.";
    return [warning(`the event destinations cannot be read: ${messageOf(error)}`, advice)];
  }
  return describeDestinations(destinations, url, pollSeconds);
}

/** Compares the destinations that lead to this service with what it needs to hear. */
export function describeDestinations(
  destinations: readonly EventDestination[],
  url: string,
  pollSeconds: number,
): Found[] {
  const ours = destinations.filter((destination) => destination.url === url);
  const disabled = ours.filter(({ isEnabled }) => !isEnabled);
  const enabled = ours.filter(({ isEnabled }) => isEnabled);
  const late = `Without them, payments are settled up to ${pollSeconds} s later.`;
  const missing = neededEvents.flatMap(({ from, types, whose }) => missingFrom(enabled, from, types, whose) ?? []);
  return [
    ...disabled.map(({ id }) => warning(`the event destination ${id} is disabled`, "Enable it at Stripe.")),
    ...missing.map((text) => warning(text, `Add them to an event destination of ${url} at Stripe. ${late}`)),
    ...(missing.length === 0 ? [ok(`all events arrive at ${url}`)] : []),
  ];
}

function missingFrom(
  destinations: readonly EventDestination[],
  source: "@self" | "@accounts",
  types: readonly string[],
  whose: string,
): string | null {
  const sent = destinations.filter(({ from }) => from.includes(source)).flatMap(({ types: sentTypes }) => sentTypes);
  const missing = sent.includes("*") ? [] : types.filter((type) => !sent.includes(type));
  return missing.length === 0 ? null : `no destination sends these events of ${whose}: ${missing.join(", ")}`;
}
