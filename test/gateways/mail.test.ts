import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { type Mail, openMail } from "../../server/gateways/mail.ts";
import type { BoxedMail } from "../../server/local/mailbox/mails.ts";
import { startMailbox } from "../../server/local/mailbox/start.ts";
import { canonicalEmail } from "../../server/schemas/user.ts";

const from = "Rebid <rebid@example.com>";
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const message = (to: string, changes: object = {}) => ({
  ...{ id: crypto.randomUUID(), to, subject: "Subject", text: "Text ä\n.\n.. dots\n", html: "<p>Text ä</p>" },
  ...changes,
});

function mailTo(smtpUrl: string): Mail {
  const mail = openMail({ smtpUrl, from });
  onTestFinished(() => mail.close());
  return mail;
}

async function mailbox(directory: string) {
  const box = await startMailbox({ directory });
  stops.push(box.stop);
  const list = async () => (await (await fetch(`${box.pageUrl}/mails`)).json()) as BoxedMail[];
  return { ...box, list };
}

async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rebid-mail-"));
  stops.push(() => rm(directory, { recursive: true }));
  return directory;
}

/** A server that answers RCPT in its own way. */
async function smtpThatSays(reply: string): Promise<string> {
  const server: Server = createServer((socket) => {
    socket.write("220 test\r\n");
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk) => {
      const line = chunk.toString();
      if (/^EHLO/.test(line)) socket.write("250 test\r\n");
      else if (/^RCPT/.test(line)) socket.write(`${reply}\r\n`);
      else if (/^QUIT/.test(line)) socket.end("221 bye\r\n");
      else socket.write("250 ok\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(() => new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  return `smtp://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}

test("the mailbox's page survives a request whose target is not a URL", async () => {
  const { pageUrl, list } = await mailbox(await temporaryDirectory());
  expect((await fetch(`${pageUrl}//`)).status).toBe(404);
  expect(await list()).toEqual([]);
});

test("a mail arrives as plain text and HTML, for its recipient only, and survives a restart of the mailbox", async () => {
  const directory = await temporaryDirectory();
  const first = await mailbox(directory);
  expect(await mailTo(first.smtpUrl).send(message("ada@example.com"))).toBe(true);
  const mails = await first.list();
  expect(mails).toMatchObject([
    { from, to: ["ada@example.com"], subject: "Subject", text: "Text ä\n.\n.. dots", html: "<p>Text ä</p>" },
  ]);
  expect(await (await mailbox(directory)).list()).toEqual(mails);
});

test("no address that may sign up adds a recipient or a header", async () => {
  const box = await mailbox(await temporaryDirectory());
  const mail = mailTo(box.smtpUrl);
  const tried = [
    "a@example.com\r\nBcc: b@example.com",
    "a@example.com, b@example.com",
    "a<b@example.com>@example.com",
    '"a\r\nRCPT TO:<b@example.com>"@example.com',
    "a\u2028b@example.com",
    "a%0d%0abcc:b@example.com",
    "x=?utf-8?q?a=0d=0aBcc:b@example.com",
    "group:a@example.com;@example.com",
    "ünïcode@example.com",
    "a+b'c!#$&*/=?^_`{|}~@example.com",
  ];
  const allowed = tried.flatMap((address) => canonicalEmail(address) ?? []);
  expect(allowed).toHaveLength(2);
  for (const address of allowed) expect(await mail.send(message(address))).toBe(true);
  const mails = await box.list();
  expect(mails.map(({ to }) => to).reverse()).toEqual(allowed.map((address) => [address]));
  // Even an address that never passed a schema.
  for (const address of tried.slice(0, 4)) await mail.send(message(address)).catch(() => undefined);
  for (const { to } of await box.list()) expect(to).toHaveLength(1);
  expect((await box.list()).flatMap(({ to }) => to)).not.toContain("b@example.com");
});

test("a recipient that the server refuses for good is not tried again; any other failure is", async () => {
  expect(await mailTo(await smtpThatSays("550 5.1.1 no such user")).send(message("a@example.com"))).toBe(false);
  await expect(mailTo(await smtpThatSays("451 later")).send(message("a@example.com"))).rejects.toThrow();
  await expect(mailTo("smtp://127.0.0.1:1").send(message("a@example.com"))).rejects.toThrow();
});

test("the mailbox's page escapes what mails say, and answers only to the names of this machine", async () => {
  const box = await mailbox(await temporaryDirectory());
  const evil = '<script>alert(1)</script> "https://x.example/"onclick=x';
  await mailTo(box.smtpUrl).send(message("ada@example.com", { subject: evil, text: evil }));
  const page = await (await fetch(box.pageUrl)).text();
  expect(page).toContain("&#60;script&#62;");
  expect(page).not.toMatch(/<script|"https:\/\/x\.example\/"onclick/);
  const { port } = new URL(box.pageUrl);
  const { request } = await import("node:http");
  const status = await new Promise<number | undefined>((resolve) => {
    request({ port, host: "127.0.0.1", headers: { host: "evil.example" } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).end();
  });
  expect(status).toBe(404);
  expect((await fetch(box.pageUrl, { method: "POST" })).status).toBe(404);
});

test("the mailbox refuses a message that is too large, and then takes the next one", async () => {
  const box = await mailbox(await temporaryDirectory());
  const mail = mailTo(box.smtpUrl);
  await mail.send(message("ada@example.com", { text: "x".repeat(1_000_000) })).catch(() => undefined);
  expect(await box.list()).toEqual([]);
  expect(await mail.send(message("ada@example.com"))).toBe(true);
  expect(await box.list()).toHaveLength(1);
});
