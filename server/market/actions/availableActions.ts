import { mayModerate, type Principal } from "../../auth/principal.ts";
import type { Agreement } from "../../schemas/agreement.ts";
import type { BidStatus } from "../../schemas/bid.ts";
import type { Scope } from "../../schemas/scope.ts";
import { type TaskOperation, taskOperations } from "../../schemas/taskOperation.ts";
import { type Sql, sql } from "../../store/connection.ts";
import { hasLapsed, mayAct, possibleKinds } from "../agreements/rules.ts";
import { type BidAction, decideBid } from "../bids/rules.ts";
import { hasFallenSilent } from "../conversation/talk.ts";
import type { TaskRecord } from "../tasks/records.ts";
import { actorOf, decideTaskAction, type Moment, moderatorActorOf, uploaderOf } from "../tasks/rules.ts";
import type { TaskAction } from "../tasks/stateMachine.ts";
import { canAddFile, canAddSample } from "../uploads/limits.ts";

/** What the status of a task does not say, but decides about a caller's operations as well. */
export interface Facts {
  /** The caller's bid that is active or awarded: there is at most one. */
  ownBid: { id: string; status: BidStatus } | null;
  /** Whether the caller has any bid on the task, even a rejected or withdrawn one. */
  hasBid: boolean;
  /** Whether the task has an active bid, of whomever. */
  hasActiveBid: boolean;
  /** Whether the task has an active bid, of a bidder who may still be awarded it. */
  hasAwardableBid: boolean;
  hasRated: boolean;
  /** Samples of `ownBid` that are finalised. */
  sampleCount: number;
  /** Whether the key of an external check has ended. */
  hasEndedCheckKey: boolean;
  /** The agreement of the two sides that is stored as pending. */
  agreement: Pick<Agreement, "kind" | "proposedBy" | "deliveryDueAt" | "status" | "expiresAt"> | null;
}

interface Situation extends Facts {
  task: TaskRecord;
  userId: string;
  /** Null for a session. */
  keyId: string | null;
  isModerator: boolean;
  moment: Moment;
}

interface Rule {
  /** What an API key needs; no key may do what only a session, or a moderator's, may. */
  needs: Scope | "session" | "moderator";
  isOpen(situation: Situation): boolean;
}

const always = () => true;

/** What the table of tasks allows the caller, if `besides` is true as well. */
const onTask = (
  action: TaskAction,
  needs: Scope | "session",
  besides: (situation: Situation) => boolean = always,
): Rule => ({
  needs,
  isOpen: (situation) => {
    const { task, userId, moment } = situation;
    return decideTaskAction(action, task, actorOf(task, userId), moment).refused === null && besides(situation);
  },
});

/** What the table of bids allows the owner. */
const onBid = (action: BidAction): Rule => ({
  needs: "bid:write",
  isOpen: ({ ownBid }) => ownBid !== null && decideBid(action, ownBid.status, "owner").refused === null,
});

/** What the table of tasks allows the owner of the awarded bid, for the caller's bid. */
const onUpload = (
  action: "uploadSample" | "deliver" | "giveBack",
  besides: (facts: Facts) => boolean = always,
): Rule => ({
  needs: "bid:write",
  isOpen({ task, userId, moment, ...facts }) {
    if (facts.ownBid === null) return false;
    const uploader = uploaderOf(task, { id: facts.ownBid.id, bidder: { id: userId } }, userId);
    return decideTaskAction(action, task, uploader, moment).refused === null && besides(facts);
  },
});

/** The agreement of the caller's task, unless it has lapsed. */
const pendingOf = ({ agreement, task, moment }: Situation) =>
  agreement !== null && !hasLapsed(agreement, task, moment) ? agreement : null;

const canPropose = (situation: Situation): boolean => {
  const { task, userId, moment } = situation;
  return pendingOf(situation) === null && possibleKinds(task, actorOf(task, userId), moment).length > 0;
};

/** What the table of agreements allows the caller's side, and, to accept, the table of tasks as well. */
const onAgreement = (action: "accept" | "decline" | "withdraw"): Rule => ({
  needs: "agreement:write",
  isOpen(situation) {
    const { task, userId, moment } = situation;
    const actor = actorOf(task, userId);
    const agreement = pendingOf(situation);
    if (agreement === null || actor === "stranger") return false;
    if (!mayAct(action, agreement, actor === "buyer" ? "buyer" : "bidder")) return false;
    const isLate = agreement.deliveryDueAt !== null && moment.now >= new Date(agreement.deliveryDueAt);
    return action !== "accept" || (!isLate && possibleKinds(task, actor, moment).includes(agreement.kind));
  },
});

/** Writing in a conversation of the caller's: about their own bid, any bid on their task, or the one in dispute. */
const onConversation: Rule = {
  needs: "message:write",
  isOpen({ task, userId, moment, isModerator, ...facts }) {
    if (hasFallenSilent(task, moment.now)) return false;
    if (task.buyerId === userId) return facts.hasActiveBid || task.awardedBidId !== null;
    return facts.ownBid !== null || (isModerator && !facts.hasBid && task.status === "disputed");
  },
};

const hasRoom = ({ sampleCount }: Facts) => canAddSample(sampleCount);

