import { z } from "zod";
import { ApiKey } from "./apiKey.ts";
import { Artifact } from "./artifact.ts";
import { Bid } from "./bid.ts";
import { Cents, Id, InputTimestamp, Timestamp } from "./common.ts";
import { Dispute } from "./dispute.ts";
import { LedgerEntry } from "./ledgerEntry.ts";
import { must } from "./messages.ts";
import { ModeratedUser, ModerationAction } from "./moderation.ts";
import { Payout } from "./payout.ts";
import { Rating } from "./rating.ts";
import { Task } from "./task.ts";
import { Webhook, WebhookDelivery } from "./webhook.ts";

/** The lists of an export, in their order. Each is oldest first. */
export const exportLists = {
  sessions: z.array(
    z.object({
      id: Id,
      createdAt: Timestamp,
      lastSeenAt: Timestamp,
      expiresAt: Timestamp,
      secondFactor: z.boolean(),
    }),
  ),
  keys: z.array(ApiKey.extend({ lastUsedAt: Timestamp.nullable(), revokedAt: Timestamp.nullable() })),
  tasks: z.array(Task),
  bids: z.array(Bid),
  files: z.array(
    Artifact.omit({
      ...{ downloadUrl: true, dimensions: true, detectedDimensions: true, detectedDurationSec: true },
    }).extend({
      kind: z.enum(["sample", "delivery"]),
      fileName: z.string().nullable(),
      sha256: z.string().nullable(),
      durationSec: z.number().nullable(),
      width: z.int().nullable(),
      height: z.int().nullable(),
      detectedWidth: z.int().nullable(),
      detectedHeight: z.int().nullable(),
      detectedDurationSec: z.number().nullable(),
    }),
  ),
  disputes: z.array(Dispute),
  ratingsGiven: z.array(Rating),
  ratingsReceived: z.array(Rating),
  ledger: z.array(LedgerEntry),
  topups: z.array(
    z.object({
      id: Id,
      amountCents: Cents,
      currency: z.string(),
      status: z.string(),
      createdAt: Timestamp,
      updatedAt: Timestamp,
    }),
  ),
  payouts: z.array(Payout),
  webhooks: z.array(Webhook.extend({ deletedAt: Timestamp.nullable() })),
  webhookDeliveries: z.array(WebhookDelivery),
  moderationActions: z.array(ModerationAction.omit({ moderator: true, user: true })),
  /** What a moderator did, without the names of those it was done to. */
  ownModerationActions: z.array(ModerationAction.omit({ moderator: true, user: true })),
} as const;

export type ExportListName = keyof typeof exportLists;
export const exportListNames = Object.keys(exportLists) as ExportListName[]; // the keys of a literal are its type's keys

const timestamp = "\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z";
const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const positionPattern = new RegExp(`^(${exportListNames.join("|")})~(${timestamp})~(${uuid})$`);

/** Where an export goes on: after this row of this list. */
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
  .meta({ description: "Take it from the previous part's `nextPart`; omit it for the first part." });

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
    exportedAt: Timestamp,
    user: ModeratedUser.extend({
      secondFactorSince: Timestamp.nullable().meta({ description: "Null without a second factor." }),
    }),
    wallet: z.object({ availableCents: Cents, heldCents: Cents, debtCents: Cents }),
    payoutAccount: z
      .object({
        accountId: z.string().nullable().meta({ description: "The id at the payment processor." }),
        ...{ email: z.string(), displayName: z.string(), active: z.boolean(), createdAt: Timestamp },
      })
      .nullable(),
    ...exportLists,
    nextPart: z.string().nullable().meta({
      description: "Null when this is everything. Otherwise, the rest follows with this as `after`.",
    }),
  })
  .meta({ id: "AccountExport" });
export type AccountExport = z.infer<typeof AccountExport>;
