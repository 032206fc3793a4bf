import type { Transporter } from "nodemailer";

/** The mail server and the sender. */
export interface MailSettings {
  /** `smtp://` or `smtps://`, with user and password if the server needs them. */
  readonly smtpUrl: string;
  /** `rebid@example.com` or `Rebid <rebid@example.com>`. */
  readonly from: string;
}

interface Message {
  /** Stays the same when a mail is sent again, so that mail programs show one of two copies. */
  readonly id: string;
  /** One address in canonical form. */
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Further headers. */
  readonly headers?: Record<string, string>;
}

/** Sends mails. */
export interface Mail {
  /**
   * Resolves when the mail server has accepted the mail: true, or false if it refuses this recipient for good. Rejects when
   * it does not respond or cannot take the mail now.
   */
  send(message: Message): Promise<boolean>;
  /** Signs in at the mail server, and sends nothing. Rejects when that fails. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

/** A server that does not respond holds a job for at most this long. */
const TIMEOUT_MS = 10_000;

/** Opens the way to the mail server. `nodemailer` is loaded, and a connection made, when a mail is sent. */
export function openMail({ smtpUrl, from }: MailSettings): Mail {
  const timeouts = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS };
  // A message never names a file or an address whose content is to be attached.
  const access = { disableFileAccess: true, disableUrlAccess: true };
  let opened: Mail | undefined;
  const mail = async () => {
    if (opened === undefined) {
      const { createTransport } = await import("nodemailer");
      opened ??= mailThrough(createTransport({ url: smtpUrl, ...timeouts, ...access }), from);
    }
    return opened;
  };
  return {
    send: async (message) => (await mail()).send(message),
    verify: async () => (await mail()).verify(),
    close: async () => opened?.close(),
  };
}

function mailThrough(transport: Transporter, from: string): Mail {
  const domain = from.slice(from.lastIndexOf("@") + 1).replace(/[^\w.-].*$/, "");
  return {
    async send({ id, to, subject, text, html, headers = {} }) {
      try {
        // As an object, so that the address is not read as a list or as a name with an address.
        const recipient = { name: "", address: to };
        await transport.sendMail({ from, to: recipient, subject, text, html, headers, messageId: `<${id}@${domain}>` });
        return true;
      } catch (error) {
        if (isRefusedForGood(error)) return false;
        throw error;
      }
    },
    async verify() {
      await transport.verify();
    },
    async close() {
      transport.close();
    },
  };
}

/** A 5xx reply to the recipient's address. Any other failure may be ours, and the next attempt may succeed. */
function isRefusedForGood(error: unknown): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    error.code === "EENVELOPE" &&
    "responseCode" in error &&
    Number(error.responseCode) >= 500 &&
    "command" in error &&
    String(error.command).startsWith("RCPT")
  );
}
