/**
 * A server that receives webhooks: it answers at once, does each event once, and refuses what is not from Rebid.
 *
 *     SIGNING_SECRET=whsec_… PORT=4242 node --conditions=@rebid/source client-sdk/examples/webhookReceiver.ts
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebhookEvent, WebhookSignatureError, webhooks } from "@rebid/sdk";

const { SIGNING_SECRET = "", PORT = "4242" } = process.env;

/** The ids of the events that were dealt with. A real receiver keeps them in its database, with what it did. */
const done = new Set<string>();

async function handle(event: WebhookEvent): Promise<void> {
  if (done.has(event.id)) return;
  done.add(event.id);
  if (event.type === "bid.received") {
    console.log(`${event.type}: ${event.data.bid.priceCents} cents for “${event.data.task.title}”`);
  } else {
    console.log(`${event.type}: “${event.data.task.title}” is ${event.data.task.status}`);
  }
}

/** The raw body: verify it before any JSON parser reads it. */
async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const server = createServer(async (request, response) => {
  try {
    const signature = request.headers["x-service-signature"];
    const event = await webhooks.verify(await bodyOf(request), [signature].flat()[0], SIGNING_SECRET);
    response.writeHead(204).end(); // within 10 seconds; the work comes afterwards
    await handle(event);
  } catch (error) {
    if (!(error instanceof WebhookSignatureError)) throw error;
    response.writeHead(400).end(error.message);
  }
});
server.listen(Number(PORT), () => console.log(`receiving on port ${(server.address() as AddressInfo).port}`));
