import { z } from "zod";
import { ApiError } from "../../errors.ts";
import { getDisputeCase, listDisputes as listPage } from "../../market/disputes/records.ts";
import { type Resolution, resolveDispute } from "../../market/disputes/resolution.ts";
import { type DisputeCase, resolutions, resolveInput } from "../../schemas/dispute.ts";
import type { Services } from "../../services.ts";
import { CommandFailure, UsageError, uuidOf } from "../runCommand.ts";
import { bold, dim, printable } from "../terminal.ts";

const PAGE_SIZE = 50;

export async function listDisputes(services: Pick<Services, "database" | "storage">): Promise<void> {
  const reader = { partyId: null };
  let count = 0;
  for (let cursor: string | undefined; ; ) {
    const page = await listPage(services.database, { reader, statuses: ["open"], cursor, limit: PAGE_SIZE });
    for (const { id } of page) console.log(describe(await getDisputeCase(services, id, reader)));
    count += page.length;
    cursor = page.at(-1)?.createdAt;
    if (page.length < PAGE_SIZE) break;
  }
  if (count === 0) console.log("There are no open disputes.");
  else console.log(`${count} open. To decide one: npm run moderator -- resolve ID refund|release|split [CENTS]`);
}

const cents = (amount: number) => `${amount} cents`;

/** Formats one labelled field. Further lines of the text are indented to align with the first. */
const field = (name: string, text: string) => `  ${name.padEnd(10)}${text.replaceAll("\n", `\n${" ".repeat(12)}`)}`;

function describe({ dispute, task, bid, samples, deliveries, reputations }: DisputeCase): string {
  const record = (role: { tasksAccepted: number; disputesLost: number } | null) =>
    dim(role === null ? "(no history)" : `(${role.tasksAccepted} accepted, ${role.disputesLost} disputes lost)`);
  return [
    bold(dispute.id),
    field("task", `${printable(task.title)} ${dim(task.id)}`),
    field("held", cents(bid.priceCents)),
    field("buyer", `${printable(task.buyer.displayName)} ${record(reputations.buyer.buyer)}`),
    field("bidder", `${printable(bid.bidder.displayName)} ${record(reputations.bidder.bidder)}`),
    field("opened", `${dispute.createdAt} by the ${dispute.openedBy}`),
    field("reason", printable(dispute.reason)),
    field("asked", printable(task.description)),
    ...(task.acceptanceCriteria === null ? [] : [field("criteria", printable(task.acceptanceCriteria))]),
    ...(bid.notes === null ? [] : [field("offered", printable(bid.notes))]),
    ...samples.map(({ downloadUrl }) => field("sample", downloadUrl)),
    ...deliveries.map(({ downloadUrl }) => field("delivery", downloadUrl)),
    "",
  ].join("\n");
}

/** Reads `ID refund|release|split [CENTS]` and the note, within the limits of `POST /disputes/{id}/resolve`. */
export function readResolution([dispute, decision, share]: string[], note: string | undefined): Resolution {
  if (dispute === undefined || decision === undefined) {
    throw new UsageError("The ID of a dispute and a decision are required.");
  }
  const id = uuidOf("ID", dispute);
  const resolution = resolutions.find((name) => name === decision);
  if (resolution === undefined)
    throw new UsageError(`The decision must be refund, release or split, not "${decision}".`);
  if ((resolution === "split") !== (share !== undefined)) {
    throw new UsageError(share === undefined ? "split needs CENTS, the bidder's share." : "Only split takes CENTS.");
  }
  if (share !== undefined && !/^[1-9]\d*$/.test(share)) {
    throw new UsageError(`CENTS must be a positive integer, not "${share}".`);
  }
  const bidderCents = share === undefined ? undefined : Number(share);
  const parsed = z.strictObject(resolveInput).safeParse({ resolution, bidderCents, note });
  if (parsed.success) return { id, ...parsed.data };
  throw new UsageError(parsed.error.issues.map(({ message }) => message).join("\n"));
}

export async function resolve(services: Services, resolution: Resolution): Promise<void> {
  const resolving = services.database.transaction((tx) => resolveDispute(tx, services, resolution, null));
  const { dispute, task } = await resolving.catch((error: unknown) => {
    const isUnknown = error instanceof ApiError && error.code === "not_found";
    throw isUnknown ? new CommandFailure(`Dispute ${resolution.id} does not exist.`) : error;
  });
  services.securityLog.record("operator", "dispute.resolved", {
    disputeId: dispute.id,
    resolution: resolution.resolution,
  });
  console.log(
    [
      `${bold("Resolved")}: ${dispute.resolution} of "${printable(task.title)}".`,
      `  returned to the buyer  ${cents(dispute.buyerCents ?? 0)}`,
      `  paid to the bidder     ${cents(dispute.bidderCents ?? 0)}`,
    ].join("\n"),
  );
}
