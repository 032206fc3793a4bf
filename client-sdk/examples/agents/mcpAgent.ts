import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

/** The answer of a tool: what a model reads, and the same as data. */
export interface ToolAnswer {
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: each tool has a schema of its own, which the client checks
  data: any;
}

/** An agent that knows nothing but the tools at `/mcp`. */
export class McpAgent {
  readonly #client = new Client({ name: "rebid-agents", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });

  static async connect(url: string, key: string): Promise<McpAgent> {
    const agent = new McpAgent();
    const requestInit = { headers: { authorization: `Bearer ${key}` } };
    await agent.#client.connect(new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit }));
    return agent;
  }

  /** Calls a tool. Throws with its text when it refuses. */
  async call(tool: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
    const { content, structuredContent, isError } = await this.#client.callTool({ name: tool, arguments: args });
    const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    if (isError) throw new Error(`the tool ${tool} refused: ${text}`);
    return { text, data: structuredContent };
  }

  /** Calls a tool that moves money: it shows what would happen, and acts when the token of that comes back. */
  async confirm(tool: string, args: Record<string, unknown>): Promise<ToolAnswer> {
    const { data } = await this.call(tool, args);
    return this.call(tool, { ...args, confirm: data.preview.confirm });
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
