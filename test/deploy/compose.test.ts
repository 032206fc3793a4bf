import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import type { BoxedMail } from "../../server/local/mailbox/mails.ts";
import { startMailbox } from "../../server/local/mailbox/start.ts";
import { startObjectStore } from "../../server/local/objectStore/start.ts";
import { startPostgres } from "../../server/local/postgres/start.ts";
import { startProcessor } from "../../server/local/processor/start.ts";
import { openDatabase } from "../../server/store/database.ts";
import { createPerson } from "../factories/people.ts";
import { deliveredTask } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { useProcesses } from "../setup/serviceProcess.ts";
import { unusedPort } from "../setup/unusedPort.ts";

const deploy = join(import.meta.dirname, "../../deploy");

const { start } = useProcesses();

const ComposeService = z.object({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  networks: z.object({ default: z.object({ aliases: z.array(z.string()) }) }).optional(),
});
type ComposeService = z.infer<typeof ComposeService>;

/** The services of compose.yaml, with variables replaced as the Compose specification says. */
async function readServices(variables: Record<string, string>): Promise<Map<string, ComposeService>> {
  const file = parse(await readFile(join(deploy, "compose.yaml"), "utf8"), { merge: true });
  const text = JSON.stringify(file).replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name, operator, word) => {
    const value = variables[name] || (operator === "-" ? word : undefined);
    if (value === undefined) throw new Error(`compose.yaml needs ${name}, and compose.env does not name it`);
    return value;
  });
  return new Map(
    Object.entries(z.object({ services: z.record(z.string(), ComposeService) }).parse(JSON.parse(text)).services),
  );
}

/** A value for each variable that compose.env leaves to the operator. */
async function secrets(): Promise<Record<string, string>> {
  const names = (await readFile(join(deploy, "compose.env"), "utf8")).matchAll(/^(\w+)=$/gm);
  const random = () => randomBytes(32).toString("hex");
  const values = Object.fromEntries([...names].map(([, name = ""]) => [name, random()]));
  return { ...values, STRIPE_SECRET_KEY: `sk_test_${random()}`, STRIPE_WEBHOOK_SECRET: `whsec_${random()}` };
}

/** What the image sets and runs. */
async function readImage() {
  const file = await readFile(join(deploy, "Containerfile"), "utf8");
  const [, assignments = ""] = /^ENV (.+)$/m.exec(file) ?? [];
  const [, command = ""] = /^CMD (.+)$/m.exec(file) ?? [];
  const [, health = ""] = /^HEALTHCHECK .* CMD (.+)$/m.exec(file) ?? [];
  return {
    environment: Object.fromEntries(assignments.split(" ").map((each) => each.split("=", 2))),
    command: z.array(z.string()).parse(JSON.parse(command)),
    health: z.array(z.string()).parse(JSON.parse(health)),
  };
}

/** In the order in which `docker compose up` starts them. */
function inOrder(services: Map<string, ComposeService>): string[] {
  const started: string[] = [];
  const visit = (name: string) => {
    if (started.includes(name)) return;
    const service = services.get(name);
    if (service === undefined) throw new Error(`compose.yaml has no service ${name}`);
    for (const other of Object.keys(service.depends_on)) visit(other);
    started.push(name);
  };
  for (const name of services.keys()) visit(name);
  return started;
}

