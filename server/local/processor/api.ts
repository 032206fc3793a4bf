import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Route } from "./call.ts";
import type { CallFault } from "./choices.ts";
import { takeCallFault } from "./faults.ts";
import { parseForm } from "./form.ts";
import { apiVersion, type RawParameters } from "./parameters.ts";
import { Refusal } from "./refusal.ts";
import { routes } from "./routes.ts";
import { platform } from "./store.ts";
import type { World } from "./world.ts";

export interface ApiRequest {
  method: string;
  url: URL;
  headers: IncomingMessage["headers"];
  body: Buffer;
  /** Resolves when the client has gone away: what a timed-out request waits for. */
  clientGone: Promise<void>;
}

export interface ApiAnswer {
  status: number;
  body: string;
  headers: Record<string, string>;
  /** The connection is reset in the place of an answer. */
  reset?: true;
}

const keyLifetimeMs = 24 * 3_600_000;

/** Answers Stripe's API, v1 and v2. */
export class Api {
  readonly #world: World;
  readonly #secretKey: string;
  /** Idempotency keys whose first request has not been answered yet. */
  readonly #inProgress = new Set<string>();

  constructor(world: World, secretKey: string) {
    this.#world = world;
    this.#secretKey = secretKey;
  }

  async answer(request: ApiRequest): Promise<ApiAnswer> {
    const headers = { "Request-Id": `req_${randomBytes(7).toString("hex")}`, "Stripe-Version": apiVersion };
    try {
      const answer = await this.#answer(request);
      return { ...answer, headers: { ...headers, ...answer.headers } };
    } catch (error) {
      if (error instanceof Refusal) return { ...refused(error), headers };
      throw error;
    }
  }

  async #answer(request: ApiRequest): Promise<ApiAnswer> {
    this.#authenticate(request.headers.authorization);
    requireVersion(request);
    const { route, id } = findRoute(request);
    const key = request.method === "POST" ? requireKey(request) : null;
    const fault = takeCallFault(this.#world, `${request.method} ${request.url.pathname}`);
    if (key === null) return await this.#withFault(fault, request, () => this.#execute(route, id, request));

    const slot = `${ownerOf(request)} ${key}`;
    if (this.#inProgress.has(slot)) throw keyInUse(key);
    this.#inProgress.add(slot);
    try {
      return await this.#withFault(fault, request, () => this.#executeOnce(route, id, request, key));
    } finally {
      this.#inProgress.delete(slot);
    }
  }

  /** The work is done before or after the fault, or not at all; `work` itself is one uninterrupted transaction. */
  async #withFault(fault: CallFault | null, request: ApiRequest, work: () => ApiAnswer): Promise<ApiAnswer> {
    switch (fault) {
      case "timeout_before":
        await request.clientGone;
        return resetAnswer;
      case "timeout_after":
        work();
        await request.clientGone;
        return resetAnswer;
      case "reset_before":
        return resetAnswer;
      case "reset_after":
        work();
        return resetAnswer;
      case "conflict":
        throw keyInUse("chosen by a fault");
      case "rate_limit":
        throw new Refusal(429, { message: "Too many requests hit the API too quickly.", code: "rate_limit" });
      case "server_error":
        throw serverError();
      case "server_error_after":
        work();
        throw serverError();
      case null:
        return work();
    }
  }

