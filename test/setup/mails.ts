import { expect, vi } from "vitest";
import type { BoxedMail } from "../../server/local/mailbox/mails.ts";
import type { TestService } from "./testService.ts";

/** The mails in the service's mailbox, newest first; only those to this address if one is given. */
export async function listMails({ mailboxUrl }: TestService, to?: string): Promise<BoxedMail[]> {
  if (mailboxUrl === null) throw new Error("the service has no mailbox: useService({ mailbox: true })");
  const mails = (await (await fetch(`${mailboxUrl}/mails`)).json()) as BoxedMail[];
  return to === undefined ? mails : mails.filter((mail) => mail.to.includes(to));
}

/** Waits until `count` mails with a link that has a token have arrived at this address, and returns them, newest first. */
export function mailsTo(service: TestService, to: string, count = 1): Promise<BoxedMail[]> {
  return vi.waitFor(
    async () => {
      const mails = (await listMails(service, to)).filter(({ links }) =>
        links.some((link) => link.includes("#token=")),
      );
      expect(mails).toHaveLength(count);
      return mails;
    },
    { timeout: 60_000, interval: 50 },
  );
}

/** The token in a mail's only link. */
export function tokenIn(mail: BoxedMail | undefined): string {
  const [link = ""] = mail?.links ?? [];
  return tokenOf(link);
}

/** The token in the fragment of a link. */
export function tokenOf(link: string): string {
  const token = new URLSearchParams(new URL(link).hash.slice(1)).get("token");
  if (token === null) throw new Error(`no token in ${link}`);
  return token;
}
