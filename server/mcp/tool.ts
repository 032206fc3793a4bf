import type { z } from "zod";
import type { AppRouter } from "../procedures/router.ts";
import type { Context } from "../trpc.ts";
import type { AnswerText } from "./text.ts";

/** The procedures, as one caller may call them. */
export type Api = ReturnType<AppRouter["createCaller"]>;

/** What a tool works with during one call. */
export interface Job {
  readonly context: Context & { readonly userId: string };
  readonly api: Api;
  /** As `api`, for the change that the tool is for, with the caller's key: a repeat of the tool gets its first answer. */
  readonly keyed: Api;
  /** As `keyed`, for another change that the same call makes, with a key of its own. */
  readonly keyedStep: (operation: string) => Api;
  /** Whether this credential may rate and dispute, which is a buyer's scope: it is not told to do what would be refused. */
  readonly canRate: boolean;
  /** What the answer says in words. */
  readonly text: AnswerText;
}

/** What a tool declares. */
interface Declaration<Input extends z.ZodObject, Output extends z.ZodObject> {
  /** In snake case; models choose by it. */
  name: string;
  title: string;
  /** What it is for, when to use it, and what to know before: for a model that has read nothing else. */
  description: string;
  /** The procedures that it calls. A key that may not call all of them does not see the tool. */
  procedures: readonly [string, ...string[]];
  input: Input;
  /** The answer, with the fields of the API. What users wrote is moved to `untrusted` afterwards. */
  output: Output;
}

/** A tool that acts at once. */
export interface PlainTool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject>
  extends Declaration<Input, Output> {
  kind: "read" | "change";
  /** Whether it can take something away from the caller. */
  isDestructive?: boolean;
  run(job: Job, input: z.output<Input>): Promise<z.input<Output>>;
}

/** What an operation with money comes to, by name: amounts in cents, and an award's `etaHours`. */
export type Amounts = Readonly<Record<string, number>>;

/** A tool that moves money: it shows first what would happen, and acts when it is called again with the token of that. */
export interface MoneyTool<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodObject = z.ZodObject>
  extends Declaration<Input, Output> {
  kind: "money";
  isDestructive?: boolean;
  /** Whether this input moves money; always by default. */
  movesMoney?(input: z.output<Input>): boolean;
  /**
   * Tries the operation with `rehearse` and says in `job.text` what it would do. `agreed` are the amounts of the token.
   * Throws what the operation would be refused with.
   */
  preview(job: Job, input: z.output<Input>, rehearse: Api, agreed: Amounts | null): Promise<Amounts>;
  /** Does it, through `job.keyed`. */
  act(job: Job, input: z.output<Input>, agreed: Amounts): Promise<z.input<Output>>;
}

export type Tool = PlainTool | MoneyTool;

/** Infers a declaration's own types where it is written. The engine calls it only with what its own schema has parsed. */
export const plainTool = <Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: PlainTool<Input, Output>,
): PlainTool<Input, Output> => tool;

export const moneyTool = <Input extends z.ZodObject, Output extends z.ZodObject>(
  tool: MoneyTool<Input, Output>,
): MoneyTool<Input, Output> => tool;
