import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { cookieOf } from "../factories/people.ts";
import { rest } from "../setup/client.ts";
import { type ServiceProcess, useProcesses } from "../setup/serviceProcess.ts";

const { start, dataDirectory, preparedDirectory } = useProcesses();

let count = 0;
const signUp = (url: string, email = `person${++count}@example.com`) =>
  rest(url, "POST", "/auth/signup", { body: { email, password: "correct horse battery", displayName: "Person" } });

/** Pays on the checkout page, and waits until the wallet shows it. */
async function topUp(url: string, session: Record<string, string>, amountCents: number): Promise<void> {
  const topup = await rest(url, "POST", "/wallet/topup", { body: { amountCents }, credentials: session });
  const body = new URLSearchParams({ outcome: "pays" });
  await fetch(`${topup.body.checkoutUrl}/pay`, { method: "POST", redirect: "manual", body });
  const wallet = async () => (await rest(url, "GET", "/wallet", { credentials: session })).body.availableCents;
  await expect.poll(wallet).toBe(amountCents);
}

describe("npm start", () => {
  test("prints one line when it is ready, and data and sessions survive a restart and a SIGKILL", async () => {
    const DATA_DIR = await dataDirectory();
    const first = await start({ DATA_DIR });
    await first.ready();
    expect(first.stdout()).toBe(`Rebid is ready: ${first.url.replace("127.0.0.1", "localhost")}\n`);
    expect(first.stderr()).toBe("");
    const session = cookieOf(await signUp(first.url));
    await topUp(first.url, session, 2_500);
    expect((await first.stop()).code).toBe(0);
    expect(first.stdout().split("\n")).toHaveLength(2);

    const second = await start({ DATA_DIR, PORT: new URL(first.url).port });
    await second.ready();
    const wallet = await rest(second.url, "GET", "/wallet", { credentials: session });
    expect(wallet.body).toEqual({ availableCents: 2_500, heldCents: 0 });
    const late = cookieOf(await signUp(second.url));
    expect((await second.stop("SIGKILL")).code).toBe("SIGKILL");

    const third = await start({ DATA_DIR });
    await third.ready();
    expect((await rest(third.url, "GET", "/auth/me", { credentials: late })).status).toBe(200);
  });

  test("runs beside another instance with its own data directory and port, and says which of them is in use", async () => {
    const DATA_DIR = await dataDirectory();
    const [a, b] = await Promise.all([start({ DATA_DIR }), start({ DATA_DIR: await preparedDirectory() })]);
    await Promise.all([a.ready(), b.ready()]);
    const [inA, inB] = await Promise.all([signUp(a.url, "same@example.com"), signUp(b.url, "same@example.com")]);
    expect([inA.status, inB.status]).toEqual([201, 201]);
    await Promise.all([topUp(a.url, cookieOf(inA), 1_000), topUp(b.url, cookieOf(inB), 2_000)]);
    expect((await rest(b.url, "GET", "/wallet", { credentials: cookieOf(inA) })).status).toBe(401);

    const { port: PORT } = new URL(a.url);
    const [onDirectory, onPort] = [await start({ DATA_DIR }), await start({ DATA_DIR: await dataDirectory(), PORT })];
    expect(await onDirectory.ended).toBe(1);
    expect(onDirectory.stderr()).toContain(`The data directory ${DATA_DIR} is in use by process ${a.child.pid}`);
    expect(onDirectory.stderr()).toContain("Stop it, or set DATA_DIR to another directory.");
    expect(onDirectory.stderr()).not.toMatch(/^ +at /m);
    expect(await onPort.ended).toBe(1);
    expect(onPort.stderr()).toContain(`Port ${PORT} is in use`);
    expect((await rest(a.url, "GET", "/readyz")).status).toBe(200);
  });

  test("ends immediately, with 0, when it is stopped during startup", async () => {
    const DATA_DIR = await dataDirectory();
    const first = await start({ DATA_DIR });
    await new Promise((resume) => setTimeout(resume, 700));
    const { code, ms } = await first.stop();
    expect([0, "SIGTERM"]).toContain(code); // the latter before main.ts has run
    expect(ms).toBeLessThan(10_000);
    await (await start({ DATA_DIR })).ready();
  });
});

describe("a start that fails", () => {
  test.each<[string, Record<string, string>, RegExp[]]>([
    [
      "in production names every setting that is missing",
      { NODE_ENV: "production" },
      [/DATABASE_URL/, /SESSION_SECRET/, /STRIPE_SECRET_KEY/, /S3_BUCKET/, /PUBLIC_URL/],
    ],
    ["names a port that is no number", { PORT: "many" }, [/PORT/]],
    ["names an unknown role", { ROLE: "king" }, [/ROLE/, /worker/]],
    [
      "names a secret that is too short",
      { SESSION_SECRET: "short" },
      [/`SESSION_SECRET` must have at least 32 characters/],
    ],
    ["asks for what belongs together", { STRIPE_SECRET_KEY: "sk_test_1" }, [/STRIPE_WEBHOOK_SECRET/]],
    ["asks for the object store's keys", { S3_ENDPOINT: "http://127.0.0.1:1" }, [/S3_BUCKET/, /S3_ACCESS_KEY_ID/]],
    ["refuses a window that is no time", { ACCEPTANCE_WINDOW_SECONDS: "soon" }, [/ACCEPTANCE_WINDOW_SECONDS/]],
  ])("%s", async (_, variables, messages) => {
    const service = await start({ DATA_DIR: await dataDirectory(), ...variables });
    expect(await service.ended).toBe(1);
    for (const message of messages) expect(service.stderr()).toMatch(message);
    expect(service.stderr()).not.toMatch(/^ +at /m);
    expect(service.stdout()).toBe("");
  });
});

