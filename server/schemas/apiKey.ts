import { z } from "zod";
import { Id, line, Timestamp } from "./common.ts";
import { scopes } from "./scope.ts";

export const Scope = z.enum(scopes);

export const ApiKey = z
  .object({ id: Id, label: z.string(), scopes: z.array(Scope), last4: z.string(), createdAt: Timestamp })
  .meta({ id: "ApiKey" });

export const Label = line(1, 80).meta({ example: "my agent" });
