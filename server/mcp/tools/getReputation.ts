import { z } from "zod";
import { Id } from "../../schemas/common.ts";
import { Reputation } from "../../schemas/reputation.ts";
import { plainTool } from "../tool.ts";
import { wordsOfBidder, wordsOfBuyer } from "./reputations.ts";

export const getReputation = plainTool({
  name: "get_reputation",
  title: "Read a reputation",
  description:
    "Reads a user's record as buyer and as bidder, also your own: tasks, deliveries on time, disputes, ratings.",
  procedures: ["users.reputation"],
  kind: "read",
  input: z.strictObject({ userId: Id.meta({ description: "The user's `id`. Left out: you." }).optional() }),
  output: Reputation,
  async run({ api, text, context }, { userId = context.userId }) {
    const reputation = await api.users.reputation({ id: userId });
    text.say(`User ${userId} as buyer: ${wordsOfBuyer(reputation)}.`);
    text.say(`As bidder: ${wordsOfBidder(reputation)}.`);
    return reputation;
  },
});
