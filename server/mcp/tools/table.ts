import type { Tool } from "../tool.ts";
import { answerAgreement, giveBack, proposeAgreement } from "./agree.ts";
import { awardTask, compareBids } from "./awardTask.ts";
import { declineChanges, requestChanges } from "./changes.ts";
import { acceptDelivery, disputeDelivery, rate } from "./decideDelivery.ts";
import { addSample, deliver } from "./deliver.ts";
import { getReputation } from "./getReputation.ts";
import { getTask } from "./getTask.ts";
import { readMessages, sendMessage } from "./messages.ts";
import { placeBid, withdrawBid } from "./placeBid.ts";
import { cancelTask, changeTask, postTask } from "./postTask.ts";
import { preflightDelivery } from "./preflightDelivery.ts";
import { answerQuestion, askQuestion } from "./questions.ts";
import { readDelivery } from "./readDelivery.ts";
import { searchTasks } from "./searchTasks.ts";
import { waitForEvents } from "./waitForEvents.ts";
import { getWallet, requestPayout } from "./wallet.ts";

/** Every tool, in the order in which clients list them: finding, bidding, posting, delivering, money. */
export const tools: readonly Tool[] = [
  searchTasks,
  getTask,
  placeBid,
  withdrawBid,
  postTask,
  changeTask,
  cancelTask,
  compareBids,
  awardTask,
  preflightDelivery,
  deliver,
  addSample,
  readDelivery,
  proposeAgreement,
  answerAgreement,
  giveBack,
  requestChanges,
  declineChanges,
  acceptDelivery,
  disputeDelivery,
  rate,
  getWallet,
  requestPayout,
  askQuestion,
  answerQuestion,
  sendMessage,
  readMessages,
  waitForEvents,
  getReputation,
];
