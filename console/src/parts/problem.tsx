import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type ApiFailure, failureOf } from "../api/client.ts";
import { formatBytes, formatMoney } from "./format.ts";
import { Notice } from "./notice.tsx";

/** Says why something was not done, and what to do about it. */
export function Problem({ error }: { error: unknown }) {
  const failure = failureOf(error);
  return (
    <Notice kind="bad" alert>
      {failure === null ? "The service cannot be reached. Check your connection and try again." : explain(failure)}
    </Notice>
  );
}

/** The messages are the service's own; these are the ones where the console knows what to do next. */
function explain(failure: ApiFailure): ReactNode {
  const { error, message, issues, violations, requestId } = failure;
  switch (error) {
    case "insufficient_funds":
      return (
        <>
          This needs {formatMoney(failure.neededCents ?? 0)}, and {formatMoney(failure.availableCents ?? 0)} are
          available. <Link to="/wallet/top-up">Top up your wallet</Link>
        </>
      );
    case "bid_changed":
      return `Nothing happened: the price has changed to ${formatMoney(failure.priceCents ?? 0)}. Look at the bid again.`;
    case "second_factor_required":
      return "This code is wrong or was used already. Enter the one that your authenticator shows now, or a recovery code.";
    case "unauthenticated":
      return "Your session has ended. Sign in again.";
    case "spam_guard":
      return failure.taskId === undefined ? (
        message
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
      return (violations ?? [])
        .map(({ field, limit, actual }) =>
          field === "bytes"
            ? `The file has ${formatBytes(actual)}, and may have at most ${formatBytes(limit)}.`
            : `${field} is ${actual}, and may be at most ${limit}.`,
        )
        .join(" ");
    case "internal_error":
      return `${message.replace("`requestId`", "number")} ${requestId}`;
    case "rate_limited":
      return "Too many attempts. Wait a minute, and try again.";
    case "unavailable":
      return "The service is busy. Try again in a moment.";
    default:
      return issues?.length ? issues.map((issue) => issue.message).join(" ") : message;
  }
}
