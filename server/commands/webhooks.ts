import { InputTimestamp } from "../schemas/common.ts";
import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";
import { replayDelivery, replayFailed } from "../webhooks/replay.ts";
import { withServices } from "./openServices.ts";
import {
  type Command,
  CommandFailure,
  runCommand,
  subcommands,
  UsageError,
  uuidOf,
  withArguments,
} from "./runCommand.ts";

const usage = `Sends webhook deliveries again: same event id and body, new signature, one attempt each.

Usage, while Rebid runs:
  npm run webhooks -- replay DELIVERY_ID
      Replays one delivery, whatever its status.
  npm run webhooks -- replay --since TIMESTAMP [--endpoint ENDPOINT_ID]
      Replays every delivery that has failed since then, for one endpoint or for all.

TIMESTAMP is ISO 8601, for example 2026-11-20T00:00:00Z. Endpoints that were switched off are switched on again.
Deleted endpoints and those of suspended users are skipped.`;

function timestampOf(text: string): string {
  if (InputTimestamp.safeParse(text).success) return text;
  throw new UsageError(`--since must be an ISO 8601 timestamp such as 2026-11-20T00:00:00Z, not "${text}".`);
}

const replayOptions = { since: { type: "string" }, endpoint: { type: "string" } } as const;

const replay = withArguments({ options: replayOptions, maxPositionals: 1 }, ({ positionals: [deliveryId], values }) => {
  const { since, endpoint } = values;
  if (deliveryId !== undefined) {
    if (since !== undefined || endpoint !== undefined) {
      throw new UsageError("DELIVERY_ID cannot be combined with --since or --endpoint.");
    }
    const id = uuidOf("DELIVERY_ID", deliveryId);
    return withServices((services) => replayOne(services, id));
  }
  if (since === undefined) throw new UsageError("DELIVERY_ID or --since is required.");
  const failures = {
    since: timestampOf(since),
    endpointId: endpoint === undefined ? undefined : uuidOf("--endpoint", endpoint),
  };
  return withServices((services) => replayAllFailed(services, failures));
});

async function replayOne({ database, clock }: Services, id: string): Promise<void> {
  if (!(await database.transaction((tx) => replayDelivery(tx, id, clock.now())))) {
    throw new CommandFailure(
      `Delivery ${id} does not exist, or its endpoint was deleted, or the endpoint's owner is suspended.`,
    );
  }
  console.log(`Delivery ${id} will be sent again.`);
}

async function replayAllFailed(
  { database, clock }: Services,
  failures: { since: string; endpointId: string | undefined },
): Promise<void> {
  const { endpointId, since } = failures;
  const count = await database.transaction(async (tx) => {
    if (endpointId !== undefined) {
      const [endpoint] = await tx.query(sql`
        SELECT FROM webhook_endpoints WHERE id = ${endpointId}::uuid AND deleted_at IS NULL`);
      if (!endpoint) throw new CommandFailure(`Endpoint ${endpointId} does not exist.`);
    }
    return replayFailed(tx, { ...failures, now: clock.now() });
  });
  if (count === 0) console.log(`No delivery has failed since ${since}.`);
  else console.log(`${count} failed ${count === 1 ? "delivery" : "deliveries"} will be sent again.`);
}

const parse = subcommands({ replay });

export const command: Command = { usage, parse };

if (import.meta.main) await runCommand(command);
