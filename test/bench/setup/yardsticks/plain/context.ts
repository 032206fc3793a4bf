import { createHash } from "node:crypto";
import { PrismaPg } from "@prisma/adapter-pg";
import { initTRPC, TRPCError } from "@trpc/server";
import type { OpenApiMeta } from "trpc-to-openapi";
import { PrismaClient } from "../../../../../prisma/generated/client.ts";

export const prisma = new PrismaClient({
  adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL, max: 20 }),
});

/** Looks up the caller's key, as a tRPC context usually does. */
export async function createContext({ req }: { req: { headers: { authorization?: string } } }) {
  const key = req.headers.authorization?.replace(/^Bearer /, "");
  if (key === undefined) return { caller: null };
  const keyHash = createHash("sha256").update(key).digest();
  const found = await prisma.apiKey.findUnique({ where: { keyHash }, include: { user: true } });
  const isValid = found !== null && found.revokedAt === null && found.user.suspendedAt === null;
  return { caller: isValid ? { userId: found.userId, scopes: found.scopes } : null };
}

const t = initTRPC.context<Awaited<ReturnType<typeof createContext>>>().meta<OpenApiMeta>().create();

export const { router, procedure: open } = t;

/** Procedures for callers with a key that has this scope. */
export const scoped = (scope?: string) =>
  t.procedure.use(({ ctx, next }) => {
    if (ctx.caller === null) throw new TRPCError({ code: "UNAUTHORIZED" });
    if (scope !== undefined && !ctx.caller.scopes.includes(scope)) throw new TRPCError({ code: "FORBIDDEN" });
    return next({ ctx: { userId: ctx.caller.userId } });
  });
