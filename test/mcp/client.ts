import {
  Client,
  type ClientOptions,
  type JsonSchemaType,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { onTestFinished } from "vitest";
import type { ErrorBody } from "../../server/errors.ts";
import type { Credentials } from "../setup/client.ts";

/** The two protocols that the official client speaks. */
export const protocols = ["2026-07-28", "2025"] as const;
export type ProtocolName = (typeof protocols)[number];

interface ConnectOptions {
  protocol?: ProtocolName;
  /** What a person answers whom the client asks to confirm; without it, the client cannot ask. */
  confirms?: (message: string) => boolean;
  /** What a person does whom the client sends to a page; without it, the client cannot open pages. */
  opens?: (url: string) => Promise<unknown>;
}

export interface ToolAnswer {
  isError: boolean;
  /** What the answer says in words. */
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came back, and asserts what it is
  data: any;
  /** The API's body, with its status, if the tool refused. */
  error: (ErrorBody & { status: number; retryAfterSeconds?: number }) | undefined;
}

/** One agent: the official client, and the calls that tests make with it. */
export interface Agent {
  client: Client;
  call(tool: string, args?: Record<string, unknown>): Promise<ToolAnswer>;
  /** Calls a tool that moves money, and again with the token of its preview. */
  confirm(tool: string, args: Record<string, unknown>): Promise<ToolAnswer>;
}

/** The client's own validators, each compiled once for all connections: a server's tools are the same for everybody. */
class SharedValidators implements jsonSchemaValidator {
  readonly #compiler = new AjvJsonSchemaValidator();
  readonly #validators = new Map<string, JsonSchemaValidator<unknown>>();

  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    const key = JSON.stringify(schema);
    const validator = this.#validators.get(key) ?? this.#compiler.getValidator(schema);
    this.#validators.set(key, validator);
    return validator as JsonSchemaValidator<T>; // whoever asks for a schema's validator says what its values are
  }
}

const sharedValidators = new SharedValidators();

/** Connects as a model's host would. The official client checks every answer against the tool's schema. */
export async function connect(
  url: string,
  credentials: Credentials,
  { protocol = "2026-07-28", confirms, opens }: ConnectOptions = {},
): Promise<Agent> {
  const options: ClientOptions = {
    versionNegotiation: { mode: protocol === "2025" ? "legacy" : "auto" },
    jsonSchemaValidator: sharedValidators,
    capabilities:
      confirms || opens ? { elicitation: { ...(confirms && { form: {} }), ...(opens && { url: {} }) } } : {},
  };
  const client = new Client({ name: "tests", version: "1.0.0" }, options);
  if (confirms || opens) {
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      if (params.mode === "url") {
        await opens?.(params.url);
        return { action: "accept" };
      }
      return confirms?.(params.message) ? { action: "accept", content: { confirm: true } } : { action: "decline" };
    });
  }
  await client.connect(
    new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers: credentials } }),
  );
  onTestFinished(() => client.close());
  // So that answers are checked against the schemas.
  await client.listTools();

  const call: Agent["call"] = async (name, args = {}) => {
    const { content, structuredContent, isError = false } = await client.callTool({ name, arguments: args });
    const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
    return {
      ...{ isError, text: texts[0] ?? "", data: structuredContent },
      error: isError && texts[1] !== undefined ? JSON.parse(texts[1]) : undefined,
    };
  };
  return {
    ...{ client, call },
    async confirm(tool, args) {
      const { data, error } = await call(tool, args);
      if (error) throw new Error(`${tool} was refused: ${JSON.stringify(error)}`);
      return call(tool, { ...args, confirm: data.preview.confirm });
    },
  };
}
