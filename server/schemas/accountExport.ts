import { z } from "zod";
import { Agreement } from "./agreement.ts";
import { ApiKey } from "./apiKey.ts";
import { Approval } from "./approval.ts";
import { Artifact } from "./artifact.ts";
import { Bid } from "./bid.ts";
import { Cents, exampleIds, Id, InputTimestamp, idOf, Price, Timestamp } from "./common.ts";
import { Dispute } from "./dispute.ts";
import { ExportRecord } from "./export.ts";
import { BriefFile } from "./file.ts";
import { LedgerEntry } from "./ledgerEntry.ts";
import { Message } from "./message.ts";
import { must } from "./messages.ts";
import { ModeratedUser, ModerationAction } from "./moderation.ts";
import { Notification, Preferences } from "./notification.ts";
import { Payout } from "./payout.ts";
import { Question } from "./question.ts";
import { Rating } from "./rating.ts";
import { ChangeRound } from "./round.ts";
import { Task } from "./task.ts";
import { SessionOrigin, User } from "./user.ts";
import { Wallet } from "./wallet.ts";
import { Webhook, WebhookDelivery } from "./webhook.ts";

const ExportedModerationAction = ModerationAction.omit({ moderator: true, user: true }).meta({
  id: "ExportedModerationAction",
  description: "What a moderator or an operator did, without names.",
});

