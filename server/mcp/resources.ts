import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from "@modelcontextprotocol/server";
import { appRouter } from "../procedures/router.ts";
import { toApiError } from "../translateErrors.ts";
import { type Guide, readGuides } from "./guides.ts";
import type { McpContext } from "./runTool.ts";
import type { Api } from "./tool.ts";
import { separateUntrusted, UNTRUSTED_DESCRIPTION } from "./untrusted.ts";

const WALLET = "rebid://wallet";
const GUIDES = "rebid://guides/";

/** The records that are addressed by their id, and the procedure that reads each. */
const records = [
  {
    name: "task",
    title: "Task",
    path: "rebid://tasks/",
    description: "A task as you may see it, with its bids, files, dispute and ratings.",
    read: (api: Api, id: string) => api.tasks.read({ id }),
  },
  {
    name: "bid",
    title: "Bid",
    path: "rebid://bids/",
    description: "A bid of yours, or on a task of yours.",
    read: (api: Api, id: string) => api.bids.read({ id }),
  },
] as const;

let guides: Promise<Guide[]> | undefined;
/** They do not change while the process runs. */
const knownGuides = () => (guides ??= readGuides());

/** What clients show as a list: the wallet and the guides. */
export async function listResources() {
  const pages = (await knownGuides()).map(({ name, title }) => ({
    uri: GUIDES + name,
    name,
    title,
    mimeType: "text/markdown",
  }));
  return {
    resources: [{ uri: WALLET, name: "wallet", title: "Your wallet", mimeType: "application/json" }, ...pages],
  };
}

export function listResourceTemplates() {
  const templates = records.map(({ name, title, path, description }) => ({
    ...{ name, title, description },
    uriTemplate: `${path}{id}`,
    mimeType: "application/json",
  }));
  const guide = {
    name: "guide",
    title: "Guide",
    description: "A page of the documentation.",
    uriTemplate: `${GUIDES}{name}`,
    mimeType: "text/markdown",
  };
  return { resourceTemplates: [...templates, guide] };
}

/** Reads a resource through the procedures. What is refused is the protocol's error, with the API's body as data. */
export async function readResource(uri: string, context: McpContext) {
  if (uri.startsWith(GUIDES)) {
    const guide = (await knownGuides()).find(({ name }) => name === uri.slice(GUIDES.length));
    if (guide === undefined) throw new ResourceNotFoundError(uri);
    return { contents: [{ uri, mimeType: "text/markdown", text: guide.text }] };
  }
  const api = appRouter.createCaller({ ...context, setHeader: () => {} });
  const record = records.find(({ path }) => uri.startsWith(path));
  const read = record ? record.read(api, uri.slice(record.path.length)) : uri === WALLET ? api.wallet.read() : null;
  if (read === null) throw new ResourceNotFoundError(uri);
  const found = await read.catch((thrown: unknown) => {
    const error = toApiError(thrown);
    if (error.code === "not_found") throw new ResourceNotFoundError(uri);
    const code = error.status < 500 ? ProtocolErrorCode.InvalidRequest : ProtocolErrorCode.InternalError;
    throw new ProtocolError(code, error.message, { ...error.toBody(context.requestId), status: error.status });
  });
  const about = { untrustedMeans: UNTRUSTED_DESCRIPTION };
  const text = JSON.stringify(Object.assign(about, separateUntrusted(found)));
  return { contents: [{ uri, mimeType: "application/json", text }] };
}
