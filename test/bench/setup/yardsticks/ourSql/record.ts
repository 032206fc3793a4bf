import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hashSecret } from "../../../../../server/auth/secretHash.ts";
import type { BenchEnvironment } from "../../bench.ts";
import { startRebid } from "../../rebid.ts";
import type { RecordedStatement } from "./recorder.ts";
import { createTemplate, type Recording, type Template } from "./template.ts";

interface Request {
  path: string;
  key?: string;
  body?: Record<string, unknown>;
}

/** Sends a POST and returns its answer, for what must have happened before. */
export type Ask = (request: Request) => Promise<Record<string, unknown>>;

/** An operation to record, with requests that differ. */
export interface Recordable {
  /** Method, path and names of query parameters, as in `GET /tasks?cursor`. */
  operation: string;
  /** Fields of the body that are not from the database. */
  ownFields?: string[];
  request(number: number, ask: Ask): Promise<Request> | Request;
}

const MAX_ATTEMPTS = 10;

/**
 * Starts the service with the recorder and sends each operation until two requests in a row took the same statements, so
 * that what happens once a minute, or in the background, is left out. Returns the templates by operation.
 */
export async function recordTemplates(
  environment: BenchEnvironment,
  databaseUrl: string,
  operations: readonly Recordable[],
  variables: Record<string, string> = {},
): Promise<Record<string, Template>> {
  const file = join(environment.directory, "statements.jsonl");
  const recorder = new URL("recorder.ts", import.meta.url).href;
  const undos: (() => Promise<void>)[] = [];
  const port = await startRebid(
    { ...environment, databaseUrl, onEnd: (undo) => void undos.push(undo) },
    { environment: { ...variables, STATEMENTS: file }, nodeOptions: ["--import", recorder] },
  );
  const readStatements = async (): Promise<RecordedStatement[]> => {
    const lines = existsSync(file) ? (await readFile(file, "utf8")).trim().split("\n") : [];
    await writeFile(file, "");
    const statements: RecordedStatement[] = lines.filter((line) => line !== "").map((line) => JSON.parse(line));
    return statements.sort((a, b) => a.number - b.number);
  };
  const send = async (method: string, { path, key, body }: Request): Promise<Record<string, unknown>> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        ...(key !== undefined && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && { "Content-Type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered with ${response.status}: ${text}`);
    return JSON.parse(text);
  };
  const record = async ({ operation, request: requestOf }: Recordable, number: number): Promise<Recording> => {
    const [method = "GET"] = operation.split(" ");
    const request = await requestOf(number, (earlier) => send("POST", earlier));
    const { path, key = "", body } = request;
    await readStatements();
    const output = await send(method, request);
    const ids = path.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? [];
    const query = Object.fromEntries(new URL(path, "http://localhost").searchParams);
    const keyHash = hashSecret(key).toString("hex");
    return { ids, input: { ...query, ...body }, keyHash, statements: await readStatements(), output };
  };

  const textsOf = ({ statements }: Recording) => statements.map(({ text }) => text).join(";");
  const templates: Record<string, Template> = {};
  try {
    for (const recordable of operations) {
      let earlier = await record(recordable, 0);
      for (let number = 1; ; number++) {
        const recording = await record(recordable, number);
        if (textsOf(recording) === textsOf(earlier)) {
          templates[recordable.operation] = createTemplate(recording, earlier, recordable.ownFields);
          break;
        }
        if (number === MAX_ATTEMPTS) throw new Error(`${recordable.operation} never takes the same statements twice`);
        earlier = recording;
      }
    }
    return templates;
  } finally {
    for (const undo of undos) await undo();
  }
}
