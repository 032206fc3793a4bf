import { styleText } from "node:util";
import { bold, dim } from "../terminal.ts";
import type { Visitor } from "./visitor.ts";

interface Entry {
  kind: string;
  bucket: string;
  amountCents: number;
  createdAt: string;
}

const dollars = (cents: number) => `$${(cents / 100).toFixed(2)}`;
const signed = (cents: number) => `${cents > 0 ? "+" : "−"}${dollars(Math.abs(cents))}`;

function change(label: string, cents: number): string {
  return cents === 0 ? "" : `  ${styleText(cents > 0 ? "green" : "yellow", `${signed(cents)} ${label}`)}`;
}

let stepNumber = 0;

/** Prints a step and, below it, each wallet with its changes since it was last shown. */
export async function showStep(title: string, detail: string, visitors: Visitor[]): Promise<void> {
  console.log(`\n${bold(`${String(++stepNumber).padStart(2)}  ${title}`)}  ${dim(detail)}`);
  for (const visitor of visitors) {
    const wallet = await visitor.wallet();
    const { availableCents, heldCents } = visitor.lastShown;
    const balance = `${dollars(wallet.availableCents).padStart(9)} available ${dollars(wallet.heldCents).padStart(8)} held`;
    const changes =
      change("available", wallet.availableCents - availableCents) + change("held", wallet.heldCents - heldCents);
    console.log(
      `    ${visitor.name.padEnd(4)}${dim(visitor.role.padEnd(8))}${changes ? balance : dim(balance)}${changes}`,
    );
    visitor.lastShown = wallet;
  }
}

interface LogEvent {
  id: string;
  type: string;
  createdAt: string;
  data: { task?: { id: string; title: string } };
}

/** Prints what a visitor's event log has about a task and their wallet, oldest event first. */
export async function showLog(visitor: Visitor, taskId: string): Promise<void> {
  console.log(`\n    ${bold(`${visitor.name}'s event log`)}`);
  for (let after: string | null = visitor.logStart; after !== null; ) {
    const page: { events: LogEvent[]; nextCursor: string } = await visitor.call(
      "GET",
      `/events?after=${after}&limit=100`,
    );
    for (const { type, createdAt, data } of page.events) {
      // The tasks that other people post are in everyone's log.
      if (data.task === undefined || data.task.id === taskId)
        console.log(`    ${dim(createdAt.slice(11, 23))}  ${type}`);
    }
    after = page.events.length === 100 ? page.nextCursor : null;
  }
}

/** Prints a ledger, oldest entry first. */
export async function showLedger(visitor: Visitor): Promise<void> {
  const { entries } = await visitor.call<{ entries: Entry[] }>("GET", "/wallet/ledger");
  console.log(`\n    ${bold(`${visitor.name}'s ledger`)}`);
  for (const { createdAt, kind, bucket, amountCents } of entries.toReversed()) {
    const amount = signed(amountCents).padStart(10);
    console.log(`    ${dim(createdAt.slice(11, 23))}  ${kind.padEnd(16)}${bucket.padEnd(10)}${amount}`);
  }
}
