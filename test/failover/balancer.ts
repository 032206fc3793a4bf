import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** One address in front of whichever cluster is the primary, as a proxy such as HAProxy is. */
export class Balancer {
  readonly #sockets = new Set<Socket>();
  #target: number | null = null;
  readonly #server = createServer((client) => {
    const target = this.#target;
    if (target === null) {
      client.destroy();
      return;
    }
    const server = connect(target, "127.0.0.1");
    const ends = [client, server] as const;
    for (const socket of ends) {
      this.#sockets.add(socket);
      socket
        .on("error", () => undefined)
        .on("close", () => {
          this.#sockets.delete(socket);
          for (const end of ends) end.destroy();
        });
    }
    client.pipe(server);
    server.pipe(client);
  });

  async open(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `postgresql://postgres@127.0.0.1:${(this.#server.address() as AddressInfo).port}/postgres`;
  }

  /** Ends all connections. New ones lead to this port, or nowhere. */
  switchTo(port: number | null): void {
    this.#target = port;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.switchTo(null);
    this.#server.close();
    await once(this.#server, "close");
  }
}
