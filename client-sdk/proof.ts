/**
 * Proves, to the type checker only, that the generated types are those of the router: each input, each output and each
 * error, over typed RPC and in the methods of the client. A difference is an error in `npm run check`, with its name.
 */
import type { inferRouterError, inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import type { ErrorCode as ServiceErrorCode } from "../server/errors.ts";
import type { AppRouter } from "../server/procedures/router.ts";
import type { EventType, LogEventType as ServiceLogEventType } from "../server/schemas/event.ts";
import type { AwardTask, Call, ErrorCode, List, LogEventType, Rebid, WebhookEventType } from "./src/index.ts";
import type { RebidRouter } from "./src/trpc.ts";

/** True only for the same type, not for one that can be assigned to the other. */
type Identical<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** The names of the procedures whose types differ: never, if there are none. */
type Differences<A, B> = {
  [Namespace in keyof A & keyof B & string]: {
    [Verb in keyof A[Namespace] & string]: Verb extends keyof B[Namespace]
      ? Identical<A[Namespace][Verb], B[Namespace][Verb]> extends true
        ? never
        : `${Namespace}.${Verb}`
      : `${Namespace}.${Verb}`;
  }[keyof A[Namespace] & string];
}[keyof A & keyof B & string];

type Inputs = inferRouterInputs<AppRouter>;
type Outputs = inferRouterOutputs<AppRouter>;

/** Does not compile unless there is no difference; the error names what differs. */
type Nothing<_Difference extends never> = true;
type True<_Proof extends true> = true;

/** The methods of the client that are procedures. */
type Methods = {
  [Namespace in keyof Outputs]: Omit<
    Rebid[Namespace],
    "follow" | "wait" | "waitFor" | "uploadSample" | "uploadDelivery" | "uploadFile"
  >;
};
type MethodInputs = {
  [Namespace in keyof Methods]: {
    [Verb in keyof Methods[Namespace]]: Methods[Namespace][Verb] extends (...parameters: infer Parameters) => unknown
      ? InputOf<Parameters>
      : never;
  };
};
type MethodOutputs = {
  [Namespace in keyof Methods]: {
    [Verb in keyof Methods[Namespace]]: Methods[Namespace][Verb] extends (
      ...parameters: infer _Parameters
    ) => infer Result
      ? OutputOf<Result>
      : never;
  };
};

/** The first parameter; a method without input takes only options. */
type InputOf<Parameters extends readonly unknown[]> = Parameters extends [(infer First)?, unknown?]
  ? "maxRetries" extends keyof First
    ? inferRouterInputs<AppRouter>["auth"]["me"]
    : First
  : never;
type OutputOf<Result> =
  Result extends List<infer _Item, infer Page> ? Page : Result extends Call<infer Output> ? WithoutBody<Output> : never;
/** What tRPC makes of `void`. */
type WithoutBody<Output> = Identical<Output, void> extends true ? Outputs["auth"]["logout"] : Output;

/** A stream is read by `events.follow`. */
type WithoutStream<Procedures extends { events: object }> = Omit<Procedures, "events"> & {
  events: Omit<Procedures["events"], "stream">;
};
/** The client asks for a field that is optional on the wire. */
type WithPrice<Procedures extends { tasks: { award: object } }> = Omit<Procedures, "tasks"> & {
  tasks: Omit<Procedures["tasks"], "award"> & { award: AwardTask & { expectedPriceCents: number } };
};

export type Proofs = [
  True<Identical<keyof Inputs, keyof inferRouterInputs<RebidRouter>>>,
  Nothing<Differences<Inputs, inferRouterInputs<RebidRouter>>>,
  Nothing<Differences<inferRouterInputs<RebidRouter>, Inputs>>,
  Nothing<Differences<Outputs, inferRouterOutputs<RebidRouter>>>,
  Nothing<Differences<inferRouterOutputs<RebidRouter>, Outputs>>,
  Nothing<Differences<WithPrice<WithoutStream<Inputs>>, MethodInputs>>,
  Nothing<Differences<MethodInputs, WithPrice<Inputs>>>,
  Nothing<Differences<WithoutStream<Outputs>, MethodOutputs>>,
  Nothing<Differences<MethodOutputs, Outputs>>,
  True<Identical<inferRouterError<AppRouter>, inferRouterError<RebidRouter>>>,
  True<Identical<ServiceErrorCode, ErrorCode>>,
  True<Identical<EventType, WebhookEventType>>,
  True<Identical<ServiceLogEventType, LogEventType>>,
];
