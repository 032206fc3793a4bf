import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Bid } from "../api/client.ts";
import { bidQuery } from "../api/queries.ts";
import { Button } from "../parts/button.tsx";
import { LongText } from "../parts/longText.tsx";

/** The notes of a bid. Lists have only their beginning; the rest is read when somebody asks for it. */
export function BidNotes({ bid }: { bid: Bid }) {
  const [whole, setWhole] = useState(false);
  const { data } = useQuery({ ...bidQuery(bid.id), enabled: whole });
  if (bid.notes === null) return null;
  if (data) return <LongText text={data.bid.notes ?? ""} />;
  return (
    <div>
      <LongText text={bid.notesTruncated ? `${bid.notes}…` : bid.notes} />
      {bid.notesTruncated && (
        <Button look="quiet" size="small" busy={whole} onClick={() => setWhole(true)}>
          Read all notes
        </Button>
      )}
    </div>
  );
}
