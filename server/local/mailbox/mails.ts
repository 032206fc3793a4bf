import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const MAX_MAILS = 200;

const BoxedMail = z.object({
  receivedAt: z.iso.datetime(),
  /** The recipients that the sender's server named. */
  to: z.array(z.string()),
  from: z.string(),
  subject: z.string(),
  /** The plain text. */
  text: z.string(),
  html: z.string(),
  /** Its headers, by name in lower case. Mails of an older version have none. */
  headers: z.record(z.string(), z.string()).prefault({}),
  /** The addresses that the plain text names. */
  links: z.array(z.string()),
});
/** A mail in the box. */
export type BoxedMail = z.infer<typeof BoxedMail>;
export type ReceivedMail = Omit<BoxedMail, "receivedAt" | "links">;

/** The mails in a directory, a file each. The newest 200 are kept. */
export class Mails {
  readonly #directory: string;
  #count = 0;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true });
  }

  keep(received: ReceivedMail): void {
    const receivedAt = new Date();
    const links = received.text.match(/https?:\/\/\S+/g) ?? [];
    const mail: BoxedMail = { receivedAt: receivedAt.toISOString(), ...received, links };
    const name = `${receivedAt.getTime()}-${String(this.#count++).padStart(6, "0")}.json`;
    const file = join(this.#directory, name);
    writeFileSync(`${file}.new`, JSON.stringify(mail), { mode: 0o600 });
    renameSync(`${file}.new`, file);
    for (const old of this.#files().slice(MAX_MAILS)) rmSync(join(this.#directory, old), { force: true });
  }

  /** Returns all mails, newest first. Those that an older version kept in another form are left out. */
  list(): BoxedMail[] {
    return this.#files().flatMap((name) => {
      const read = BoxedMail.safeParse(JSON.parse(readFileSync(join(this.#directory, name), "utf8")));
      return read.success ? [read.data] : [];
    });
  }

  #files(): string[] {
    return readdirSync(this.#directory)
      .filter((name) => name.endsWith(".json"))
      .sort()
      .reverse();
  }
}
