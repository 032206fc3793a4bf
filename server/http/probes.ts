import { setTimeout as sleep } from "node:timers/promises";
import { Router } from "express";
import type { Services } from "../services.ts";
import { lacksMigrations } from "../store/schema.ts";
import { allowOnly } from "./sendError.ts";

/** A balancer asks every second or so, and a suspended database would hold its answer back for 15 s. */
const DATABASE_TIMEOUT_MS = 2_000;

/** Why requests should go elsewhere: the process is about to stop, its database does not answer, or lacks migrations. */
type Readiness = "ok" | "draining" | "database" | "schema";

/**
 * For operators: `/livez` responds with 200 while the process runs, `/readyz` while it should get requests, and otherwise
 * with 503 and the reason.
 */
export function probes({ database }: Services, stopping?: AbortSignal): Router {
  const askDatabase = () =>
    lacksMigrations(database).then(
      (lacks): Readiness => (lacks ? "schema" : "ok"),
      (): Readiness => "database",
    );
  const readiness = async (): Promise<Readiness> => {
    if (stopping?.aborted) return "draining";
    const late = new AbortController();
    const answer = await Promise.race([
      askDatabase(),
      sleep<Readiness>(DATABASE_TIMEOUT_MS, "database", { signal: late.signal }),
    ]);
    late.abort();
    return answer;
  };
  return Router()
    .get("/livez", (_request, response) => {
      response.json({ status: "ok" });
    })
    .get("/readyz", async (_request, response) => {
      const status = await readiness();
      response.status(status === "ok" ? 200 : 503).json({ status });
    })
    .all(["/livez", "/readyz"], allowOnly("GET"));
}
