import { apiKeyColumns } from "../../auth/spendLimit.ts";
import type { ExportListName } from "../../schemas/accountExport.ts";
import { type Sql, sql } from "../../store/connection.ts";
import { deliveryColumns, webhookColumns } from "../../webhooks/records.ts";
import { bidColumns } from "../bids/records.ts";
import { messageColumns } from "../conversation/messages.ts";
import { questionColumns } from "../conversation/questions.ts";
import { disputeColumns } from "../disputes/records.ts";
import { payoutRowColumns } from "../payouts/publicRecord.ts";
import { ratingColumns } from "../ratings.ts";
import { agreementColumns } from "../tasks/agreements.ts";
import { taskColumns } from "../tasks/records.ts";
import { roundColumns } from "../tasks/rounds.ts";
import { sealedColumns } from "../uploads/artifacts.ts";
import { exportColumns } from "./exports.ts";
import { numberColumn } from "./receipts.ts";

interface ExportList {
  /** SELECT … FROM …; the rows have `id` and `createdAt`. */
  select: Sql;
  /** Which rows are the user's. */
  ownedBy(user: Sql): Sql;
  /** The table that `id` and `created_at` belong to. */
  table: Sql;
}

const moderationActions = sql`
  SELECT a.id, a.action, a.dispute_id AS "disputeId", a.question_id AS "questionId", a.reason, a.created_at AS "createdAt"
  FROM moderation_actions a`;

