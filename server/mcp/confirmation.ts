import { createHash, hkdfSync } from "node:crypto";
import { createRequestStateCodec, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Principal } from "../auth/principal.ts";
import { ApiError } from "../errors.ts";
import type { Amounts } from "./tool.ts";

/** How long a preview can be confirmed. Source: docs/contract.md "MCP". */
export const CONFIRMATION_SECONDS = 300;

/** What a token stands for. */
const Agreement = z.object({
  caller: z.string(),
  tool: z.string(),
  /** SHA-256 of the input, without the token itself. */
  input: z.string(),
  amounts: z.record(z.string(), z.number()),
});

/** One call of a tool that moves money. */
interface ConfirmedCall {
  principal: Principal;
  tool: string;
  input: object;
}

/** Makes and checks the tokens with which a preview is confirmed. They are signed, and no secret is in them. */
export interface Confirmations {
  /** Returns the token for a call with these amounts. */
  issue(call: ConfirmedCall, amounts: Amounts): Promise<string>;
  /**
   * Returns the amounts that were agreed on.
   * @throws ApiError `invalid_input` for a token that is forged, expired, another caller's, or of another call.
   */
  read(call: ConfirmedCall, token: string, context: ServerContext): Promise<Amounts>;
}

/**
 * Every process with the same `SESSION_SECRET` accepts the tokens of the others. The newest secret, the first one, signs; the
 * others still verify.
 */
export function openConfirmations(
  sessionSecrets: readonly string[],
  lifetimeSeconds = CONFIRMATION_SECONDS,
): Confirmations {
  const codecs = sessionSecrets.map((secret) =>
    createRequestStateCodec({
      key: new Uint8Array(hkdfSync("sha256", secret, "", "rebid mcp confirmation", 32)),
      ttlSeconds: lifetimeSeconds,
    }),
  );
  const [newest] = codecs;
  if (newest === undefined) throw new Error("there is no session secret");

  async function verify(token: string, context: ServerContext): Promise<unknown> {
    for (const codec of codecs) {
      const payload = await codec.verify(token, context).catch(() => undefined);
      if (payload !== undefined) return payload;
    }
    throw refusal("The token is not valid, or its five minutes are over.");
  }

  return {
    issue: (call, amounts) => newest.mint({ ...subjectOf(call), amounts }),
    async read(call, token, context) {
      const agreement = Agreement.safeParse(await verify(token, context));
      if (!agreement.success) throw refusal("The token is not one of a preview.");
      const { caller, tool, input } = subjectOf(call);
      if (agreement.data.caller !== caller) throw refusal("The token belongs to another API key.");
      if (agreement.data.tool !== tool) throw refusal(`The token belongs to ${agreement.data.tool}.`);
      if (agreement.data.input !== input) throw refusal("The token belongs to other arguments.");
      return agreement.data.amounts;
    },
  };
}

/** The idempotency key of the confirmed call: a token acts once, and its repeat gets the same answer. */
export const keyOfToken = (token: string): string =>
  `mcp-confirm-${createHash("sha256").update(token).digest("base64url")}`;

/** A session never calls a tool, but the token of one would not be a key's either. */
const callerOf = (principal: Principal): string =>
  principal.kind === "apiKey" ? `${principal.userId} ${principal.keyId}` : principal.userId;

const subjectOf = ({ principal, tool, input }: ConfirmedCall) => ({
  caller: callerOf(principal),
  tool,
  input: createHash("sha256")
    .update(JSON.stringify(sorted(input)))
    .digest("base64url"),
});

const sorted = (input: object) =>
  Object.entries(input)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));

function refusal(reason: string): ApiError {
  const message = `${reason} Nothing was done. Call the tool again without \`confirm\` for a new preview.`;
  return new ApiError("invalid_input", { issues: [{ path: "confirm", message }] });
}
