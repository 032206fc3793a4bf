import { parseArgs } from "node:util";
import { z } from "zod";
import { ConfigError } from "../config.ts";
import { InputTimestamp } from "../schemas/common.ts";
import { type Connection, sql } from "../store/connection.ts";
import { replayDelivery, replayFailed } from "../webhooks/replay.ts";
import { openServices } from "./openServices.ts";

const usage = `Sends webhook deliveries again: the same event id and body, a new signature, one attempt each.

  npm run webhooks -- replay DELIVERY_ID                            one delivery, whatever became of it
  npm run webhooks -- replay --since TIMESTAMP                      all that failed since then, of every endpoint
  npm run webhooks -- replay --since TIMESTAMP --endpoint ID        all that failed since then, of one endpoint

TIMESTAMP is ISO 8601, as in 2026-11-20T00:00:00Z. An endpoint that was switched off is switched on again.
Nothing is sent to deleted endpoints and to those of suspended users.`;

/** What the person at the terminal got wrong. */
class UsageError extends Error {
  override readonly name = "UsageError";
}

type Command = { help: true } | { deliveryId: string } | { since: string; endpointId: string | undefined };

function parse(commandLine: string[]): Command {
  const { positionals, values } = parseArgs({
    args: commandLine,
    allowPositionals: true,
    options: { since: { type: "string" }, endpoint: { type: "string" }, help: { type: "boolean" } },
  });
  if (values.help) return { help: true };
  const [verb, deliveryId, ...rest] = positionals;
  if (verb !== "replay" || rest.length > 0) throw new UsageError(usage);
  if ((deliveryId === undefined) === (values.since === undefined)) throw new UsageError(usage);
  if (values.endpoint !== undefined && values.since === undefined) throw new UsageError(usage);
  for (const id of [deliveryId, values.endpoint]) {
    if (id !== undefined && !z.uuid().safeParse(id).success) throw new UsageError(`${id} is no id: a UUID is needed.`);
  }
  if (deliveryId !== undefined) return { deliveryId };
  const since = InputTimestamp.safeParse(values.since);
  if (!since.success) throw new UsageError(`--since ${values.since}: ${since.error.issues[0]?.message}`);
  return { since: since.data, endpointId: values.endpoint };
}

async function main(): Promise<void> {
  const command = parse(process.argv.slice(2));
  if ("help" in command) return console.log(usage);
  const { services, close } = await openServices();
  const now = services.clock.now();
  try {
    await services.database.transaction(async (tx) => {
      if ("deliveryId" in command) {
        if (!(await replayDelivery(tx, command.deliveryId, now))) {
          const reasons = "or its endpoint was deleted, or the endpoint's owner is suspended";
          throw new UsageError(`There is no delivery ${command.deliveryId}, ${reasons}.`);
        }
        console.log(`Delivery ${command.deliveryId} is sent again.`);
      } else {
        const { endpointId } = command;
        if (endpointId !== undefined && !(await endpointExists(tx, endpointId))) {
          throw new UsageError(`There is no endpoint ${endpointId}.`);
        }
        const replayed = await replayFailed(tx, { ...command, now });
        console.log(
          replayed === 0
            ? "Nothing has failed since then."
            : `${replayed} failed ${replayed === 1 ? "delivery is" : "deliveries are"} sent again.`,
        );
      }
    });
  } finally {
    await close();
  }
}

async function endpointExists(connection: Connection, id: string): Promise<boolean> {
  const [endpoint] = await connection.query(sql`
    SELECT FROM webhook_endpoints WHERE id = ${id}::uuid AND deleted_at IS NULL`);
  return endpoint !== undefined;
}

main().catch((error: unknown) => {
  const isParse = error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  const isPlain = isParse || error instanceof UsageError || error instanceof ConfigError;
  console.error(isPlain ? error.message : error);
  process.exit(1);
});
