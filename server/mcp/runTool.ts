import { createHash } from "node:crypto";
import {
  acceptedContent,
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { TRPCError } from "@trpc/server";
import { z } from "zod";
import { wasAskedWith } from "../auth/approvals/ask.ts";
import type { Principal } from "../auth/principal.ts";
import { ApiError } from "../errors.ts";
import { appRouter } from "../procedures/router.ts";
import { idempotencyKeyPattern } from "../repeats/headers.ts";
import { toApiError } from "../translateErrors.ts";
import type { Context } from "../trpc.ts";
import { CONFIRMATION_SECONDS, type Confirmations } from "./confirmation.ts";
import { AnswerText } from "./text.ts";
import type { Amounts, Job, MoneyTool, Tool } from "./tool.ts";
import { toolError } from "./toolError.ts";
import { separateUntrusted } from "./untrusted.ts";

/** The context of a request with a valid API key. */
export type McpContext = Context & { readonly principal: Principal; readonly userId: string };

export interface ToolCall {
  context: McpContext;
  confirmations: Confirmations;
  /** The protocol's own part of the request. */
  server: ServerContext;
  /** Whether the client can ask a person to confirm. */
  canAsk: boolean;
  /** Whether the client can send a person to a page. */
  canOpen: boolean;
}

type ToolResult = CallToolResult | InputRequiredResult;

/** The preview that a tool with money returns in place of its answer. */
const Preview = z
  .object({
    confirm: z.string(),
    expiresInSeconds: z.int(),
    /** Integer cents; `etaHours` in hours. */
    amounts: z.record(z.string(), z.int()),
    needsApproval: z.literal(true).optional(),
  })
  .meta({ description: "Nothing was done yet. To do it, send `preview.confirm` as `confirm`." });

const confirmArgument = z.string().max(4_096).optional().meta({
  description: "`preview.confirm` of the first call.",
});

const idempotencyKeyArgument = z
  .string()
  .regex(idempotencyKeyPattern, "Must have 1 to 255 visible ASCII characters.")
  .optional()
  .meta({ description: "A repeat with the same one gets the first answer." });

/** The schema of a tool's arguments: its own fields, and the one that makes it safe to repeat. */
export function argumentsOf({ kind, input }: Tool): z.ZodObject {
  if (kind === "read") return input;
  if (kind === "money") return input.safeExtend({ confirm: confirmArgument });
  return input.safeExtend({ idempotencyKey: idempotencyKeyArgument });
}

/** The schema of a tool's answer. What needs a confirmation has either the preview or the answer. */
export function answerOf({ kind, output }: Tool): z.ZodObject {
  return kind === "money" ? output.partial().extend({ preview: Preview.optional() }) : output;
}

/** Runs a tool. Whatever is refused becomes an error of the tool, with the code of the API. Never rejects. */
export async function runTool(tool: Tool, given: unknown, call: ToolCall): Promise<ToolResult> {
  const { context } = call;
  try {
    const input = await parseArguments(tool, given);
    if (tool.kind === "money") return await runMoneyTool(tool, input, call);
    const { idempotencyKey, ...fields } = input;
    const job = createJob(context, typeof idempotencyKey === "string" ? idempotencyKey : undefined);
    return answer(tool, job, await tool.run(job, fields));
  } catch (thrown) {
    const error = toApiError(thrown);
    // Procedures have logged their own failures.
    const isLogged = thrown instanceof TRPCError && thrown.cause instanceof ApiError;
    if (error.status >= 500 && !isLogged) {
      context.log.error({ requestId: context.requestId, tool: tool.name, error: error.cause ?? thrown }, error.code);
    }
    return toolError(error, context.requestId);
  }
}

async function parseArguments(tool: Tool, given: unknown) {
  const parsed = await argumentsOf(tool).safeParseAsync(given ?? {});
  if (parsed.success) return parsed.data;
  throw new TRPCError({ code: "BAD_REQUEST", cause: parsed.error });
}

/** Calls procedures as REST and typed RPC do, except that headers of the response are not theirs here. */
function apiOf(
  context: McpContext,
  options: Partial<Pick<Context, "idempotencyKey" | "dryRun" | "setHeader" | "onApprovalNeeded">> = {},
) {
  return appRouter.createCaller({ ...context, setHeader: () => {}, ...options });
}

function createJob(context: McpContext, idempotencyKey?: string): Job {
  const api = apiOf(context);
  // A key stands for one operation with one input, so a tool that makes several changes derives others from the caller's.
  const keyFor = (step: string) => createHash("sha256").update(`${step} ${idempotencyKey}`).digest("base64url");
  const keyedWith = (key: string) => (idempotencyKey === undefined ? api : apiOf(context, { idempotencyKey: key }));
  return {
    ...{ context, api, text: new AnswerText() },
    canRate: context.principal.kind === "session" || context.principal.scopes.includes("task:write"),
    keyed: keyedWith(idempotencyKey ?? ""),
    keyedStep: (step) => keyedWith(keyFor(step)),
  };
}

/** Shows what would happen, or does what was confirmed. */
async function runMoneyTool(tool: MoneyTool, { confirm, ...input }: Record<string, unknown>, call: ToolCall) {
  const { context, confirmations, server } = call;
  const subject = { principal: context.principal, tool: tool.name, input, now: context.clock.now(), server };
  if (tool.movesMoney?.(input) === false) {
    const job = createJob(context);
    return answer(tool, job, await tool.act(job, input, {}));
  }
  const asked = server.mcpReq.requestState<string>();
  const token = typeof confirm === "string" ? confirm : asked;
  if (token === undefined) return preview(tool, input, call);
  const isAsked = (key: string) => wasAskedWith(context, context.userId, key);
  const { amounts: agreed, key: idempotencyKey, isLate } = await confirmations.read(subject, token, isAsked);
  const keyed = apiOf(context, { idempotencyKey });
  const act = async () => {
    const job = createJob(context);
    return answer(tool, job, await tool.act({ ...job, keyed }, input, agreed));
  };
  const ask = (error: unknown) => sendToOwner(error, token, call);
  // The amounts of what was asked are the approval's, which its owner looks at.
  if (isLate || wasSent(server)) return act().catch(ask);
  if (confirm === undefined && !isAccepted(server)) {
    const job = createJob(context);
    job.text.say("The person did not confirm. Nothing was done.");
    return { ...textOf(job), isError: true };
  }
  let isRepeat = false;
  const rehearse = apiOf(context, {
    idempotencyKey,
    dryRun: "true",
    onApprovalNeeded: () => {},
    setHeader: (name) => {
      isRepeat ||= name === "Idempotent-Replayed";
    },
  });
  const amounts = await tool.preview(createJob(context), input, rehearse, agreed).catch((error: unknown) => {
    if (toApiError(error).code === "bid_changed") return null;
    throw error;
  });
  if (!isRepeat && !isSame(amounts, agreed)) {
    return preview(
      tool,
      input,
      call,
      "Nothing was done, because the amounts or hours are no longer those of your token.",
    );
  }
  return act().catch(ask);
}

/** Whether the person was sent to the page of an approval already. */
const wasSent = ({ mcpReq }: ServerContext): boolean => Object.hasOwn(mcpReq.inputResponses ?? {}, "approval");

/** Lets a client that can do so open the page on which the owner of the key answers. Otherwise throws the error, which names it. */
function sendToOwner(thrown: unknown, token: string, { canOpen, server }: ToolCall): InputRequiredResult {
  const error = toApiError(thrown);
  const { approval } = error.details;
  const url = approval && "url" in approval ? approval.url : undefined;
  if (error.code !== "approval_required" || url === undefined || !canOpen || wasSent(server)) throw thrown;
  const message = "Your agent needs your approval. Look at what it asks, and answer on this page.";
  return inputRequired({
    inputRequests: { approval: inputRequired.elicitUrl({ message, url }) },
    requestState: token,
  });
}

/** Whether the person whom the client has asked said yes. */
function isAccepted({ mcpReq }: ServerContext): boolean {
  return acceptedContent(mcpReq.inputResponses, "confirm", z.object({ confirm: z.boolean() }))?.confirm === true;
}

function isSame(amounts: Amounts | null, agreed: Amounts): boolean {
  if (amounts === null || Object.keys(amounts).length !== Object.keys(agreed).length) return false;
  return Object.entries(agreed).every(([name, cents]) => amounts[name] === cents);
}

/** Returns what would happen, with the token; or lets a client that can do so ask the person. */
async function preview(tool: MoneyTool, input: object, call: ToolCall, reason?: string): Promise<ToolResult> {
  const { context, confirmations, canAsk, server } = call;
  const job = createJob(context);
  if (reason !== undefined) job.text.say(reason);
  let needsApproval = false;
  const onApprovalNeeded = () => {
    needsApproval = true;
  };
  const rehearse = apiOf(context, { dryRun: "true", onApprovalNeeded });
  const asking = { ...job, context: { ...context, onApprovalNeeded } };
  const amounts = await tool.preview(asking, { ...input }, rehearse, null);
  if (needsApproval)
    job.text.say("A person must approve it: the confirmed call asks them, and nothing happens before.");
  const subject = { principal: context.principal, tool: tool.name, input, now: context.clock.now(), server };
  const confirm = await confirmations.issue(subject, amounts);
  if (canAsk) {
    return inputRequired({
      inputRequests: {
        confirm: inputRequired.elicit({
          message: `${job.text}`,
          requestedSchema: {
            type: "object",
            properties: { confirm: { type: "boolean", title: tool.title, description: "Do it?" } },
            required: ["confirm"],
          },
        }),
      },
      requestState: confirm,
    });
  }
  job.text.next(
    `to do it, call ${tool.name} again within five minutes, with the same arguments and preview.confirm as confirm: ${confirm}`,
  );
  const shown = {
    confirm,
    expiresInSeconds: CONFIRMATION_SECONDS,
    amounts,
    ...(needsApproval ? { needsApproval } : {}),
  };
  return answer(tool, job, { preview: shown });
}

/** The answer in words and as structured content, of which only documented fields remain. */
function answer(tool: Tool, job: Job, structured: object): CallToolResult {
  const structuredContent = separateUntrusted(answerOf(tool).parse(structured));
  return { ...textOf(job), structuredContent: z.record(z.string(), z.unknown()).parse(structuredContent) };
}

const textOf = ({ text }: Job) => ({ content: [{ type: "text" as const, text: `${text}` }] });
