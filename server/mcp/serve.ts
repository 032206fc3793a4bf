import {
  createMcpHandler,
  isJSONRPCRequest,
  isLegacyRequest,
  isSpecType,
  ProtocolErrorCode,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Settings } from "../services.ts";
import { openConfirmations } from "./confirmation.ts";
import type { McpContext } from "./runTool.ts";
import { createServer } from "./server.ts";

/** Answers one message of the Model Context Protocol. The body of `request` was read before: it is `message`. */
export type ServeMcp = (context: McpContext, request: Request, message: unknown) => Promise<Response>;

/**
 * Returns the function that answers messages of both protocols, 2026-07-28 and those of 2025, without sessions: each request
 * has a server of its own, and each answer is one JSON body.
 */
export function openMcp({ sessionSecrets }: Pick<Settings, "sessionSecrets">): ServeMcp {
  const confirmations = openConfirmations(sessionSecrets);
  return async (context, request, message) => {
    const mistake = findMistake(message);
    if (mistake !== null) return mistake;
    if (await isLegacyRequest(request, message)) {
      const server = createServer(context, confirmations, "legacy");
      // Without the option, the answer would be a stream whose status and headers are sent before the tool has run.
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
      await server.connect(transport);
      try {
        return await transport.handleRequest(request, { parsedBody: message });
      } finally {
        await server.close();
      }
    }
    const handler = createMcpHandler(() => createServer(context, confirmations, "modern"), {
      legacy: "reject",
      // Nothing here changes while a client listens: events have a tool, which is counted and ends.
      maxSubscriptions: 0,
    });
    return handler.fetch(request, { parsedBody: message });
  };
}

/** The package would call wrong parameters of these methods an error of its own. */
const validators = new Map<string, (message: unknown) => boolean>([
  ["initialize", isSpecType.InitializeRequest],
  ["resources/read", isSpecType.ReadResourceRequest],
  ["prompts/get", isSpecType.GetPromptRequest],
]);

function findMistake(message: unknown): Response | null {
  if (!isJSONRPCRequest(message) || validators.get(message.method)?.(message) !== false) return null;
  const error = {
    code: ProtocolErrorCode.InvalidParams,
    message: `The parameters of ${message.method} are not valid.`,
  };
  return Response.json({ jsonrpc: "2.0", id: message.id, error });
}
