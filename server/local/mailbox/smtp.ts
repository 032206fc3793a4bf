import type { Server } from "node:net";
import { buffer } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

/** A mail as it was received. */
export interface ReceivedMail {
  recipients: string[];
  /** The message: header and body, with CRLF. */
  raw: string;
}

const MAX_MESSAGE_BYTES = 1_000_000;

/** Creates a server that takes every mail and forwards none. It has no passwords and no TLS. */
export function smtpServer(keep: (mail: ReceivedMail) => void): Server {
  const onData: SMTPServerOptions["onData"] = (stream, { envelope }, done) => {
    const receive = async () => {
      const raw = (await buffer(stream)).toString("utf8");
      if (stream.sizeExceeded) throw Object.assign(new Error("The message is too large"), { responseCode: 552 });
      keep({ recipients: envelope.rcptTo.map(({ address }) => address), raw });
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
