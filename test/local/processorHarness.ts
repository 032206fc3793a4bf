import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Processor } from "../../server/gateways/processor.ts";
import type { ProcessorEvent } from "../../server/gateways/processorRecords.ts";
import { stripeProcessor } from "../../server/gateways/stripeProcessor.ts";
import { startProcessor } from "../../server/local/processor/start.ts";
import { clockOf } from "../setup/testClock.ts";

export const secretKey = "sk_test_embedded";
const webhookSecret = "whsec_embedded";

export interface Harness {
  url: string;
  gateway: Processor;
  /** The events that the listener received and the gateway verified. */
  events: ProcessorEvent[];
  /** Sets the status that the listener answers with from now on. The default is 200. */
  answerEventsWith(status: number): void;
  /** Restarts the processor on the same data, on another port. */
  restart(): Promise<void>;
  /** Makes a call of the `/test` API. Throws if it is refused. */
  test(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Moves the processor's clock. */
  advance(ms: number): void;
  stop(): Promise<void>;
}

/** Starts a processor, a listener for its events, and a gateway that uses the real `stripe` package. */
export async function startHarness(options: { timeoutMs?: number; stepMs?: number } = {}): Promise<Harness> {
  const directory = mkdtempSync(join(tmpdir(), "processor-"));
  const events: ProcessorEvent[] = [];
  let status = 200;
  let advancedMs = 0;

  const listener = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => {
      const signature = String(request.headers["stripe-signature"]);
      const receiving = status === 200 ? receive(Buffer.concat(chunks), signature) : Promise.resolve(status);
      void receiving.then((answer) => response.writeHead(answer).end());
    });
  });
  const receive = async (body: Buffer, signature: string): Promise<number> => {
    try {
      events.push(await gateway().verifyEvent(body, signature, now()));
      return 200;
    } catch {
      // The signature is too old if a test has just moved the clock. The next attempt has a new one.
      return 400;
    }
  };
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const eventsUrl = `http://127.0.0.1:${portOf(listener.address())}/processor/events`;

  const start = () =>
    startProcessor({
      directory,
      secretKey,
      webhookSecret,
      eventsUrl,
      stepMs: options.stepMs ?? 20,
      clock: clockOf(now),
    });
  const now = (): Date => new Date(Date.now() + advancedMs);
  let running = await start();
  const gateway = (): Processor =>
    stripeProcessor({
      secretKey,
      webhookSecrets: ["whsec_older", webhookSecret],
      apiBase: running.url,
      timeoutMs: options.timeoutMs,
    });

  return {
    get url() {
      return running.url;
    },
    get gateway() {
      return gateway();
    },
    events,
    answerEventsWith: (next) => {
      status = next;
    },
    async restart() {
      await running.stop();
      running = await start();
    },
    async test(method, path, body) {
      const response = await fetch(`${running.url}/test/${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return await response.json();
    },
    advance: (ms) => {
      advancedMs += ms;
    },
    async stop() {
      await running.stop();
      listener.closeAllConnections();
      listener.close();
      rmSync(directory, { recursive: true });
    },
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string") throw new Error("Not listening.");
  return address.port;
}

/** The parameters of a top-up. Each call has its own idempotency key by default. */
export function topup(changes: Partial<Parameters<Processor["createCheckoutSession"]>[0]> = {}) {
  return {
    topupId: "topup-1",
    userId: "user-1",
    amountCents: 5_000,
    currency: "usd",
    successUrl: "http://127.0.0.1:3000/wallet?session={CHECKOUT_SESSION_ID}",
    cancelUrl: "http://127.0.0.1:3000/wallet",
    idempotencyKey: crypto.randomUUID(),
    ...changes,
  };
}

/** Creates an account that can be paid, and adds money to the platform's balance. */
export async function payableAccount(
  { gateway, test }: Harness,
  { bank = "pays", platformCents = 100_000 }: { bank?: string; platformCents?: number } = {},
): Promise<string> {
  const { accountId } = await gateway.createAccount({
    userId: "user-1",
    email: "bidder@example.com",
    displayName: "Bea Bidder",
    idempotencyKey: crypto.randomUUID(),
  });
  await gateway.stopAutomaticPayouts(accountId);
  await test("POST", `accounts/${accountId}/onboard`, { outcome: "finishes", bank });
  if (platformCents > 0) await test("POST", "balance", { amountCents: platformCents });
  return accountId;
}

/** The parameters of a transfer. */
export function transfer(accountId: string, changes: Partial<Parameters<Processor["createTransfer"]>[0]> = {}) {
  return {
    accountId,
    amountCents: 2_000,
    currency: "usd",
    transferGroup: "payout-1",
    payoutId: "payout-1",
    idempotencyKey: crypto.randomUUID(),
    ...changes,
  };
}

/** The parameters of a payout. */
export function payout(accountId: string, changes: Partial<Parameters<Processor["createPayout"]>[0]> = {}) {
  return {
    accountId,
    amountCents: 2_000,
    currency: "usd",
    payoutId: "payout-1",
    idempotencyKey: crypto.randomUUID(),
    ...changes,
  };
}
