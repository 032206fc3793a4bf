import { WebhookSignatureError, webhooks } from "@rebid/sdk";
import Stripe from "stripe";
import { expect, test } from "vitest";
import { exampleEvent } from "../../server/webhooks/sample.ts";
import { signatureOf } from "../../server/webhooks/sign.ts";
import { failureOf } from "./clients.ts";

const secret = `whsec_${"5e".repeat(32)}`;
const body = JSON.stringify(exampleEvent("task.awarded"));
const now = new Date("2026-11-22T12:00:00Z");
const seconds = now.getTime() / 1000;
const header = signatureOf(Buffer.from(body), secret, now);
const v1 = header.split("v1=")[1] ?? "";

test("what the service signs is verified, from text and from bytes, and the event has its type", async () => {
  const event = await webhooks.verify(body, header, secret, { now });
  expect(event).toEqual(exampleEvent("task.awarded"));
  if (event.type !== "task.awarded") throw new Error("another type");
  expect(event.data.bid.priceCents).toBeGreaterThan(0);
  expect(await webhooks.verify(Buffer.from(body), header, secret, { now })).toEqual(event);
});

test("sign writes what the service writes", async () => {
  expect(await webhooks.sign(body, secret, { now })).toBe(header);
  expect(await webhooks.sign(new TextEncoder().encode(body), secret, { now })).toBe(header);
  expect(await webhooks.verify(body, await webhooks.sign(body, secret), secret)).toBeDefined();
});

test("Stripe's own library, whose format this is, verifies what is signed, and the other way round", async () => {
  const stripe = new Stripe("sk_test_x");
  const signed = await webhooks.sign(body, secret);
  expect(stripe.webhooks.constructEvent(body, signed, secret)).toMatchObject({ type: "task.awarded" });
  const theirs = stripe.webhooks.generateTestHeaderString({ payload: body, secret });
  expect(await webhooks.verify(body, theirs, secret)).toMatchObject({ type: "task.awarded" });
});

test.each([-301, 301])("a signature from %d seconds away is refused, in both directions", async (offset) => {
  const other = await webhooks.sign(body, secret, { now: new Date(now.getTime() + offset * 1000) });
  expect(await failureOf(webhooks.verify(body, other, secret, { now }))).toBeInstanceOf(WebhookSignatureError);
  const within = await webhooks.sign(body, secret, { now: new Date(now.getTime() + Math.sign(offset) * 300_000) });
  expect(await webhooks.verify(body, within, secret, { now })).toBeDefined();
  expect(await webhooks.verify(body, other, secret, { now, toleranceSeconds: 600 })).toBeDefined();
});

test("of several signatures, one has to be right", async () => {
  const wrong = "0".repeat(64);
  for (const good of [
    `t=${seconds},v1=${wrong},v1=${v1}`,
    `t=${seconds},v1=${v1},v1=${wrong}`,
    `v0=x,t=${seconds}, v1=${v1}`,
  ]) {
    expect(await webhooks.verify(body, good, secret, { now })).toBeDefined();
  }
  const bad = `t=${seconds},v1=${wrong},v1=${wrong}`;
  expect(await failureOf(webhooks.verify(body, bad, secret, { now }))).toBeInstanceOf(WebhookSignatureError);
});

test.each([
  null,
  undefined,
  "",
  "nonsense",
  `t=${seconds}`,
  `v1=${v1}`,
  `t=${seconds},v1=`,
  `t=${seconds},v1=${v1.slice(1)}`,
  `t=${seconds},v1=${v1}00`,
  `t=${seconds},v1=${v1.toUpperCase()}`,
  `t=${seconds},v0=${v1}`,
  `t=${seconds + 1},v1=${v1}`,
  `t=${seconds},t=${seconds + 1},v1=${v1}`,
  `t=-1,v1=${v1}`,
  `t=NaN,v1=${v1}`,
  `t=Infinity,v1=${v1}`,
  `t=${"9".repeat(400)},v1=${v1}`,
  `t=${seconds}.0,v1=${v1}`,
])("a header that is not the right one is refused: %s", async (bad) => {
  expect(await failureOf(webhooks.verify(body, bad, secret, { now }))).toBeInstanceOf(WebhookSignatureError);
});

test("another body or another secret is refused", async () => {
  for (const [other, key] of [
    [`${body} `, secret],
    [body.replace("8500", "1"), `${secret}x`],
    ["", secret],
    [body, secret.replace("whsec_", "")],
  ] as const) {
    expect(await failureOf(webhooks.verify(other, header, key, { now }))).toBeInstanceOf(WebhookSignatureError);
  }
});

test("a body that was parsed already, or a secret that is missing, is a mistake of the receiver's", async () => {
  const parsed = JSON.parse(body) as string;
  expect(await failureOf(webhooks.verify(parsed, header, secret, { now }))).toMatchObject({
    name: "TypeError",
    message: expect.stringMatching("raw"),
  });
  expect(await failureOf(webhooks.verify(body, header, "", { now }))).toBeInstanceOf(TypeError);
});
