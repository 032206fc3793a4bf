import { createPublicKey, verify } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { command } from "../../server/commands/pushKeys.ts";
import { ensurePushKey, listPushKeys } from "../../server/notifications/pushKeys.ts";
import { addPushJobs, sendPush } from "../../server/notifications/sendPush.ts";
import { sql } from "../../server/store/connection.ts";
import { browserSubscription, createBrowser } from "../factories/browsers.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { operatorSettings, runHere } from "../setup/commandProcess.ts";
import { expectErrorBody } from "../setup/expectError.ts";
import { useService } from "../setup/testService.ts";

const service = useService({ settings: { webhookAllowInsecure: true } });

/** A push service of the test's own: it verifies the signature with the key that its browser subscribed with. */
const pushService = {
  url: "",
  received: [] as { path: string; headers: IncomingHttpHeaders; body: Buffer; key: string }[],
  /** The status for a path; 201 by default. */
  statuses: new Map<string, number>(),
  /** The only key that a path accepts. */
  keys: new Map<string, string>(),
  stop: async () => {},
};

/** Returns the claims of a VAPID header. Throws unless its own key has signed them. */
function readVapid(authorization = ""): { key: string; aud: string; exp: number; sub: string } {
  const [, token = "", key = ""] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(authorization) ?? [];
  const [header = "", claims = "", signature = ""] = token.split(".");
  const point = Buffer.from(key, "base64url");
  const [x, y] = [point.subarray(1, 33).toString("base64url"), point.subarray(33).toString("base64url")];
  const publicKey = createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x, y } });
  const isValid = verify(
    "sha256",
    Buffer.from(`${header}.${claims}`),
    { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  expect(isValid).toBe(true);
  return { key, ...JSON.parse(Buffer.from(claims, "base64url").toString()) };
}

beforeAll(async () => {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // without an encoding, chunks are buffers
    const path = request.url ?? "";
    const { key } = readVapid(request.headers.authorization);
    pushService.received.push({ path, headers: request.headers, body: Buffer.concat(chunks), key });
    const isForeign = (pushService.keys.get(path) ?? key) !== key;
    response.writeHead(isForeign ? 403 : (pushService.statuses.get(path) ?? 201), { location: "/elsewhere" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  pushService.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  pushService.stop = () => new Promise((resolve) => server.close(() => resolve()));
});
afterAll(() => pushService.stop());

let person: TestPerson;
beforeEach(async () => {
  person = await createPerson(service);
  pushService.received = [];
});

const message = () => ({
  id: crypto.randomUUID(),
  title: "Lines for a moose was delivered",
  text: "Accept or dispute it within 48 hours.",
  url: "/tasks/1",
});
const inAnHour = () => new Date(service.services.clock.now().getTime() + 3_600_000).toISOString();
const list = async (of = person) => (await of.get("/notifications/push")).body.subscriptions;
const readKey = async () => (await person.get("/notifications/push")).body.publicKey;

async function subscribe(path: string, keys = createBrowser().keys, of = person): Promise<string> {
  const { status, body } = await of.post("/notifications/push", { endpoint: `${pushService.url}${path}`, keys });
  expect(status).toBe(201);
  return body.subscription.id;
}
const send = (subscriptionId: string, { until = inAnHour(), of = message() } = {}) =>
  sendPush(service.services, { subscriptionId, message: of, until });

describe("what a browser gets", () => {
  test("only the browser can read it, signed for its push service, with a time to live until the deadline", async () => {
    const browser = createBrowser();
    const sent = { ...message(), title: "🦉".repeat(500), text: "\u0001".repeat(2_000) };
    await send(await subscribe("/read", browser.keys), { of: sent });
    const [got] = pushService.received;
    if (!got) throw new Error("nothing came");
    const { headers, body, key } = got;
    expect(body.length).toBeLessThan(4_096);
    expect(body.toString("latin1")).not.toContain("tasks");
    const shown = JSON.parse(browser.decrypt(body));
    expect(shown).toMatchObject({ id: sent.id, url: "/tasks/1" });
    expect([[...shown.title].length, shown.text.length]).toEqual([120, 300]);
    expect(headers["content-encoding"]).toBe("aes128gcm");
    expect(headers.topic).toBe(sent.id.replaceAll("-", ""));
    expect(Number(headers.ttl)).toBeGreaterThan(3_500);
    expect(Number(headers.ttl)).toBeLessThanOrEqual(3_600);
    expect(readVapid(headers.authorization)).toMatchObject({ aud: pushService.url, key: await readKey() });
    expect(key).toBe(await readKey());
  });

  test("nothing after the deadline, and nothing after the end of the session", async () => {
    const id = await subscribe("/late");
    await send(id, { until: new Date(0).toISOString() });
    const { database } = service.services;
    await database.query(
      sql`UPDATE sessions SET expires_at = now() - interval '1 hour' WHERE user_id = ${person.id}::uuid`,
    );
    await send(id);
    expect(pushService.received).toEqual([]);
  });

  test("each browser of a person has one job for an event, however often it is added", async () => {
    await subscribe("/once");
    const [told, jobs] = [
      message(),
      sql`
      SELECT 1 FROM graphile_worker.jobs WHERE task_identifier = 'sendPush' AND key LIKE ${`push:%`}`,
    ];
    const add = () =>
      service.services.database.transaction((tx) =>
        addPushJobs(tx, person.id, told, { until: new Date(Date.now() + 3_600_000) }),
      );
    await Promise.all([add(), add()]);
    await add();
    expect(await service.services.database.query(jobs)).toHaveLength(1);
  });
});

describe("a subscription", () => {
  test.each([404, 410])("is forgotten when the push service responds with %i", async (status) => {
    pushService.statuses.set(`/gone${status}`, status);
    await send(await subscribe(`/gone${status}`));
    expect(await list()).toEqual([]);
  });

  test.each([429, 500, 503])(
    "stays when the push service responds with %i, and the message is tried again",
    async (status) => {
      pushService.statuses.set(`/busy${status}`, status);
      const id = await subscribe(`/busy${status}`);
      await expect(send(id)).rejects.toThrow(`${status}`);
      expect(await list()).toHaveLength(1);
    },
  );

  test("follows no redirect, and stays when the push service refuses one message", async () => {
    pushService.statuses.set("/moved", 307).set("/refused", 413);
    for (const path of ["/moved", "/refused"]) await send(await subscribe(path));
    expect(pushService.received.map(({ path }) => path)).toEqual(["/moved", "/refused"]);
    expect(await list()).toHaveLength(1);
  });

  test("is one for each session, ends with it, and is closed to others", async () => {
    const first = await subscribe("/first");
    const second = await subscribe("/second");
    expect(await list()).toEqual([{ id: second, createdAt: expect.any(String), current: true }]);
    await send(first);
    expect(pushService.received).toEqual([]);
    const other = await createPerson(service);
    expectErrorBody((await other.delete(`/notifications/push/${second}`)).body, "not_found");
    expect((await person.delete(`/notifications/push/${second}`)).status).toBe(204);
    expect(await list()).toEqual([]);

    const last = await subscribe("/last");
    expect((await person.post("/auth/logout")).status).toBe(204);
    await send(last);
    expect(pushService.received).toEqual([]);
  });

  test("and the end of its session at the same time end in either", async () => {
    for (let round = 0; round < 20; round++) {
      const leaving = await createPerson(service);
      const [subscribed] = await Promise.all([
        leaving.post("/notifications/push", browserSubscription(`${pushService.url}/leaving`)),
        leaving.post("/auth/logout"),
      ]);
      expect([201, 401]).toContain(subscribed.status);
    }
  });

  test("goes to whoever signed in last in the same browser", async () => {
    const { keys } = createBrowser();
    const former = await subscribe("/shared", keys);
    const other = await createPerson(service);
    await subscribe("/shared", keys, other);
    await send(former);
    expect([pushService.received, await list(), (await list(other)).length]).toEqual([[], [], 1]);
  });

  test("is not taken over by somebody who knows the browser's endpoint but not its secret", async () => {
    const browser = createBrowser();
    const id = await subscribe("/known", browser.keys);
    await subscribe("/known", createBrowser().keys, await createPerson(service));
    await send(id);
    const [got] = pushService.received;
    expect(JSON.parse(browser.decrypt(got?.body ?? Buffer.alloc(0)))).toMatchObject({ url: "/tasks/1" });
  });

  test.each([
    ["a key that is not on the curve", { keys: { p256dh: "B".repeat(87), auth: "A".repeat(22) } }],
    ["a short secret", { keys: { ...createBrowser().keys, auth: "AAAA" } }],
    ["no keys", { keys: undefined }],
    ["another field", { expirationTime: null }],
  ])("is refused with %s", async (_name, change) => {
    const { status, body } = await person.post("/notifications/push", { ...browserSubscription(), ...change });
    expectErrorBody(body, "invalid_input");
    expect([status, await list()]).toEqual([400, []]);
  });
});

describe("the key", () => {
  test("is made once, however many processes start first", async () => {
    const { database } = service.services;
    await database.query(sql`DELETE FROM push_subscriptions`);
    await database.query(sql`DELETE FROM push_keys`);
    await Promise.all(Array.from({ length: 8 }, () => ensurePushKey(database)));
    const made = await readKey();
    await ensurePushKey(database);
    expect([await readKey(), (await listPushKeys(database)).length]).toEqual([made, 1]);
  });

  test("rotates without a stop: old browsers are told with the old one, new ones with the new one", async () => {
    const before = await readKey();
    const old = await subscribe("/old");
    pushService.keys.set("/old", before);
    const { code, stdout } = await runHere(command, ["rotate"], operatorSettings(service));
    const after = await readKey();
    expect([code, after === before, stdout.includes(after)]).toEqual([0, false, true]);
    await send(old);
    const other = await createPerson(service);
    pushService.keys.set("/new", after);
    await send(await subscribe("/new", createBrowser().keys, other));
    expect(pushService.received.map(({ key }) => key)).toEqual([before, after]);
  });

  test("that was replaced 90 days ago is deleted at the next rotation, when no browser has it", async () => {
    const { database } = service.services;
    const generations = async () =>
      (await database.query<{ generation: number }>(sql`SELECT generation FROM push_keys ORDER BY 1`)).map(
        ({ generation }) => generation,
      );
    await database.query(sql`DELETE FROM push_subscriptions`);
    await readKey();
    await runHere(command, ["rotate"], operatorSettings(service));
    const before = await generations();
    await subscribe("/kept");
    await database.query(sql`UPDATE push_keys SET created_at = service_now() - interval '91 days'`);
    await runHere(command, ["rotate"], operatorSettings(service));
    const newest = before.at(-1) ?? 0;
    expect(await generations()).toEqual([newest, newest + 1]);
    await database.query(sql`UPDATE push_keys SET created_at = service_now() - interval '91 days'`);
    await runHere(command, ["rotate"], operatorSettings(service));
    expect(await generations()).toEqual([newest, newest + 1, newest + 2]);
  });

  test("is found again for a browser that subscribed just before the rotation", async () => {
    const before = await readKey();
    await runHere(command, ["rotate"], operatorSettings(service));
    pushService.keys.set("/race", before);
    const id = await subscribe("/race");
    await send(id);
    await send(id);
    expect(pushService.received.map(({ key }) => key === before)).toEqual([false, true, true]);
  });

  test("a browser that no key fits is forgotten", async () => {
    pushService.keys.set("/foreign", "another");
    await send(await subscribe("/foreign"));
    expect(await list()).toEqual([]);
  });
});