/** The lists of an export, in their order. Each is oldest first. */
const exportLists = {
  sessions: z
    .array(
      z
        .object({
          id: idOf("session"),
          createdAt: Timestamp.meta({ description: "When the session began." }),
          lastSeenAt: Timestamp.meta({ description: "When it was last used, exact to a minute." }),
          expiresAt: Timestamp.meta({ description: "When it ends unless it is used." }),
          ...SessionOrigin.shape,
          secondFactor: z.boolean().meta({ description: "Whether it has proved the second factor." }),
        })
        .meta({ id: "ExportedSession", description: "A browser session." }),
    )
    .meta({ description: "Your sessions that have not ended." }),
  keys: z
    .array(
      ApiKey.extend({
        lastUsedAt: Timestamp.nullable().meta({ description: "When the key was last used.", example: null }),
        revokedAt: Timestamp.nullable().meta({ description: "When the key was revoked.", example: null }),
      }).meta({
        id: "ExportedApiKey",
        description: "An API key, also one that was revoked or has expired within the last 90 days.",
      }),
    )
    .meta({ description: "Your API keys." }),
  approvals: z
    .array(
      Approval.omit({ version: true }).meta({
        id: "ExportedApproval",
        description: "What an API key asked, and the answer.",
      }),
    )
    .meta({ description: "What your API keys asked you." }),
  tasks: z.array(Task).meta({ description: "Tasks that you posted." }),
  bids: z.array(Bid).meta({ description: "Your bids." }),
  files: z
    .array(
      Artifact.omit({
        ...{ downloadUrl: true, dimensions: true, detectedDimensions: true, detectedDurationSec: true },
      })
        .extend({
          kind: z.enum(["sample", "delivery"]).meta({ description: "What the file was uploaded as." }),
          fileName: z.string().nullable().meta({ description: "The name that downloads have.", example: "page-1.png" }),
          sha256: z.string().nullable().meta({ description: "SHA-256 of the bytes, in hex.", example: null }),
          durationSec: z.number().nullable().meta({ description: "Seconds, as declared.", example: null }),
          width: z.int32().nullable().meta({ description: "Pixels, as declared.", example: null }),
          height: z.int32().nullable().meta({ description: "Pixels, as declared.", example: null }),
          detectedWidth: z.int32().nullable().meta({ description: "Pixels, as the file states them.", example: 1_920 }),
          detectedHeight: z
            .int32()
            .nullable()
            .meta({ description: "Pixels, as the file states them.", example: 1_080 }),
          detectedDurationSec: z
            .number()
            .nullable()
            .meta({ description: "Seconds, as the file states them.", example: null }),
        })
        .meta({ id: "ExportedFile", description: "A file that was uploaded, without its bytes." }),
    )
    .meta({ description: "Samples and deliveries that you uploaded." }),
  questions: z.array(Question).meta({ description: "Questions that you asked." }),
  answers: z.array(Question).meta({ description: "Questions about your tasks that you answered." }),
  rounds: z
    .array(
      ChangeRound.extend({ id: idOf("round"), taskId: idOf("task") }).meta({
        id: "ExportedRound",
        description: "A round of changes, and how it ended.",
      }),
    )
    .meta({ description: "Rounds of changes of your tasks." }),
  agreements: z
    .array(Agreement)
    .meta({ description: "Agreements about your tasks, also those that did not come about." }),
  sharedFiles: z
    .array(
      BriefFile.omit({ downloadUrl: true, visibility: true })
        .extend({
          kind: z.enum(["brief", "message"]).meta({ description: "What the file was uploaded for." }),
          taskId: idOf("task", "Of a brief: the task that the file belongs to.").nullable(),
          bidId: idOf("bid", "Of a message: the bid whose conversation the file belongs to.").nullable(),
          messageId: idOf("message", "The message that the file is in; null for none.").nullable(),
        })
        .meta({ id: "ExportedSharedFile", description: "A file that was uploaded, without its bytes." }),
    )
    .meta({ description: "Files of briefs and messages that you uploaded." }),
  messages: z
    .array(
      Message.omit({ files: true, sender: true }).meta({
        id: "ExportedMessage",
        description: "A message, without its files.",
      }),
    )
    .meta({ description: "Messages that you wrote." }),
  notifications: z
    .array(
      Notification.pick({ id: true, type: true, event: true, read: true, createdAt: true }).meta({
        id: "ExportedNotification",
        description: "What you were told about an event.",
      }),
    )
    .meta({ description: "Notifications of the last 30 days." }),
  disputes: z.array(Dispute).meta({ description: "Disputes of your tasks." }),
  ratingsGiven: z.array(Rating).meta({ description: "What you said of others." }),
  ratingsReceived: z.array(Rating).meta({ description: "What others said of you." }),
  ledger: z.array(LedgerEntry).meta({ description: "Every movement of your money." }),
  topups: z
    .array(
      z
        .object({
          id: idOf("top-up"),
          amountCents: Price.meta({ description: "Integer cents.", example: 5_000 }),
          currency: z.string().meta({ description: "ISO 4217, in lower case.", example: "usd" }),
          status: z.string().meta({ description: "How far it came.", example: "paid" }),
          createdAt: Timestamp.meta({ description: "When it was started." }),
          updatedAt: Timestamp.meta({ description: "When it last changed." }),
        })
        .meta({
          id: "ExportedTopup",
          description: "A top-up, also one that failed or expired within the last 90 days.",
        }),
    )
    .meta({ description: "Your top-ups." }),
  payouts: z.array(Payout).meta({ description: "Your payouts." }),
  receipts: z
    .array(
      z
        .object({
          id: idOf("receipt"),
          number: z.string().meta({ description: "The year and a number without gaps.", example: "2026-000042" }),
          taskId: Id.nullable().meta({ description: "The task that was paid for.", example: null }),
          topupId: Id.nullable().meta({ description: "The top-up that was credited.", example: null }),
          payoutId: Id.nullable().meta({ description: "The payout that was paid.", example: null }),
          createdAt: Timestamp.meta({ description: "When it was paid." }),
        })
        .meta({ id: "ExportedReceipt", description: "A receipt, by its number and what it is about." }),
    )
    .meta({ description: "Receipts of your payments; `POST /exports` makes the papers." }),
  exports: z.array(ExportRecord).meta({ description: "Files that you asked for within 7 days, without links." }),
  webhooks: z
    .array(
      Webhook.extend({
        deletedAt: Timestamp.nullable().meta({ description: "When the endpoint was deleted.", example: null }),
      }).meta({
        id: "ExportedWebhook",
        description: "A webhook endpoint, also one that was deleted within the last 30 days.",
      }),
    )
    .meta({ description: "Your webhook endpoints." }),
  webhookDeliveries: z.array(WebhookDelivery).meta({ description: "Deliveries to your endpoints." }),
  moderationActions: z.array(ExportedModerationAction).meta({ description: "What moderators did to you." }),
  ownModerationActions: z
    .array(ExportedModerationAction)
    .meta({ description: "What you did as a moderator, without the names of those it was done to." }),
} as const;