const rules: Record<TaskOperation, Rule> = {
  "tasks.update": onTask("update", "task:write"),
  "tasks.cancel": onTask("cancel", "task:write"),
  "tasks.award": onTask("award", "task:write", ({ hasAwardableBid }) => hasAwardableBid),
  "tasks.accept": onTask("accept", "task:write"),
  "tasks.requestChanges": onTask("requestChanges", "task:write"),
  "tasks.declineChanges": onTask("declineChanges", "bid:write"),
  "agreements.propose": { needs: "agreement:write", isOpen: canPropose },
  "agreements.accept": onAgreement("accept"),
  "agreements.decline": onAgreement("decline"),
  "agreements.withdraw": onAgreement("withdraw"),
  "tasks.dispute": onTask("dispute", "task:write"),
  "tasks.rate": onTask("rate", "task:write", ({ hasRated }) => !hasRated),
  "tasks.fileInit": onTask("changeFiles", "task:write", ({ task }) => canAddFile(task)),
  "tasks.fileFinalize": onTask("changeFiles", "task:write", ({ task }) => canAddFile(task)),
  "tasks.removeFile": onTask("changeFiles", "task:write", ({ task }) => task.fileCount > 0),
  "tasks.ask": onTask("ask", "message:write"),
  "questions.answer": onTask("answer", "message:write", ({ task }) => task.questionCount > 0),
  "bids.place": onTask("placeBid", "bid:write", ({ ownBid }) => ownBid?.status !== "active"),
  "bids.update": onBid("update"),
  "bids.withdraw": onBid("withdraw"),
  "bids.sampleInit": onUpload("uploadSample", hasRoom),
  "bids.sampleFinalize": onUpload("uploadSample", hasRoom),
  "bids.deliveryInit": onUpload("deliver"),
  "bids.deliveryFinalize": onUpload("deliver"),
  "bids.deliveryPreflight": onUpload("deliver"),
  "bids.giveBack": onUpload("giveBack"),
  "messages.send": onConversation,
  "messages.fileInit": onConversation,
  "messages.fileFinalize": onConversation,
  "tasks.setCheckKey": onTask("setCheckKey", "session", ({ hasEndedCheckKey }) => hasEndedCheckKey),
  "deliveries.report": onTask("report", "check:write", ({ task, keyId }) =>
    Object.values(task.checkKeys).some((named) => named === keyId),
  ),
  "disputes.resolve": {
    needs: "moderator",
    isOpen: ({ task, userId, moment, hasBid }) =>
      decideTaskAction("resolve", task, moderatorActorOf(task, userId, hasBid), moment).refused === null,
  },
};

interface Caller {
  principal: Principal;
  /** Whether moderators must have proved a second factor. */
  settings: { readonly moderatorTotp: boolean };
}

function has({ principal, settings }: Caller, needs: Rule["needs"]): boolean {
  if (needs === "moderator") return mayModerate(principal, settings);
  if (principal.kind === "session") return true;
  return needs !== "session" && principal.scopes.includes(needs);
}

/**
 * Returns the operations that the caller could do to the task, or to their own bid on it, at this moment: none of them is
 * refused for role, scope or status, and all others are. `facts` are from the snapshot that `task` was read from.
 * Source: docs/contract.md "States".
 */
export function availableActionsOf(task: TaskRecord, facts: Facts, caller: Caller, moment: Moment): TaskOperation[] {
  const { principal, settings } = caller;
  const isModerator = mayModerate(principal, settings);
  const keyId = principal.kind === "apiKey" ? principal.keyId : null;
  const situation = { ...facts, task, userId: principal.userId, keyId, isModerator, moment };
  return taskOperations.filter(
    (operation) => has(caller, rules[operation].needs) && rules[operation].isOpen(situation),
  );
}

/** JSON of what `availableActionsOf` needs to know about `tasks t`, for one user. */
export const factsFor = (userId: string): Sql => sql`(
  SELECT json_build_object(
    'ownBid', CASE WHEN own.id IS NOT NULL THEN json_build_object('id', own.id, 'status', own.status) END,
    -- Not EXISTS, for which a task full of one user's bids would be read from end to end.
    'hasBid', (SELECT b.id FROM bids b WHERE b.task_id = task.id AND b.bidder_id = ${userId}::uuid
               ORDER BY b.created_at DESC LIMIT 1) IS NOT NULL,
    'hasActiveBid', EXISTS (SELECT 1 FROM bids b WHERE b.task_id = task.id AND b.status = 'active'),
    'hasAwardableBid', EXISTS (
      SELECT 1 FROM bids b JOIN users u ON u.id = b.bidder_id
      WHERE b.task_id = task.id AND b.status = 'active' AND u.suspended_at IS NULL AND u.closed_at IS NULL),
    'hasRated', EXISTS (SELECT 1 FROM ratings r WHERE r.task_id = task.id AND r.rater_id = ${userId}::uuid),
    'agreement', (
      SELECT json_build_object('kind', a.kind, 'proposedBy', a.proposed_by, 'deliveryDueAt', a.delivery_due_at,
                               'status', a.status, 'expiresAt', a.expires_at)
      FROM agreements a WHERE a.task_id = task.id AND a.status = 'pending'),
    'hasEndedCheckKey', EXISTS (
      SELECT FROM jsonb_each_text(t.check_keys) AS named (check_name, id) WHERE NOT EXISTS (
        SELECT FROM api_keys k WHERE k.id = named.id::uuid AND k.revoked_at IS NULL AND k.expires_at > service_now())),
    'sampleCount', (
      SELECT count(*) FROM artifacts a WHERE a.task_id = task.id AND a.bid_id = own.id AND a.kind = 'sample'))
  FROM (VALUES (t.id)) AS task (id)
  -- In two parts, each with its own index: otherwise all active bids of the task would be read.
  LEFT JOIN LATERAL (
    SELECT b.id, b.status FROM bids b WHERE b.task_id = task.id AND b.bidder_id = ${userId}::uuid AND b.status = 'active'
    UNION ALL
    SELECT b.id, b.status FROM bids b
    WHERE b.id = t.awarded_bid_id AND t.awarded_bidder_id = ${userId}::uuid AND b.status = 'awarded'
  ) own ON true)`;
