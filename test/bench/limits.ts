import getPort from "get-port";
import pg from "pg";
import { generateApiKey } from "../../server/auth/apiKeys.ts";
import { hashSecret } from "../../server/auth/secretHash.ts";
import { type Bench, type BenchEnvironment, interleave, type Measurement, medianOf } from "./setup/bench.ts";
import { type Load, startLoadGenerator, startProcess } from "./setup/processes.ts";

const ROUNDS = 10;
const SECONDS = 1;
const CONNECTIONS = 16;

/**
 * What counting requests costs: the service with rate limits against the service without, in the same process. The
 * throughput includes what Postgres does; the CPU time is less at the mercy of whatever else the machine does.
 */
const bench: Bench = async (environment) => {
  const keys = await seed(environment);
  const { limited, unlimited } = await startServices(environment);
  const generator = await startLoadGenerator(environment);

  async function compare(what: string, headers: Load["headers"]): Promise<Measurement[]> {
    const measure = async ({ port, cpuMicroseconds }: Service, figures?: Figures) => {
      const before = await cpuMicroseconds();
      const result = await generator.run({ method: "GET", path: "/tasks", headers, port, seconds: SECONDS });
      const failed = Object.entries(result.statuses).filter(([status]) => status !== "200");
      if (failed.length > 0) throw new Error(`${what} on port ${port} answered with ${JSON.stringify(failed)}`);
      figures?.cpu.push(((await cpuMicroseconds()) - before) / (result.statuses[200] ?? 0));
      return result.requestsPerSecond;
    };
    for (const service of [limited, unlimited]) await measure(service);
    const ours: Figures = { cpu: [] };
    const baseline: Figures = { cpu: [] };
    const throughput = await interleave(
      ROUNDS,
      () => measure(limited, ours),
      () => measure(unlimited, baseline),
    );
    const cpu = { ours: medianOf(ours.cpu), baseline: medianOf(baseline.cpu) };
    const against = "without rate limits";
    return [
      { what, unit: "requests/s", ...throughput, against, atLeast: 0.95 },
      { what, unit: "µs of the process a request", ...cpu, against, atMost: 1.05 },
    ];
  }

  return [
    ...(await compare(
      "GET /tasks, anonymous, each connection with an address of its own",
      keys.map((_, index) => ({ "X-Forwarded-For": `192.0.2.${index}` })),
    )),
    ...(await compare(
      "GET /tasks, with an API key",
      keys.map((key) => ({ Authorization: `Bearer ${key}` })),
    )),
  ];
};
export default bench;

interface Figures {
  /** Microseconds of CPU time for each request, by round. */
  cpu: number[];
}

interface Service {
  port: number;
  cpuMicroseconds(): Promise<number>;
}

/** Fills a page of the feed, and creates a user with an API key for each connection. */
async function seed({ databaseUrl }: BenchEnvironment): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const keys = Array.from({ length: CONNECTIONS }, generateApiKey);
  for (const [index, key] of keys.entries()) {
    await client.query(
      `WITH owner AS (INSERT INTO users (email, password_hash, display_name) VALUES ($1, '', 'Reader') RETURNING id)
       INSERT INTO api_keys (user_id, label, scopes, key_hash, last4) SELECT id, 'bench', '{}', $2, $3 FROM owner`,
      [`reader${index}@example.com`, hashSecret(key), key.slice(-4)],
    );
  }
  await client.query(
    `INSERT INTO tasks (buyer_id, title, description, max_budget_cents, tags, created_at)
     SELECT (SELECT id FROM users LIMIT 1), 'Translate page ' || n, 'From English to Finnish.', 100, '{translation}',
            clock_timestamp() - n * interval '1 second'
     FROM generate_series(1, 1000) AS n`,
  );
  await client.query("VACUUM ANALYZE");
  await client.end();
  return keys;
}

async function startServices(environment: BenchEnvironment): Promise<{ limited: Service; unlimited: Service }> {
  const [port, unlimitedPort] = [await getPort(), await getPort()];
  const file = new URL("setup/limitedRebid.ts", import.meta.url).pathname;
  const variables = {
    DATABASE_URL: environment.databaseUrl,
    PORT: String(port),
    UNLIMITED_PORT: String(unlimitedPort),
  };
  const child = await startProcess(environment, file, { environment: variables, ready: /^ready$/ });
  const cpuMicroseconds = () =>
    new Promise<number>((resolve) => {
      child.once("message", (microseconds: number) => resolve(microseconds));
      child.send("cpu");
    });
  return { limited: { port, cpuMicroseconds }, unlimited: { port: unlimitedPort, cpuMicroseconds } };
}
