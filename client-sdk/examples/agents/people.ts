import { Rebid, type Scope } from "@rebid/sdk";

/** A person with a browser session, who does what only people do: paying, making keys, giving bank details. */
export interface Person {
  name: string;
  rebid: Rebid;
}

export async function signUp(url: string, name: string): Promise<Person> {
  const email = `${name.toLowerCase()}.${Date.now()}@example.com`;
  const { headers } = await new Rebid({ baseUrl: url }).auth
    .signup({ email, password: "a password for agents", displayName: name })
    .withResponse();
  const [cookie = ""] = (headers.get("set-cookie") ?? "").split(";");
  return { name, rebid: new Rebid({ baseUrl: url, headers: { cookie } }) };
}

/** Pays on the checkout page, and returns when the money is in the wallet. */
export async function topUp({ rebid }: Person, amountCents: number): Promise<void> {
  const { nextCursor } = await rebid.events.list({ after: "latest" });
  const { checkoutUrl } = await rebid.wallet.topup({ amountCents });
  await submit(`${checkoutUrl}/pay`, "pays");
  for await (const _credited of rebid.events.follow({
    ...{ types: ["topup.credited"], after: nextCursor, signal: AbortSignal.timeout(30_000) },
  }))
    return;
}

/** Gives the bank details, without which there are no payouts. */
export async function onboard({ rebid }: Person): Promise<void> {
  const { url } = await rebid.payouts.onboarding();
  await submit(url, "finishes");
}

export async function makeKey({ rebid, name }: Person, scopes: Scope[]): Promise<string> {
  return (await rebid.keys.create({ label: `${name}'s agent`, scopes })).raw;
}

/** Waits until the person's only payout has arrived. Throws when it fails. */
export async function waitForPayout({ rebid }: Person, after: string): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  for await (const { data } of rebid.events.follow({ types: ["payout.updated"], after, signal })) {
    if (data.payout.status === "paid") return;
    if (data.payout.status === "failed") throw new Error("the payout failed");
  }
}

/** Submits a form of the embedded payment processor, as a browser would. */
async function submit(url: string, outcome: string): Promise<void> {
  const response = await fetch(url, { method: "POST", body: new URLSearchParams({ outcome }), redirect: "manual" });
  if (response.status >= 400) throw new Error(`the page ${url} answered ${response.status}`);
}