/** Starts what stands for the containers of others; returns where each address of compose.yaml leads, and the rest. */
async function startOthers(variables: Record<string, string>, services: Map<string, ComposeService>, apiPort: number) {
  const directory = await mkdtemp(join(tmpdir(), "rebid-compose-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const postgres = await startPostgres({ directory: join(directory, "postgres"), durable: false });
  onTestFinished(postgres.stop);
  const owner = services.get("postgres")?.environment ?? {};
  const administrator = Object.assign(new URL(postgres.url), { pathname: "/postgres" }).href;
  await runSql(administrator, [
    "DROP DATABASE rebid", // the embedded one is not made as the container's
    `CREATE ROLE ${owner.POSTGRES_USER} SUPERUSER LOGIN PASSWORD '${owner.POSTGRES_PASSWORD}'`,
    `CREATE DATABASE ${owner.POSTGRES_DB} OWNER ${owner.POSTGRES_USER}`,
  ]);
  const roles = await readFile(join(deploy, "postgres/roles.sh"), "utf8");
  const [, statements = ""] = /<<'SQL'\n([\s\S]*?)\nSQL/.exec(roles) ?? [];
  await runSql(administrator, [statements.replaceAll(":'password'", `'${owner.SERVICE_PASSWORD}'`)]);

  const store = services.get("store")?.environment ?? {};
  const objects = await startObjectStore({
    directory: join(directory, "objects"),
    bucket: "rebid",
    region: "us-east-1",
    accessKeyId: store.ROOT_ACCESS_KEY ?? "",
    secretAccessKey: store.ROOT_SECRET_KEY ?? "",
  });
  onTestFinished(objects.stop);
  const mailbox = await startMailbox({ directory: join(directory, "mailbox") });
  onTestFinished(mailbox.stop);
  const processor = await startProcessor({
    directory: join(directory, "processor"),
    secretKey: variables.STRIPE_SECRET_KEY ?? "",
    webhookSecret: variables.STRIPE_WEBHOOK_SECRET ?? "",
    eventsUrl: `http://127.0.0.1:${apiPort}/processor/events`,
  });
  onTestFinished(processor.stop);
  const addresses = {
    "postgres:5432": new URL(postgres.url).host,
    "http://files.localhost:7070": objects.url,
    "smtp://mail:1025": mailbox.smtpUrl,
  };
  return { addresses, mailboxUrl: mailbox.pageUrl, processorUrl: processor.url };
}

async function runSql(url: string, statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

test("the commands of compose.yaml, in its order and with its settings, make a production service that trades and sends mails", async () => {
  const variables = await secrets();
  const services = await readServices(variables);
  const image = await readImage();
  const apiPort = await unusedPort();
  const { addresses, mailboxUrl, processorUrl } = await startOthers(variables, services, apiPort);
  for (const address of Object.keys(addresses)) {
    const host = new URL(address.includes("://") ? address : `tcp://${address}`).hostname;
    const names = [...services].flatMap(([name, { networks }]) => [name, ...(networks?.default.aliases ?? [])]);
    expect(names, `who ${address} is`).toContain(host);
  }

  const startContainer = async (name: string, outside: Record<string, string> = {}) => {
    const { command = image.command, environment } = services.get(name) ?? {};
    const local = Object.entries(environment ?? {}).map(([key, value]) => {
      for (const [address, real] of Object.entries(addresses)) value = value.replace(address, real);
      return [key, value];
    });
    const settings = { ...image.environment, ...Object.fromEntries(local), ...outside };
    const [program, ...parameters] = command;
    expect(program).toBe("node");
    return { settings, process: await start(settings, [process.execPath, ...parameters]) };
  };
  // What differs from a container: ports of a network of its own, and the payment processor.
  const outside = async (port: number) => ({
    HOST: "127.0.0.1",
    PORT: String(port),
    METRICS_PORT: String(await unusedPort()),
    STRIPE_API_BASE: processorUrl,
  });

  const own = inOrder(services).filter((name) => services.get(name)?.image === "rebid");
  expect(own).toEqual(["migrate", "api", "worker"]);
  const migrate = await startContainer("migrate");
  expect([await migrate.process.ended, migrate.process.stderr()]).toEqual([0, ""]);
  expect(migrate.process.stdout()).toContain("The service's role has what it needs, and no more.");
  const api = await startContainer("api", await outside(apiPort));
  const worker = await startContainer("worker", await outside(await unusedPort()));
  await Promise.all([api, worker].map(({ process }) => process.ready()));

  const [program = "", ...parameters] = image.health;
  expect(program).toBe("node");
  for (const { settings } of [api, worker]) await promisify(execFile)(process.execPath, parameters, { env: settings });

  const database = openDatabase(api.settings.DATABASE_URL ?? "", { poolSize: 2 });
  onTestFinished(database.close);
  const service = { url: api.process.url, services: { database } };
  const [buyer, bidder] = [await createPerson(service, { cents: 10_000 }), await createPerson(service)];
  const { task } = await deliveredTask(buyer, bidder, { maxBudgetCents: 10_000, priceCents: 8_000 });
  expect((await buyer.post(`/tasks/${task.id}/accept`)).body.task.status).toBe("accepted");

  const body = { email: "ada@rebid.test", password: "a good password of mine", displayName: "Ada" };
  expect((await rest(api.process.url, "POST", "/auth/signup", { body })).status).toBe(201);
  const subjects = async () => {
    const mails = (await (await fetch(`${mailboxUrl}/mails`)).json()) as BoxedMail[];
    return mails.filter(({ to }) => to.includes(body.email)).length;
  };
  await expect.poll(subjects).toBe(1);
  for (const { process } of [api, worker]) expect((await process.stop()).code).toBe(0);
});
