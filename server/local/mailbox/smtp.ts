import type { Server } from "node:net";
import { buffer } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import type { ReceivedMail } from "./mails.ts";

const MAX_MESSAGE_BYTES = 1_000_000;

/** Creates a server that takes every mail and forwards none. It has no passwords and no TLS. */
export function smtpServer(keep: (mail: ReceivedMail) => void): Server {
  const onData: SMTPServerOptions["onData"] = (stream, { envelope }, done) => {
    const receive = async () => {
      const raw = await buffer(stream);
      if (stream.sizeExceeded) throw Object.assign(new Error("The message is too large"), { responseCode: 552 });
      const { default: PostalMime } = await import("postal-mime");
      const { headers, subject = "", text = "", html = "" } = await PostalMime.parse(raw);
      const from = headers.find(({ key }) => key === "from")?.value ?? "";
      const to = envelope.rcptTo.map(({ address }) => address);
      const byName = Object.fromEntries(headers.map(({ key, value }) => [key, value]));
      keep({ to, from, subject, text: text.trim(), html: html.trim(), headers: byName });
    };
    receive().then(() => done(), done);
  };
  const smtp = new SMTPServer({
    ...{ name: "mailbox", size: MAX_MESSAGE_BYTES, onData },
    ...{ authOptional: true, disabledCommands: ["AUTH", "STARTTLS"], disableReverseLookup: true },
  });
  smtp.on("error", () => {}); // a connection that broke: the mail was not kept, and its sender knows it
  return smtp.server;
}
