import { readFile } from "node:fs/promises";
import type { NotificationKind } from "../schemas/notification.ts";
import { type Stops, unsubscribeToken } from "./unsubscribe.ts";

/** What a mail says. Nothing in it is read as HTML. */
export interface Content {
  subject: string;
  heading: string;
  paragraphs: readonly string[];
  items: readonly { title: string; text: string; url: string }[];
  button: { label: string; url: string };
  /** Why it came. */
  why: string;
  /** What its links stop; the first one is the mail's `List-Unsubscribe`. */
  stops: readonly Stops[];
}

interface Sender {
  settings: { publicUrl: string; sessionSecrets: readonly string[] };
  clock: { now(): Date };
}

/** A mail without its id and address. */
export interface Composed {
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
}

const labels: Record<Stops, string> = {
  deadlines: "No more mails about deadlines",
  work: "No more mails about bids, awards and other work",
  money: "No more mails about money",
  messages: "No more mails about messages",
  marketplace: "No more mails about new tasks",
  daily: "No more daily mails",
  account: "",
};

let templates: Promise<{ html: string; text: string }> | undefined;

async function readTemplates() {
  const read = (name: string) => readFile(new URL(`mail/${name}`, import.meta.url), "utf8");
  const [html, text] = await Promise.all([read("generated/mail.html"), read("mail.txt")]);
  return { html, text };
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escapeHtml = (text: unknown) => String(text).replace(/[&<>"']/g, (character) => entities[character] ?? "");

/** Fills the template in, as HTML and as text. Whoever has a link of the mail can stop such mails, and nothing else. */
export async function compose({ settings, clock }: Sender, userId: string, content: Content): Promise<Composed> {
  templates ??= readTemplates();
  const { html, text } = await templates;
  const { default: mustache } = await import("mustache");
  const unsubscribe = content.stops
    .filter((what) => what !== "account")
    .map((what) => {
      const token = unsubscribeToken(settings.sessionSecrets, userId, what, clock.now());
      return { label: labels[what], url: `${settings.publicUrl}/notifications/unsubscribe?token=${token}` };
    });
  const [first] = unsubscribe;
  const preview = [...content.paragraphs, ...content.items.map(({ title }) => title)][0] ?? "";
  const view = { ...content, preview, unsubscribe };
  return {
    subject: content.subject,
    html: mustache.render(html, view, undefined, { escape: escapeHtml }),
    text: mustache.render(text, view, undefined, { escape: String }),
    headers: first
      ? { "List-Unsubscribe": `<${first.url}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" }
      : {},
  };
}

/** What a kind is called in "mails about …". */
export const aboutKind: Record<NotificationKind, string> = {
  deadlines: "deadlines",
  work: "bids, awards and other work",
  money: "money",
  messages: "messages",
  account: "your account",
  marketplace: "new tasks",
};
