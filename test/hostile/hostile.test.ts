import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { errorCatalogue } from "../../server/errors.ts";
import { createTestDatabase } from "../setup/testDatabase.ts";
import { type Figures, run } from "./engine.ts";
import { HeldSockets } from "./heldSockets.ts";
import { prepare, startService } from "./service.ts";

/** A first look, at every operation. CI also sends 20,000 with `npm run hostile`, which expects successes everywhere, too. */
const REQUESTS = 2_000;
const LIMITED_REQUESTS = 500;
/** A failure must be the same on every machine. */
const SEED = 10;

let stage: Awaited<ReturnType<typeof prepare>>;
let directory: string;
const stops: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const database = await createTestDatabase();
  stops.push(database.drop);
  directory = await mkdtemp(join(tmpdir(), "rebid-hostile-"));
  stops.push(() => rm(directory, { recursive: true, force: true }));
  stage = await prepare(database.url, database.ownerUrl, join(directory, "data"));
  stops.push(stage.stop);
});

afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

/** Fails with every finding and its reproduction. */
function expectNoFindings({ findings }: Figures): void {
  const texts = [...findings.values()].map(({ what, detail, count, reproduction }) =>
    `${what} (${count} times): ${detail}\n${reproduction}`.slice(0, 4_000),
  );
  expect(texts, `with the seed ${SEED}`).toEqual([]);
}

test(`of ${REQUESTS} hostile requests none is answered otherwise than documented, and no refused one changes anything`, {
  timeout: 300_000,
}, async () => {
  const held = new HeldSockets(stage.port);
  try {
    const figures = await run({ ...stage, requests: REQUESTS, seed: SEED });
    expectNoFindings(figures);
    expect(held.findFaults(stage.contract)).toEqual([]);
    expect(stage.service.log, "logged as errors").toEqual([]);

    const untried = stage.contract.operations
      .map(({ route }) => route.procedurePath)
      .filter((path) => !figures.operations.get(path)?.refused);
    expect(untried).toEqual([]);
  } finally {
    held.close();
  }
});

test("with limits, the same holds, and some requests are refused for being too many", async () => {
  const variables = { RATE_LIMITS: "on", SPAM_GUARD: "on" };
  const service = await startService(stage.databaseUrl, join(directory, "data"), variables);
  stops.push(service.stop);
  // However slow the machine, no login is left for the requests of this minute.
  const body = JSON.stringify({ email: "nobody@example.com", password: "a wrong password" });
  for (let count = 0; count < 10; count++) {
    const headers = { "content-type": "application/json" };
    await fetch(`${service.url}/auth/login`, { method: "POST", headers, body });
  }
  const figures = await run({ ...stage, port: service.port, requests: LIMITED_REQUESTS, seed: SEED + 1 });
  expectNoFindings(figures);
  expect(figures.statuses[errorCatalogue.rate_limited.status]).toBeGreaterThan(0);
});

test("every operation names a field that it does not know", async () => {
  for (const { route } of stage.contract.operations) {
    const path = route.path.replace(/\{\w+\}/g, crypto.randomUUID());
    const headers = { ...stage.world.credentialsOf("moderator"), "content-type": "application/json" };
    const response = await fetch(stage.service.url + path + (route.takesBody ? "" : "?unheardOf=1"), {
      method: route.method,
      headers,
      body: route.takesBody ? '{"unheardOf":1}' : null,
    });
    const body: unknown = await response.json();
    expect([route.procedurePath, response.status, body]).toMatchObject([
      route.procedurePath,
      400,
      { error: "invalid_input", issues: expect.arrayContaining([expect.objectContaining({ path: "unheardOf" })]) },
    ]);
  }
});
