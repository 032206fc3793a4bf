import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type ApiFailure, failureOf } from "../api/client.ts";
import { formatBytes, formatMoney, formatNumber, plural } from "./format.ts";
import { Notice } from "./notice.tsx";
import { meaningOf } from "./words.ts";

/** Says why something was not done, and what to do about it. */
export function Problem({ error }: { error: unknown }) {
  const failure = failureOf(error);
  return (
    <Notice kind="bad" alert>
      {failure === null ? "The service cannot be reached. Check your connection and try again." : explain(failure)}
    </Notice>
  );
}

/** The refusals that have amounts, or where the console knows what to do next. */
function explain(failure: ApiFailure): ReactNode {
  const { error, violations, requestId } = failure;
  switch (error) {
    case "insufficient_funds":
      return (
        <>
          This needs {formatMoney(failure.neededCents ?? 0)}, and {formatMoney(failure.availableCents ?? 0)} is
          available. <Link to="/wallet/top-up">Top up your wallet</Link>
        </>
      );
    case "bid_changed":
      return `Nothing happened: the price has changed to ${formatMoney(failure.priceCents ?? 0)}. Look at the bid again.`;
    case "spam_guard":
      return failure.taskId === undefined ? (
        "You posted many tasks within a minute. Wait a moment, and try again."
      ) : (
        <>
          You posted this task already, several times.{" "}
          <Link to="/tasks/$taskId" params={{ taskId: failure.taskId }}>
            See the newest one
          </Link>
        </>
      );
    case "sample_too_large":
    case "delivery_too_large":
    case "file_too_large":
      return violations?.map(excessOf).join(" ");
    case "internal_error":
      return `Something went wrong on our side. Quote this number to report it: ${requestId}`;
    default:
      return meaningOf(failure);
  }
}

/** What of an upload is too much. */
function excessOf({ field, limit, actual }: NonNullable<ApiFailure["violations"]>[number]): string {
  if (field === "bytes") return `The file has ${formatBytes(actual)}, and may have at most ${formatBytes(limit)}.`;
  if (field === "samples") return `A bid can have at most ${plural(limit, "sample")}.`;
  return `The ${field} is ${formatNumber(actual)}, and may be at most ${formatNumber(limit)}.`;
}
