import { hkdfSync, randomBytes } from "node:crypto";
import { createRequestStateCodec, type ServerContext } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Principal } from "../auth/principal.ts";
import { ApiError } from "../errors.ts";
import type { Amounts } from "./tool.ts";

/** How long a preview can be confirmed. Source: docs/contract.md "MCP". */
export const CONFIRMATION_SECONDS = 300;

/** A token that became an approval is good for repeats until 24 hours after the decision, 72 hours after it was asked at most. */
const LONGEST_SECONDS = (72 + 24) * 3_600;

/** One call of a tool that moves money. */
interface ConfirmedCall {
  principal: Principal;
  tool: string;
  input: object;
  /** The service's time. */
  now: Date;
  /** The protocol's own part of the request. */
  server: ServerContext;
}

/** What a token says. */
const Agreement = z.object({
  amounts: z.record(z.string(), z.number()),
  /** Makes every token a different one, and is the idempotency key of the confirmed call: so a token acts once. */
  key: z.string(),
  /** The end by the service's time, in seconds: a clock that is moved ends tokens too, before their keys are forgotten. */
  end: z.int(),
});
export type Agreement = z.infer<typeof Agreement>;

/**
 * Makes and checks the tokens with which a preview is confirmed. A token carries the amounts, and is signed together with the
 * caller, the tool and the input. It is short, because a model has to copy it.
 */
export interface Confirmations {
  issue(call: ConfirmedCall, amounts: Amounts): Promise<string>;
  /**
   * Returns what was agreed on.
   * @param isAsked whether the confirmed call was made in time, and waits for an approval or has its answer
   * @throws ApiError `invalid_input` for a token that is altered or expired, or of another caller, tool or input
   */
  read(
    call: ConfirmedCall,
    token: string,
    isAsked: (key: string) => Promise<boolean>,
  ): Promise<Agreement & { isLate: boolean }>;
}

/**
 * Every process with the same `SESSION_SECRET` accepts the tokens of the others. The newest secret, the first one, signs; the
 * others still verify.
 */
export function openConfirmations(
  sessionSecrets: readonly string[],
  lifetimeSeconds = CONFIRMATION_SECONDS,
): Confirmations {
  const [newest, ...older] = sessionSecrets.map(
    (secret) => new Uint8Array(hkdfSync("sha256", secret, "", "rebid mcp confirmation", 32)),
  );
  if (newest === undefined) throw new Error("there is no session secret");
  const codecOf = (key: Uint8Array, call: ConfirmedCall) =>
    createRequestStateCodec<unknown>({
      key,
      ttlSeconds: lifetimeSeconds + LONGEST_SECONDS,
      bind: () => subjectOf(call),
    });

  return {
    issue: (call, amounts) =>
      codecOf(newest, call).mint(
        {
          amounts,
          key: `mcp-${randomBytes(12).toString("base64url")}`,
          end: Math.ceil(call.now.getTime() / 1000) + lifetimeSeconds,
        } satisfies Agreement,
        call.server,
      ),
    async read(call, token, isAsked) {
      let reason: unknown;
      for (const key of [newest, ...older]) {
        try {
          const agreement = Agreement.parse(await codecOf(key, call).verify(token, call.server));
          const isLate = agreement.end * 1000 < call.now.getTime();
          if (isLate && !(await isAsked(agreement.key))) throw new Error("expired");
          return { ...agreement, isLate };
        } catch (error) {
          reason = error instanceof Error ? error.message : undefined;
          // Only another key can make sense of what this one did not sign.
          if (reason !== "mac") break;
        }
      }
      throw refusal(reason);
    },
  };
}

/** What a token is for, besides the amounts. The order of the arguments does not matter. */
function subjectOf({ principal, tool, input }: ConfirmedCall): string {
  const credential = principal.kind === "apiKey" ? principal.keyId : principal.sessionId;
  const fields = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([principal.userId, credential, tool, fields]);
}

/** The reasons are those of the package's codec. */
function refusal(reason: unknown): ApiError {
  const why =
    reason === "expired"
      ? "The token's five minutes are over."
      : reason === "bind"
        ? "The token belongs to other arguments, another tool or another API key."
        : "This is not a token of this service.";
  const message = `${why} Nothing was done. Call the tool again without \`confirm\` for a new preview.`;
  return new ApiError("invalid_input", { issues: [{ path: "confirm", message }] });
}