  #execute(route: Route, id: string, request: ApiRequest): ApiAnswer {
    const execute = route.prepare(rawParameters(request));
    const answer = { world: this.#world, id, owner: ownerOf(request) };
    return success(this.#world.store.transaction(() => execute(answer)));
  }

  /**
   * Executes once for each key: the answer is stored in the transaction of the work and replayed for 24 hours. v1 also
   * stores refusals of the execution, v2 lets the same key try again. A request whose parameters are refused was never
   * begun and leaves no trace.
   */
  #executeOnce(route: Route, id: string, request: ApiRequest, key: string): ApiAnswer {
    const { store } = this.#world;
    const owner = ownerOf(request);
    const hash = hashOf(request);
    const since = this.#world.nowMs() - keyLifetimeMs;
    store.run("delete from idempotency_keys where owner = ? and key = ? and created_ms < ?", owner, key, since);
    const [stored] = store.rows("select * from idempotency_keys where owner = ? and key = ?", owner, key);
    if (stored !== undefined) {
      if (stored.request_hash !== hash) throw keyReused(key);
      const headers = { "Idempotent-Replayed": "true", "Idempotency-Key": key };
      return { status: Number(stored.status), body: String(stored.body), headers };
    }

    const execute = route.prepare(rawParameters(request));
    const remember = (answer: ApiAnswer): ApiAnswer => {
      const sql =
        "insert into idempotency_keys (owner, key, request_hash, status, body, created_ms) values (?, ?, ?, ?, ?, ?)";
      store.run(sql, owner, key, hash, answer.status, answer.body, this.#world.nowMs());
      return { ...answer, headers: { "Idempotency-Key": key } };
    };
    try {
      return store.transaction(() => remember(success(execute({ world: this.#world, id, owner }))));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return isV2(request) ? refused(error) : remember(refused(error));
    }
  }

  #authenticate(header: string | undefined): void {
    const [scheme = "", credentials = ""] = header?.split(" ") ?? [];
    const key = scheme === "Basic" ? Buffer.from(credentials, "base64").toString().replace(/:$/, "") : credentials;
    if (key === "") {
      throw new Refusal(401, { message: "You did not provide an API key.", type: "invalid_request_error" });
    }
    if (!timingSafeEqual(sha256(key), sha256(this.#secretKey))) {
      throw new Refusal(401, { message: "Invalid API Key provided.", type: "invalid_request_error" });
    }
  }
}

const resetAnswer: ApiAnswer = { status: 0, body: "", headers: {}, reset: true };

function success(result: unknown): ApiAnswer {
  return { status: 200, body: JSON.stringify(result), headers: {} };
}

function refused(refusal: Refusal): ApiAnswer {
  return { status: refusal.status, body: JSON.stringify(refusal.body), headers: {} };
}

function isV2({ url }: ApiRequest): boolean {
  return url.pathname.startsWith("/v2/");
}

function requireVersion(request: ApiRequest): void {
  const version = request.headers["stripe-version"];
  if (version === apiVersion || (version === undefined && !isV2(request))) return;
  const message = `This processor speaks Stripe's API version ${apiVersion}, not ${String(version)}.`;
  throw new Refusal(400, { message, type: "invalid_request_error" });
}

function findRoute({ method, url }: ApiRequest): { route: Route; id: string } {
  for (const route of routes) {
    const match = route.method === method ? route.pattern.exec(url.pathname) : null;
    if (match !== null) return { route, id: decodeURIComponent(match[1] ?? "") };
  }
  const message = `Unrecognized request URL (${method}: ${url.pathname}).`;
  throw new Refusal(404, { message, type: "invalid_request_error" });
}

function ownerOf({ headers }: ApiRequest): string {
  return String(headers["stripe-account"] ?? headers["stripe-context"] ?? platform);
}

/**
 * Stripe itself lets a POST without a key pass. Here it is refused, and so is the key that the SDK invents when it gets
 * none: such a key is lost in a crash, and then nothing stops a second payment.
 */
function requireKey({ headers }: ApiRequest): string {
  const key = headers["idempotency-key"];
  if (typeof key !== "string" || key === "" || key.startsWith("stripe-node-retry-")) {
    throw new Refusal(400, { message: "Every POST needs an Idempotency-Key of its own.", type: "idempotency_error" });
  }
  if (key.length > 255) {
    throw new Refusal(400, { message: "Idempotency keys have at most 255 characters.", type: "idempotency_error" });
  }
  return key;
}

function keyInUse(key: string): Refusal {
  const message = `There is currently another in-progress request using this Idempotent Key: ${key}.`;
  return new Refusal(409, { code: "idempotency_key_in_use", message, type: "idempotency_error" });
}

function keyReused(key: string): Refusal {
  const message = `Keys for idempotent requests can only be used with the same parameters they were first used with: ${key}.`;
  return new Refusal(400, { message, type: "idempotency_error" });
}

function serverError(): Refusal {
  return new Refusal(500, { message: "An unknown error occurred.", type: "api_error" });
}

function rawParameters(request: ApiRequest): RawParameters {
  if (request.method === "GET") return { form: parseForm(request.url.search) };
  const body = request.body.toString("utf8");
  const expected = isV2(request) ? "application/json" : "application/x-www-form-urlencoded";
  const type = request.headers["content-type"] ?? expected;
  if (!type.startsWith(expected)) {
    throw new Refusal(400, {
      message: `The content type must be ${expected}, not ${type}.`,
      type: "invalid_request_error",
    });
  }
  if (!isV2(request)) return { form: parseForm(body) };
  try {
    return { json: JSON.parse(body === "" ? "{}" : body) };
  } catch {
    throw new Refusal(400, { code: "invalid_fields", message: "The body is not valid JSON." });
  }
}

function hashOf({ method, url, body }: ApiRequest): string {
  return sha256(`${method} ${url.pathname} ${body.toString("utf8")}`).toString("hex");
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
