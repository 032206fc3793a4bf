import { Router } from "express";
import type { Services } from "../services.ts";
import { sql } from "../store/connection.ts";
import { allowOnly } from "./sendError.ts";

/** For operators: `/livez` responds with 200 while the process runs, `/readyz` while it can also reach the database. */
export function probes({ database }: Services): Router {
  return Router()
    .get("/livez", (_request, response) => {
      response.json({ status: "ok" });
    })
    .get("/readyz", async (_request, response) => {
      const ready = await database.query(sql`SELECT 1`).then(
        () => true,
        () => false,
      );
      response.status(ready ? 200 : 503).json({ status: ready ? "ok" : "the database does not respond" });
    })
    .all(["/livez", "/readyz"], allowOnly("GET"));
}
