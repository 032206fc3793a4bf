import { createServer, type Server, type Socket } from "node:net";

/** A mail as it was received. */
export interface ReceivedMail {
  recipients: string[];
  /** The message: header and body, with CRLF. */
  raw: string;
}

const MAX_MESSAGE_BYTES = 1_000_000;

/**
 * Creates a server that takes every mail, for nobody else: it forwards nothing and asks for no password. It speaks as much
 * SMTP (RFC 5321) as `nodemailer` needs, and refuses everything else.
 */
export function smtpServer(keep: (mail: ReceivedMail) => void): Server {
  return createServer((socket) => {
    const session = new Session(keep);
    let rest = Buffer.alloc(0);
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let end = rest.indexOf("\r\n"); end >= 0 && !socket.writableEnded; end = rest.indexOf("\r\n")) {
        const line = rest.subarray(0, end).toString("utf8");
        rest = rest.subarray(end + 2);
        reply(socket, session.take(line));
      }
      if (rest.length > MAX_MESSAGE_BYTES) socket.destroy();
    });
    reply(socket, ["220 Rebid's mailbox for development"]);
  });
}

function reply(socket: Socket, lines: string[]): void {
  for (const line of lines) socket.write(`${line}\r\n`);
  if (lines[0]?.startsWith("221")) socket.end();
}

/** One connection: what was said so far. */
class Session {
  readonly #keep: (mail: ReceivedMail) => void;
  #hasSender = false;
  #recipients: string[] = [];
  /** The lines of the message; null outside of one. */
  #message: string[] | null = null;
  #bytes = 0;

  constructor(keep: (mail: ReceivedMail) => void) {
    this.#keep = keep;
  }

  /** Takes a line and returns the reply, which is empty inside a message. */
  take(line: string): string[] {
    if (this.#message !== null) return this.#takeContent(line, this.#message);
    const [, verb = "", rest = ""] = /^(\w+)\s*(.*)$/.exec(line) ?? [];
    switch (verb.toUpperCase()) {
      case "EHLO":
        return ["250-mailbox", "250-8BITMIME", "250-SMTPUTF8", `250 SIZE ${MAX_MESSAGE_BYTES}`];
      case "HELO":
      case "NOOP":
        return ["250 OK"];
      case "MAIL":
        this.#reset();
        this.#hasSender = /^FROM:<[^>]*>/i.test(rest);
        return [this.#hasSender ? "250 OK" : "501 MAIL FROM:<address>"];
      case "RCPT":
        return [this.#addRecipient(rest)];
      case "DATA":
        if (this.#recipients.length === 0) return ["503 First MAIL and RCPT"];
        this.#message = [];
        return ["354 End with a line that has only a dot"];
      case "RSET":
        this.#reset();
        return ["250 OK"];
      case "QUIT":
        return ["221 Bye"];
      default:
        return ["502 Not implemented"];
    }
  }

  #addRecipient(rest: string): string {
    const [, address] = /^TO:<([^>]+)>/i.exec(rest) ?? [];
    if (!this.#hasSender || address === undefined) return "501 First MAIL, then RCPT TO:<address>";
    this.#recipients.push(address);
    return "250 OK";
  }

  #takeContent(line: string, message: string[]): string[] {
    if (line !== ".") {
      this.#bytes += line.length + 2;
      if (this.#bytes <= MAX_MESSAGE_BYTES) message.push(line.startsWith(".") ? line.slice(1) : line);
      return [];
    }
    const mail = { recipients: this.#recipients, raw: message.join("\r\n") };
    const isTooLarge = this.#bytes > MAX_MESSAGE_BYTES;
    this.#reset();
    if (isTooLarge) return ["552 The message is too large"];
    this.#keep(mail);
    return ["250 OK"];
  }

  #reset(): void {
    this.#hasSender = false;
    this.#recipients = [];
    this.#message = null;
    this.#bytes = 0;
  }
}
