import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { Mails } from "./mails.ts";
import { mailboxPage } from "./page.ts";
import { smtpServer } from "./smtp.ts";

interface MailboxOptions {
  /** The directory of the mails. It is created if it does not exist. */
  directory: string;
  /** 0 means any free port. */
  smtpPort: number;
  pagePort: number;
}

/**
 * Starts the embedded mailbox, which replaces a mail server in development and tests. It listens on loopback.
 * @returns `smtpUrl`, which takes mails, `pageUrl`, which shows them, and `stop`; the mails are kept for the next start
 */
export async function startMailbox({
  directory,
  smtpPort,
  pagePort,
}: MailboxOptions): Promise<{ smtpUrl: string; pageUrl: string; stop(): Promise<void> }> {
  const mails = new Mails(directory);
  const smtp = smtpServer((mail) => mails.keep(mail));
  const pages = createServer(servePages(mails));
  const stops = [await listen(smtp, smtpPort), await listen(pages, pagePort)];
  return {
    smtpUrl: `smtp://127.0.0.1:${portOf(smtp)}`,
    pageUrl: `http://127.0.0.1:${portOf(pages)}`,
    async stop() {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

/** Listens on loopback, and returns what closes the server and its connections. */
async function listen(server: Server, port: number): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return async () => {
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("The mailbox is not listening on a port.");
  return address.port;
}

const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'";

function servePages(mails: Mails): RequestListener {
  return (request, response) => {
    const pathname = URL.parse(request.url ?? "/", "http://mailbox")?.pathname; // "//" is no URL
    // A name that resolves to this machine must not open the mails to another site's page.
    const isOurs = /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? "");
    const answer = (status: number, type: string, body: string) =>
      response
        .writeHead(status, {
          "Content-Type": `${type}; charset=utf-8`,
          "Cache-Control": "no-store",
          "X-Content-Type-Options": "nosniff",
          "Referrer-Policy": "no-referrer",
          "Content-Security-Policy": policy,
        })
        .end(body);
    if (request.method !== "GET" || !isOurs) answer(404, "text/plain", "Not found.\n");
    else if (pathname === "/") answer(200, "text/html", mailboxPage(mails.list()));
    else if (pathname === "/mails") answer(200, "application/json", JSON.stringify(mails.list()));
    else answer(404, "text/plain", "Not found.\n");
  };
}
