import type { z } from "zod";
import type { ErrorCode } from "./errors.ts";
import type { RateGroup } from "./limits/policies.ts";
import type { Scope } from "./schemas/scope.ts";

export type HttpMethod = "GET" | "POST" | "PATCH" | "DELETE";

/** Who may call a procedure. `any` accepts any valid authentication; `session` refuses API keys. */
export type Access = "public" | "any" | "session" | "moderator" | { scope: Scope };

/** What a procedure declares: its REST operation, its documentation, who may call it, and the errors specific to it. */
export interface Meta {
  rest?: {
    method: HttpMethod;
    path: `/${string}`;
    status?: 200 | 201 | 202 | 204;
    /** The input of a DELETE comes in a JSON body, because a query with secrets would end up in logs. */
    takesBody?: true;
  };
  summary?: string;
  description?: string;
  errors?: readonly ErrorCode[];
  access?: Access;
  /** The response has a secret that is shown only once, so a repeat is refused instead of answered. */
  showsSecret?: boolean;
  /**
   * True for an operation that takes a password or a code, which could be guessed from the fast hash that is kept of an
   * input, and for one that changes nothing worth protecting.
   */
  ignoresIdempotencyKey?: boolean;
  /** The operation asks the outside world or gives out an address, which no rollback undoes: `Dry-Run` is refused. */
  hasNoDryRun?: boolean;
  /** What the rate limits count a call as, where that does not follow from its access and type. */
  rateGroup?: RateGroup;
  /** True if a call hashes a password, which at most one call of a batch may do. */
  hashesPassword?: boolean;
  /** Only a service with embedded services has the operation. Elsewhere it is 404, and not in the document. */
  isEmbeddedOnly?: boolean;
  /**
   * The answer depends on the input alone, and on nothing about the caller: requests that arrive together may share it. It is
   * made without a caller.
   */
  sharesAnswers?: true;
  /** The operation may wait for long, so it takes a turn for its work only, and none while it waits. */
  takesOwnTurns?: boolean;
}

export type ProcedureType = "query" | "mutation" | "subscription";

interface ProcedureDefinition {
  meta?: Meta;
  type: ProcedureType;
  output?: z.core.$ZodType;
}

/** tRPC keeps a procedure's definition, but has no type for all of it. */
export function definitionOf(procedure: unknown): ProcedureDefinition {
  return (procedure as { _def: ProcedureDefinition })._def;
}

/** Returns the names in a REST path's braces. */
export function pathParametersOf(meta: Meta | undefined): string[] {
  return Array.from(meta?.rest?.path.matchAll(/\{(\w+)\}/g) ?? [], ([, name]) => name ?? "");
}

/** Returns every error code that a procedure can return: its own, and those that follow from its access and input. */
export function errorsOf(meta: Meta): ErrorCode[] {
  const { access = "public", rest, errors = [] } = meta;
  const codes = new Set<ErrorCode>(["invalid_input", ...errors, "rate_limited", "internal_error", "unavailable"]);
  if (access !== "public") codes.add("unauthenticated");
  // A state-changing request with the session cookie is refused when it comes from another site.
  if (rest?.method !== "GET" || access === "session" || access === "moderator") codes.add("forbidden");
  if (typeof access === "object") codes.add("missing_scope");
  if (takesIdempotencyKey(meta)) codes.add("idempotency_conflict");
  if (takesBody(rest)) {
    codes.add("payload_too_large");
    codes.add("unsupported_media_type");
  }
  return [...codes];
}

/** Whether an operation's input comes in a JSON body. Otherwise it comes in the query. */
export function takesBody(rest: Meta["rest"]): boolean {
  return rest?.method === "POST" || rest?.method === "PATCH" || rest?.takesBody === true;
}

/** Whether the operation can be repeated with an `Idempotency-Key`: every one that changes something for a known caller. */
export function takesIdempotencyKey({ access = "public", rest, ignoresIdempotencyKey = false }: Meta): boolean {
  return access !== "public" && rest?.method !== "GET" && !ignoresIdempotencyKey;
}

/** Whether the operation can be tried with `Dry-Run`; those of accounts and sessions cannot. */
export function takesDryRun(meta: Meta): boolean {
  return takesIdempotencyKey(meta) && !meta.hasNoDryRun && !meta.rest?.path.startsWith("/auth/");
}

/** Returns what the rate limits count a call as. Source: docs/contract.md "Limits". */
export function rateGroupOf({ rateGroup, access }: Meta, type: ProcedureType): RateGroup {
  if (rateGroup !== undefined) return rateGroup;
  if (type !== "mutation") return "read";
  return typeof access === "object" && access.scope === "task:write" ? "taskWrite" : "write";
}
