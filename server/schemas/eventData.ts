import { z } from "zod";
import { Delivery } from "./artifact.ts";
import {
  AgreementExcerpt,
  BidExcerpt,
  CheckResultExcerpt,
  DisputeExcerpt,
  QuestionExcerpt,
  TaskExcerpt,
  truncated,
} from "./excerpts.ts";

/** What several events have in their data. */
export const taskOnly = z.object({
  task: TaskExcerpt.meta({ description: "The task as it was right after the change." }),
});
export const taskAndBid = taskOnly.extend({
  bid: BidExcerpt.meta({ description: "The bid as it was right after the change." }),
});

export const withTask = taskOnly.meta({ id: "TaskEventData", description: "What events about a task have." });
export const withBid = taskAndBid.meta({
  id: "BidEventData",
  description: "What events about a bid or an awarded task have.",
});
export const withDispute = taskAndBid
  .extend({ dispute: DisputeExcerpt.meta({ description: "The dispute as it was right after the change." }) })
  .meta({ id: "DisputeEventData", description: "What events about a dispute have." });

export const withQuestion = taskOnly
  .extend({ question: QuestionExcerpt.meta({ description: "The question as it was right after the change." }) })
  .meta({ id: "QuestionEventData", description: "What events about a question have." });

export const withAgreement = taskAndBid
  .extend({ agreement: AgreementExcerpt.meta({ description: "The agreement as it was right after the change." }) })
  .meta({ id: "AgreementEventData", description: "What events about an agreement have." });

export const excerptOfReason = {
  reason: z.string().meta({ description: "What the side says that did this.", example: "The footnotes are missing." }),
  reasonTruncated: truncated("reason"),
} as const;

export const withCheckedDelivery = taskAndBid
  .extend({
    delivery: Delivery.pick({ id: true })
      .extend({ checks: z.array(CheckResultExcerpt).meta({ description: "What they came to, in their order." }) })
      .meta({ id: "CheckedDelivery", description: "The delivery as it was right after the change." }),
  })
  .meta({ id: "DeliveryCheckedEventData", description: "What events about a checked delivery have." });
