import { useQuery } from "@tanstack/react-query";
import { feesQuery } from "./fee.ts";

/** What a side is told where money is about to be committed or paid: nothing, as long as there is no fee. */
export function FeeNote({ side = "buyer" }: { side?: "buyer" | "bidder" | null }) {
  const { data } = useQuery(feesQuery);
  if (data === undefined || data.schedules.length === 0) return null;
  return side === "bidder" ? (
    <p>The platform takes its fee out of what you are paid.</p>
  ) : (
    <p>The bidder pays the platform a fee out of what is paid; it costs the buyer nothing.</p>
  );
}
