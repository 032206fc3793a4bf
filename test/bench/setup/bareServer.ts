import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type pg from "pg";
import { openPool } from "../../../server/store/connection.ts";
import { isRetryable } from "../../../server/store/databaseErrors.ts";
import * as statements from "./statements.ts";

/**
 * The baseline: `node:http` and `pg` with nothing in between. It sends exactly the service's statements, in the same
 * transactions, and checks nothing that it does not need for that.
 */
const pool = openPool(process.env.DATABASE_URL ?? "", { poolSize: 20 });

/** The service prepares its statements once per connection, so the baseline does as well. */
const named = (name: string, text: string, values: unknown[]) => ({ name, text, values });

async function listTasks(): Promise<unknown> {
  const { rows } = await pool.query(named("feedPage", statements.feedPage, ["open", 50]));
  return { tasks: rows, nextCursor: rows.at(-1)?.createdAt ?? null };
}

async function createTask(request: IncomingMessage): Promise<unknown> {
  const key = (request.headers.authorization ?? "").slice("Bearer ".length);
  const now = new Date().toISOString();
  const hash = createHash("sha256").update(key).digest();
  const [principal] = (await pool.query(named("keyLookup", statements.keyLookup, [now, "1 minute", hash]))).rows;
  const input = JSON.parse((await readBody(request)).toString());
  return inTransaction(async (client) => {
    const { title, description, acceptanceCriteria = null, maxBudgetCents, tags } = input;
    const values = [principal.userId, title, description, acceptanceCriteria, maxBudgetCents, tags];
    const [task] = (await client.query(named("insertTask", statements.insertTask, values))).rows;
    const side = (bucket: string, cents: number) => [principal.userId, "hold", bucket, cents];
    const sides = [...side("available", -maxBudgetCents), ...side("held", maxBudgetCents)];
    await client.query(named("hold", statements.hold, [task.id, null, ...sides]));
    const { buyerId, awardedBidderId, ...record } = task;
    const data = JSON.stringify({ task: record });
    await client.query(named("recordEvent", statements.recordEvent, ["task.created", task.id, null, data]));
    return { task: record };
  });
}

async function inTransaction<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  try {
    for (;;) {
      try {
        await client.query("BEGIN");
        const result = await work(client);
        await client.query("COMMIT");
        return result;
      } catch (error) {
        await client.query("ROLLBACK");
        if (!isRetryable(error)) throw error;
      }
    }
  } finally {
    client.release();
  }
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) });
  response.end(text);
}

const server = createServer((request, response) => {
  const work = request.method === "POST" ? createTask(request) : listTasks();
  work.then(
    (body) => answer(response, request.method === "POST" ? 201 : 200, body),
    (error: unknown) => {
      console.error(error);
      answer(response, 500, {});
    },
  );
});
server.listen(Number(process.env.PORT), "127.0.0.1", () => console.log("ready"));
process.once("SIGTERM", () => process.exit(0));