describe("SIGTERM", () => {
  const commands: [string, string[]][] = [
    ["node server/start/main.ts", [process.execPath, "server/start/main.ts"]],
    ["npm start", ["npm", "start", "--silent"]],
  ];

  test.each(commands)(
    "to %s lets every accepted request have its full answer, and exits with 0 within 10 s",
    async (_, command) => {
      const service = await start({ DATA_DIR: await preparedDirectory() }, command);
      await service.ready();
      const session = cookieOf(await signUp(service.url));
      // Queued password hashes, requests with a late body, and clients that never stop.
      const waiting = await Promise.all(Array.from({ length: 20 }, () => acceptedSignUp(service)));
      const early = waiting.slice(0, 12).map((request) => request.finish());
      const clients = Array.from({ length: 4 }, () => askUntilRefused(service, session));
      await expect.poll(() => clients.every(({ answers }) => answers > 1)).toBe(true);

      const stopped = service.stop();
      await expect.poll(() => clients.some(({ toldToLeave }) => toldToLeave)).toBe(true);
      const late = waiting.slice(12).map((request) => request.finish());

      const { code, ms } = await stopped;
      expect(code).toBe(0);
      expect(ms).toBeLessThan(10_000);
      expect(await Promise.all([...early, ...late])).toEqual(Array(20).fill(201));
      for (const client of clients) expect(await client.end).toBe("not accepted");
      expect(service.stderr()).toBe("");
    },
  );

  test("twice, as npm and a terminal send it, works like once", async () => {
    const service = await start({ DATA_DIR: await preparedDirectory() });
    await service.ready();
    const waiting = await Promise.all(Array.from({ length: 10 }, () => acceptedSignUp(service)));
    service.child.kill("SIGINT");
    const answers = waiting.map((request) => request.finish());
    expect((await service.stop("SIGINT")).code).toBe(0);
    expect(await Promise.all(answers)).toEqual(Array(10).fill(201));
  });

  test("does not wait indefinitely for a request that never ends", async () => {
    const service = await start({ DATA_DIR: await preparedDirectory() });
    await service.ready();
    const { failure } = await acceptedSignUp(service);
    const { code, ms } = await service.stop();
    expect(code).toBe(0);
    expect(ms).toBeLessThan(10_000);
    expect(await failure).toMatchObject({ code: "ECONNRESET" });
  });

  /** Starts a sign-up, accepted with `100 Continue`; `finish` sends the body and returns the status. */
  async function acceptedSignUp({ url }: ServiceProcess) {
    const email = `person${++count}@example.com`;
    const body = JSON.stringify({ email, password: "correct horse battery", displayName: "Person" });
    const sent = request(`${url}/auth/signup`, {
      method: "POST",
      agent: false,
      headers: { "Content-Type": "application/json", "Content-Length": body.length, Expect: "100-continue" },
    });
    const failure = once(sent, "error").then(([error]: Error[]) => error);
    sent.flushHeaders();
    await once(sent, "continue");
    return {
      failure,
      async finish(): Promise<number | undefined> {
        sent.end(body);
        const [response]: IncomingMessage[] = await once(sent, "response");
        const { user } = JSON.parse(await text(response as IncomingMessage)); // a client's response is one
        expect(user.email).toBe(email);
        return response?.statusCode;
      },
    };
  }

  /** Sends one request after another over a kept-alive connection, until one gets no response. */
  function askUntilRefused({ url }: ServiceProcess, credentials: Record<string, string>) {
    const client = { answers: 0, toldToLeave: false, end: Promise.resolve("") };
    const ask = async (): Promise<string> => {
      for (;;) {
        try {
          const { status, body, headers } = await rest(url, "GET", "/auth/me", { credentials });
          expect(status).toBe(200);
          expect(body.user.id).toEqual(expect.any(String));
          client.answers++;
          client.toldToLeave = headers.get("connection") === "close";
        } catch (error) {
          if (!(error instanceof Error) || !("code" in error)) throw error;
          // A client that was told to close opens a new connection, which is reset if the service never accepted it.
          const { code } = error;
          const notAccepted = code === "ECONNREFUSED" || (client.toldToLeave && code === "ECONNRESET");
          return notAccepted ? "not accepted" : `dropped: ${code}`;
        }
      }
    };
    client.end = ask().catch(String);
    return client;
  }
});
