import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import argon2 from "@node-rs/argon2";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { hashPassword, verifyPassword } from "../../server/auth/passwords.ts";
import { createApp } from "../../server/http/app.ts";
import { createPerson, type TestPerson } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { useService } from "../setup/testService.ts";

/** Passwords are compared when a test opens the gate. Real hashes would take some 300 times 18 ms of a core. */
let gate = Promise.withResolvers<void>();
let compared: string[] = [];

const service = useService();
const server = createServer();
const sockets: Socket[] = [];
let url = "";
let person: TestPerson;

beforeAll(async () => {
  person = await createPerson(service);
  const passwordHash = `hash of ${person.password}`;
  await service.services.database.prisma.user.update({ where: { id: person.id }, data: { passwordHash } });
  // The package's own object, because all test files of a worker share one copy of each module.
  vi.spyOn(argon2, "hash").mockImplementation(async (password) => `hash of ${password}`);
  vi.spyOn(argon2, "verify").mockImplementation(async (hash, password) => {
    if (hash === "corrupt") throw new Error("not a hash");
    await gate.promise;
    compared.push(String(password));
    return hash === `hash of ${password}`;
  });
  server.on("connection", (socket) => sockets.push(socket));
  server.on("request", createApp(service.services, { trustProxy: 1 }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});
beforeEach(() => {
  gate = Promise.withResolvers();
  compared = [];
});
afterEach(() => {
  gate.resolve();
  // What the queue refused was logged.
  service.errors.length = 0;
});

const login = (address: string, email: string, password: string) =>
  rest(url, "POST", "/auth/login", { body: { email, password }, headers: { "x-forwarded-for": address } });

/** Waits until this many logins that `send` begins have looked for their account, so that they are in the queue. */
async function queued<Sent>(count: number, send: () => Sent): Promise<Sent> {
  const query = vi.spyOn(service.services.database, "query");
  const sent = send();
  await expect.poll(() => query.mock.results).toHaveLength(count);
  await Promise.all(query.mock.results.map(({ value }) => value));
  query.mockRestore();
  await new Promise(setImmediate);
  return sent;
}

test("300 logins from one address delay themselves: someone else logs in promptly, 15 of 15 times", async () => {
  const flood = await queued(300, () =>
    Array.from({ length: 300 }, (_, index) => login("192.0.2.1", `unknown${index}@example.com`, "a guess")),
  );
  const attempts = await queued(15, () =>
    Array.from({ length: 15 }, () => login("192.0.2.2", person.email, person.password)),
  );
  gate.resolve();
  expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual(Array(15).fill(200));

  const answers = await Promise.all(flood);
  // Two are compared at a time, and 256 of one address may wait.
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(258);
  const refused = answers.filter(({ status }) => status === 503);
  expect(refused).toHaveLength(42);
  expect(new Set(refused.map(({ headers, body }) => `${body.error} ${headers.get("retry-after")}`))).toEqual(
    new Set(["unavailable 3"]),
  );
  // The two addresses take turns.
  expect(compared.lastIndexOf(person.password)).toBeLessThan(2 + 2 * 15);
});

test("the password of a client that has left is not compared", async () => {
  const running = await queued(2, () => [1, 2].map((n) => login("192.0.2.3", `${n}@example.com`, "still there")));
  const body = JSON.stringify({ email: person.email, password: "left early" });
  const client = await queued(1, () => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write(
      `POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    return socket;
  });
  const ours = sockets.find(({ remotePort }) => remotePort === client.localPort);
  client.destroy();
  await expect.poll(() => ours?.destroyed).toBe(true);
  gate.resolve();
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([401, 401]);
  expect((await login("192.0.2.4", "other@example.com", "still there")).status).toBe(401);
  expect(compared).toEqual(["still there", "still there", "still there"]);
});

test("a full queue refuses logins, and accepts them again later", async () => {
  gate.resolve();
  const queued = Array.from({ length: 258 }, () => hashPassword("a password"));
  await expect(verifyPassword(null, "a password")).rejects.toMatchObject({ code: "unavailable" });
  const hashes = await Promise.all(queued);

  expect(await verifyPassword(null, "a password")).toBe(false);
  expect(await verifyPassword(hashes[0] ?? null, "a password")).toBe(true);
  expect(await verifyPassword(hashes[0] ?? null, "another password")).toBe(false);
});

test("a corrupt hash matches no password", async () => {
  expect(await verifyPassword("corrupt", "a password")).toBe(false);
});
