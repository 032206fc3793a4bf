import express from "express";
import { createOpenApiExpressMiddleware } from "trpc-to-openapi";
import { createContext, router } from "./context.ts";
import { accept, award, deliver, startUpload } from "./lifecycle.ts";
import { listEntries, listTasks, readTask } from "./reads.ts";
import { createTask, placeBid } from "./writes.ts";

/**
 * Yardstick 3, the plain way: tRPC, trpc-to-openapi, Express, zod and Prisma as their documentation shows them, with
 * `findMany`, nested writes and interactive transactions, over tables with the service's columns (`schema.ts`). It validates input and
 * output, and keeps task, money, event and job in one transaction. It leaves out the service's limits, search, reputation and
 * checks of the books, and its timestamps have milliseconds only.
 */
const app = express().use(express.json());
app.use(
  createOpenApiExpressMiddleware({
    router: router({ listTasks, readTask, listEntries, createTask, placeBid, award, startUpload, deliver, accept }),
    createContext,
    onError: ({ error }: { error: Error }) => console.error(error),
  }),
);
app.listen(Number(process.env.PORT), "127.0.0.1", () => console.log("ready"));
process.once("SIGTERM", () => process.exit(0));