export type ExportListName = keyof typeof exportLists;
export const exportListNames = Object.keys(exportLists) as ExportListName[]; // the keys of a literal are its type's keys

const timestamp = "\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z";
const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const positionPattern = new RegExp(`^(${exportListNames.join("|")})~(${timestamp})~(${uuid})$`);

/** Where an export continues: after this row of this list. */
export interface ExportPosition {
  list: ExportListName;
  createdAt: string;
  id: string;
}

export const printPosition = ({ list, createdAt, id }: ExportPosition): string => `${list}~${createdAt}~${id}`;

/** The `nextPart` of an earlier part, as `printPosition` printed it. */
export const ExportPosition = z
  .string()
  .refine((text) => readPosition(text) !== null, { error: must("be the `nextPart` of an earlier part") })
  .meta({
    description: "Take it from the previous part's `nextPart`; omit it for the first part.",
    maxLength: 200,
    example: `ledger~2026-11-20T12:00:00.123456Z~${exampleIds["ledger entry"]}`,
  });

export function readPosition(text: string): ExportPosition | null {
  const [, name, createdAt, id] = positionPattern.exec(text) ?? [];
  const list = exportListNames.find((known) => known === name);
  // The pattern allows days that do not exist.
  const isTime = InputTimestamp.safeParse(createdAt).success;
  return list && createdAt && id && isTime ? { list, createdAt, id } : null;
}

/** Everything that the service knows about a user, without secrets. */
export const AccountExport = z
  .object({
    exportedAt: Timestamp.meta({ description: "When the data was read." }),
    user: ModeratedUser.extend({
      secondFactorSince: Timestamp.nullable().meta({
        description: "When it was set up; null without a second factor.",
        example: null,
      }),
      timeZone: User.shape.timeZone,
    }).meta({ id: "ExportedUser", description: "The account." }),
    preferences: Preferences.meta({ description: "How you are told." }),
    wallet: Wallet.extend({
      debtCents: Cents.meta({
        description: "What is owed after a refund or a chargeback, in integer cents.",
        example: 0,
      }),
    }).meta({ id: "ExportedWallet", description: "The balances." }),
    payoutAccount: z
      .object({
        accountId: z.string().nullable().meta({ description: "The id at the payment processor.", example: "acct_1" }),
        email: z
          .string()
          .meta({ description: "As it was sent to the processor.", format: "email", example: "ada@example.com" }),
        displayName: z.string().meta({ description: "As it was sent to the processor.", example: "Ada" }),
        active: z.boolean().meta({ description: "Whether payouts are possible." }),
        createdAt: Timestamp.meta({ description: "When it was created." }),
      })
      .meta({ id: "ExportedPayoutAccount", description: "The account at the payment processor." })
      .nullable()
      .meta({ description: "Null before the first payout onboarding." }),
    ...exportLists,
    nextPart: z.string().nullable().meta({
      description: "Null when this is everything. Otherwise, the rest follows with this as `after`.",
      example: null,
    }),
  })
  .meta({ id: "AccountExport", description: "Everything that the service knows about a user, without secrets." });
export type AccountExport = z.infer<typeof AccountExport>;
