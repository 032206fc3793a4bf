/** What the page shows of a mail. */
export interface Message {
  from: string;
  subject: string;
  /** The plain text. */
  text: string;
  html: string;
}

/** Reads a message as `nodemailer` writes it: a plain text, or one with the same in HTML. */
export function parseMessage(raw: string): Message {
  const { header, body } = split(raw);
  const boundary = /boundary="?([^";]+)"?/i.exec(header("content-type"))?.[1];
  const parts = boundary === undefined ? [raw] : body.split(`--${boundary}`).slice(1, -1);
  const contentOf = (type: string) => {
    const part = parts.map((each) => split(each.replace(/^\r\n/, ""))).find((each) => each.type === type);
    return part === undefined
      ? ""
      : decode(part.body, part.header("content-transfer-encoding")).replaceAll("\r\n", "\n").trim();
  };
  return {
    from: header("from"),
    subject: header("subject"),
    text: contentOf("text/plain"),
    html: contentOf("text/html"),
  };
}

function split(raw: string): { header: (name: string) => string; type: string; body: string } {
  const end = raw.indexOf("\r\n\r\n");
  // A long header continues on lines that begin with a blank.
  const lines = raw.slice(0, end < 0 ? raw.length : end).replace(/\r\n[ \t]+/g, " ");
  const header = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, "im").exec(lines)?.[1]?.trim() ?? "";
  const [type = ""] = header("content-type").split(";");
  return { header, type: type.toLowerCase(), body: end < 0 ? "" : raw.slice(end + 4) };
}

function decode(body: string, encoding: string): string {
  if (/base64/i.test(encoding)) return Buffer.from(body, "base64").toString("utf8");
  if (!/quoted-printable/i.test(encoding)) return body;
  const bytes = body
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
