import { documentation } from "./documentation.ts";
import { namespaces, type Operation, operations } from "./operations.ts";
import { operationTypes } from "./types.ts";

const kinds = {
  query: "TRPCQueryProcedure",
  mutation: "TRPCMutationProcedure",
  subscription: "TRPCSubscriptionProcedure",
} as const;

/** The file with the router's type for clients of tRPC, which has nothing of the server's. */
export function printRouter(): string {
  const names = [...operationTypes.values()].flatMap(({ input, output }) => [input, output]);
  const imported = [...new Set(names)].filter((name) => name !== "void" && name !== "NoInput").toSorted();
  return `import type {
  TRPC_ERROR_CODE_NUMBER,
  TRPCBuiltRouter,
  TRPCMutationProcedure,
  TRPCQueryProcedure,
  TRPCSubscriptionProcedure,
} from "@trpc/server";
import type { TrackedMessages } from "../trackedMessages.ts";
import type { ApiError, ${imported.join(", ")} } from "./types.ts";

/** The input of a procedure that takes none. */
type NoInput = Record<string, never> | undefined;

/** What is the same for all procedures. */
interface Root {
  ctx: object;
  meta: object;
  errorShape: { message: string; code: TRPC_ERROR_CODE_NUMBER; data: ApiError };
  transformer: false;
}

interface Query<Input, Output> extends TRPCQueryProcedure<{ meta: object; input: Input; output: Output }> {}
interface Mutation<Input, Output> extends TRPCMutationProcedure<{ meta: object; input: Input; output: Output }> {}
interface Subscription<Input, Output> extends TRPCSubscriptionProcedure<{ meta: object; input: Input; output: Output }> {}

/** The procedures, as tRPC infers its clients from them. */
export type RebidRouter = TRPCBuiltRouter<Root, {
${namespaces.map(printNamespace).join("\n")}
}>;
`;
}

function printNamespace(namespace: string): string {
  const own = operations.filter((operation) => operation.namespace === namespace);
  return `${namespace}: {\n${own.map(printProcedure).join("\n")}\n};`;
}

function printProcedure(operation: Operation): string {
  const types = operationTypes.get(operation.procedurePath);
  if (types === undefined) throw new Error(`${operation.procedurePath} has no types`);
  const { verb, type } = operation;
  const kind = kinds[type].replace(/^TRPC|Procedure$/g, "");
  const output = type === "subscription" ? `TrackedMessages<${types.output}>` : types.output;
  return `${documentation([`${operation.meta.summary}.`])}${verb}: ${kind}<${types.input}, ${output}>;`;
}
