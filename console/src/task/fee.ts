import { queryOptions } from "@tanstack/react-query";
import { api, type FeeSchedule } from "../api/client.ts";
import { formatMoney } from "../parts/format.ts";

/** Known to everybody, and seldom changed. */
export const feesQuery = queryOptions({
  queryKey: ["fees"],
  queryFn: ({ signal }) => api.fees.read.query(undefined, { signal }),
  staleTime: 60_000,
  refetchInterval: false,
});

/** The fee of a price, by the rule of docs/contract.md "The platform's fee": a preview, which the service decides. */
export function feeOf(priceCents: number, { basisPoints, minCents, maxCents }: FeeSchedule): number {
  const share = Math.floor((priceCents * basisPoints) / 10_000);
  return Math.min(Math.max(share, minCents), maxCents ?? priceCents, priceCents);
}

/** The schedule that comes next, or null. The newest one is first. */
export const comingOf = (schedules: readonly FeeSchedule[], now: number): FeeSchedule | null =>
  schedules.findLast(({ from }) => Date.parse(from) > now) ?? null;

/** "5 % of the price, at least $0.50, at most $200.00" */
export function feeText({ basisPoints, minCents, maxCents }: FeeSchedule): string {
  return [
    `${basisPoints / 100} % of the price`,
    ...(minCents > 0 ? [`at least ${formatMoney(minCents)}`] : []),
    ...(maxCents === null ? [] : [`at most ${formatMoney(maxCents)}`]),
  ].join(", ");
}
