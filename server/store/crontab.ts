import { parseCrontab } from "graphile-worker";

/** Each job is added once, however many workers run. Times are UTC. A missed night is made up for at the next start. */
export const crontab = `
17 3 * * * auditLedger ?fill=1d
37 * * * * pruneWebhookDeliveries
42 * * * * pruneWebhookEndpoints
27 * * * * pruneEvents
47 * * * * pruneAccounts
52 * * * * prunePayments
2 * * * * pruneExports
32 4 * * * pruneFailedJobs
57 * * * * sweepUploads
7 * * * * resealFactors
*/5 * * * * pruneRateLimits`;

/** The same for the lane of messages. Zones differ by quarters of an hour. */
export const messageCrontab = `
* * * * * tendMails
0,15,30,45 * * * * planDigests`;

const MINUTE_MS = 60_000;

/** Returns the jobs of the crontab that fall due after `from`, up to and including `to`: each once, however often. */
export function findScheduled(from: Date, to: Date): string[] {
  const waiting = new Set(parseCrontab(`${crontab}${messageCrontab}`));
  const found: string[] = [];
  // Backwards, so that no more minutes are looked at than a day has: every job has its turn within one.
  for (
    let ms = Math.floor(to.getTime() / MINUTE_MS) * MINUTE_MS;
    ms > from.getTime() && waiting.size > 0;
    ms -= MINUTE_MS
  ) {
    const at = new Date(ms);
    for (const item of waiting) {
      const isDue = item.match({
        min: at.getUTCMinutes(),
        hour: at.getUTCHours(),
        date: at.getUTCDate(),
        month: at.getUTCMonth() + 1,
        dow: at.getUTCDay(),
      });
      if (!isDue) continue;
      waiting.delete(item);
      found.push(item.task);
    }
  }
  return found.sort();
}
