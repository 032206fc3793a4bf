import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { Server, Socket } from "node:net";
import { listen } from "../listen.ts";
import { Mails } from "./mails.ts";
import { mailboxPage } from "./page.ts";
import { smtpServer } from "./smtp.ts";

interface MailboxOptions {
  /** The directory of the mails. It is created if it does not exist. */
  directory: string;
  /** The ports on 127.0.0.1, each if it is free. */
  preferredPorts?: { smtp?: number | undefined; page?: number | undefined };
}

/**
 * Starts the embedded mailbox, which replaces a mail server in development and tests. It listens on loopback.
 * @returns `smtpUrl`, which takes mails, `pageUrl`, which shows them, and `stop`; the mails are kept for the next start
 */
export async function startMailbox({
  directory,
  preferredPorts,
}: MailboxOptions): Promise<{ smtpUrl: string; pageUrl: string; stop(): Promise<void> }> {
  const mails = new Mails(directory);
  const smtp = smtpServer((mail) => mails.keep(mail));
  const pages = createServer(servePages(mails));
  const stops = [stopOf(smtp), stopOf(pages)];
  return {
    smtpUrl: `smtp://127.0.0.1:${await listen(smtp, preferredPorts?.smtp)}`,
    pageUrl: `http://127.0.0.1:${await listen(pages, preferredPorts?.page)}`,
    async stop() {
      await Promise.all(stops.map((stop) => stop()));
    },
  };
}

/** Returns what closes the server and its connections. */
function stopOf(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return async () => {
    const closed = once(server, "close");
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
}

const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; frame-ancestors 'none'";

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