/** Where the lists of an export come from. None of them selects a secret. */
export const exportSources: Record<ExportListName, ExportList> = {
  sessions: {
    select: sql`
      SELECT s.id, s.created_at AS "createdAt", s.last_seen_at AS "lastSeenAt", s.expires_at AS "expiresAt",
             s.user_agent AS "userAgent", s.address, s.second_factor AS "secondFactor"
      FROM sessions s`,
    ownedBy: (user) => sql`s.user_id = ${user}`,
    table: sql`s`,
  },
  keys: {
    select: sql`
      SELECT ${apiKeyColumns("database")}, k.last_used_at AS "lastUsedAt", k.revoked_at AS "revokedAt"
      FROM api_keys k`,
    ownedBy: (user) => sql`k.user_id = ${user}`,
    table: sql`k`,
  },
  approvals: {
    select: sql`
      SELECT a.id, a.key_id AS "keyId", a.operation, a.summary, a.amount_cents AS "amountCents", a.task_id AS "taskId",
             a.bid_id AS "bidId", a.input, a.result, a.status, a.reason, a.error, a.created_at AS "createdAt",
             a.expires_at AS "expiresAt", a.decided_at AS "decidedAt", a.decided_by AS "decidedBy"
      FROM approvals a`,
    ownedBy: (user) => sql`a.user_id = ${user}`,
    table: sql`a`,
  },
  tasks: {
    select: sql`SELECT ${taskColumns} FROM tasks t JOIN users buyer ON buyer.id = t.buyer_id`,
    ownedBy: (user) => sql`t.buyer_id = ${user}`,
    table: sql`t`,
  },
  bids: {
    select: sql`SELECT ${bidColumns} FROM bids b JOIN users bidder ON bidder.id = b.bidder_id`,
    ownedBy: (user) => sql`b.bidder_id = ${user}`,
    table: sql`b`,
  },
  files: {
    select: sql`
      SELECT a.id, a.bid_id AS "bidId", a.task_id AS "taskId", a.kind, a.sha256, a.created_at AS "createdAt",
             u.mime_type AS "mimeType", a.detected_mime_type AS "detectedMimeType", u.file_name AS "fileName", u.bytes,
             u.width, u.height, u.duration_sec AS "durationSec", a.detected_width AS "detectedWidth",
             a.detected_height AS "detectedHeight", a.detected_duration_sec AS "detectedDurationSec"
      FROM bids b JOIN artifacts a ON a.bid_id = b.id JOIN uploads u ON u.storage_key = a.upload_key`,
    ownedBy: (user) => sql`b.bidder_id = ${user} AND a.kind IN ('sample', 'delivery')`,
    table: sql`a`,
  },
  sharedFiles: {
    select: sql`
      SELECT ${sealedColumns}, a.task_id AS "taskId", a.bid_id AS "bidId", a.message_id AS "messageId"
      FROM artifacts a JOIN uploads u ON u.storage_key = a.upload_key`,
    ownedBy: (user) => sql`a.owner_id = ${user} AND a.kind IN ('brief', 'message')`,
    table: sql`a`,
  },
  questions: {
    select: sql`SELECT ${questionColumns} FROM questions q`,
    ownedBy: (user) => sql`q.asker_id = ${user}`,
    table: sql`q`,
  },
  answers: {
    // By the user's tasks, most of which have few questions.
    select: sql`
      SELECT ${questionColumns} FROM tasks t JOIN questions q ON q.task_id = t.id`,
    ownedBy: (user) => sql`t.buyer_id = ${user} AND q.answer IS NOT NULL`,
    table: sql`q`,
  },
  rounds: {
    select: sql`
      SELECT r.id, r.task_id AS "taskId", r.created_at AS "createdAt", ${roundColumns}
      FROM change_rounds r JOIN tasks t ON t.id = r.task_id`,
    ownedBy: (user) => sql`(t.buyer_id = ${user} OR t.awarded_bidder_id = ${user})`,
    table: sql`r`,
  },
  agreements: {
    select: sql`SELECT ${agreementColumns} FROM agreements a JOIN tasks t ON t.id = a.task_id`,
    ownedBy: (user) => sql`(t.buyer_id = ${user} OR t.awarded_bidder_id = ${user})`,
    table: sql`a`,
  },
  messages: {
    select: sql`SELECT ${messageColumns} FROM messages m`,
    ownedBy: (user) => sql`m.sender_id = ${user}`,
    table: sql`m`,
  },
  notifications: {
    select: sql`SELECT n.id, n.type, n.event_id AS event, n.read, n.created_at AS "createdAt" FROM notifications n`,
    ownedBy: (user) => sql`n.user_id = ${user}`,
    table: sql`n`,
  },
  disputes: {
    select: sql`SELECT ${disputeColumns} FROM disputes d JOIN tasks t ON t.id = d.task_id`,
    ownedBy: (user) => sql`
      (t.buyer_id = ${user} OR t.awarded_bidder_id = ${user}) AND t.status IN ('disputed', 'resolved')`,
    table: sql`d`,
  },
  ratingsGiven: {
    select: sql`SELECT ${ratingColumns} FROM ratings r`,
    ownedBy: (user) => sql`r.rater_id = ${user}`,
    table: sql`r`,
  },
  ratingsReceived: {
    select: sql`SELECT ${ratingColumns} FROM ratings r`,
    ownedBy: (user) => sql`r.ratee_id = ${user}`,
    table: sql`r`,
  },
  ledger: {
    select: sql`
      SELECT e.id, e.user_id AS "userId", e.kind, e.bucket, e.amount_cents AS "amountCents", x.task_id AS "taskId",
             x.bid_id AS "bidId", x.external_ref AS "externalRef", e.created_at AS "createdAt"
      FROM ledger_entries e JOIN ledger_transfers x ON x.id = e.transfer_id`,
    ownedBy: (user) => sql`e.user_id = ${user} AND e.bucket IN ('available', 'held')`,
    table: sql`e`,
  },
  topups: {
    select: sql`
      SELECT t.id, t.amount_cents AS "amountCents", t.currency, t.status, t.created_at AS "createdAt",
             t.updated_at AS "updatedAt"
      FROM topups t`,
    ownedBy: (user) => sql`t.user_id = ${user}`,
    table: sql`t`,
  },
  payouts: {
    select: sql`SELECT ${payoutRowColumns} FROM payouts p`,
    ownedBy: (user) => sql`p.user_id = ${user}`,
    table: sql`p`,
  },
  receipts: {
    select: sql`
      SELECT r.id, ${numberColumn} AS number, r.task_id AS "taskId", r.topup_id AS "topupId", r.payout_id AS "payoutId",
             r.created_at AS "createdAt"
      FROM (SELECT *, paid_at AS created_at FROM receipts WHERE number IS NOT NULL) r`,
    // By what is the user's, each of which has an index.
    ownedBy: (user) => sql`r.id IN (
      SELECT x.id FROM tasks t JOIN receipts x ON x.task_id = t.id WHERE t.buyer_id = ${user} OR t.awarded_bidder_id = ${user}
      UNION ALL SELECT x.id FROM topups u JOIN receipts x ON x.topup_id = u.id WHERE u.user_id = ${user}
      UNION ALL SELECT x.id FROM payouts p JOIN receipts x ON x.payout_id = p.id WHERE p.user_id = ${user})`,
    table: sql`r`,
  },
  exports: {
    select: sql`SELECT ${exportColumns} FROM exports x`,
    ownedBy: (user) => sql`x.user_id = ${user}`,
    table: sql`x`,
  },
  webhooks: {
    select: sql`SELECT ${webhookColumns}, e.deleted_at AS "deletedAt" FROM webhook_endpoints e`,
    ownedBy: (user) => sql`e.user_id = ${user}`,
    table: sql`e`,
  },
  webhookDeliveries: {
    select: sql`
      SELECT ${deliveryColumns} FROM webhook_endpoints e JOIN webhook_deliveries d ON d.endpoint_id = e.id`,
    ownedBy: (user) => sql`e.user_id = ${user}`,
    table: sql`d`,
  },
  moderationActions: {
    select: moderationActions,
    ownedBy: (user) => sql`a.user_id = ${user}`,
    table: sql`a`,
  },
  ownModerationActions: {
    select: moderationActions,
    ownedBy: (user) => sql`a.moderator_id = ${user}`,
    table: sql`a`,
  },
};
