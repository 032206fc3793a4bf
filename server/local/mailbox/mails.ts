import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Message, parseMessage } from "./message.ts";
import type { ReceivedMail } from "./smtp.ts";

const MAX_MAILS = 200;

const Stored = z.object({ receivedAt: z.iso.datetime(), recipients: z.array(z.string()), raw: z.string() });

/** A mail in the box, and the addresses that it names. */
export interface BoxedMail extends Message {
  receivedAt: string;
  to: string[];
  links: string[];
}

/** The mails in a directory, a file each. The newest 200 are kept. */
export class Mails {
  readonly #directory: string;
  #count = 0;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true });
  }

  keep({ recipients, raw }: ReceivedMail): void {
    const receivedAt = new Date();
    const name = `${receivedAt.getTime()}-${String(this.#count++).padStart(6, "0")}.json`;
    const file = join(this.#directory, name);
    writeFileSync(`${file}.new`, JSON.stringify({ receivedAt: receivedAt.toISOString(), recipients, raw }), {
      mode: 0o600,
    });
    renameSync(`${file}.new`, file);
    for (const old of this.#files().slice(MAX_MAILS)) rmSync(join(this.#directory, old), { force: true });
  }

  /** Returns all mails, newest first. */
  list(): BoxedMail[] {
    return this.#files().map((name) => {
      const { receivedAt, recipients, raw } = Stored.parse(
        JSON.parse(readFileSync(join(this.#directory, name), "utf8")),
      );
      const message = parseMessage(raw);
      const links = message.text.match(/https?:\/\/\S+/g) ?? [];
      return { receivedAt, to: recipients, ...message, links };
    });
  }

  #files(): string[] {
    return readdirSync(this.#directory)
      .filter((name) => name.endsWith(".json"))
      .sort()
      .reverse();
  }
}
