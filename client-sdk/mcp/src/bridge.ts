import type { Transport } from "@modelcontextprotocol/client";

type Message = Parameters<Transport["send"]>[0];

interface BridgeOptions {
  /** The desktop client. */
  local: Transport;
  /** The service. */
  remote: Transport;
  /** Returns what the person at the desktop should read about a failed request. */
  explain(error: unknown): string;
}

/** JSON-RPC: an error of the server that has no code of its own. */
const SERVER_ERROR = -32_000;

/**
 * Passes every message on as it is, in both directions, until the desktop client leaves: so whatever the service can do, and
 * in whichever version of the protocol, needs nothing here. A request that gets no answer is answered with what went wrong.
 */
export async function bridge({ local, remote, explain }: BridgeOptions): Promise<void> {
  const left = new Promise<void>((resolve) => {
    local.onclose = resolve;
  });
  const answer = (message: Message) => local.send(message).catch(() => undefined); // the client has left

  local.onmessage = (message) => {
    remote.send(message).catch((error: unknown) => {
      if (!("id" in message) || !("method" in message)) return;
      void answer({ jsonrpc: "2.0", id: message.id, error: { code: SERVER_ERROR, message: explain(error) } });
    });
  };
  remote.onmessage = (message) => void answer(message);
  await remote.start();
  await local.start();
  await left;
  await remote.close();
}
