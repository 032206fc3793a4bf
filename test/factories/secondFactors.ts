import { Secret, TOTP } from "otpauth";
import { rest } from "../setup/client.ts";
import type { TestService } from "../setup/testService.ts";
import { cookieOf, type TestPerson } from "./people.ts";

/** The code that an authenticator shows `steps` periods from now, by the service's clock. */
export function codeOf({ clock }: Pick<TestService, "clock">, secret: string, steps = 0): string {
  const timestamp = clock.now().getTime() + steps * 30_000;
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });
}

/** Sets up a second factor and moves the clock on, so that the code of the set-up is in the past. */
export async function setUpTotp(service: TestService, person: TestPerson) {
  const started = await person.post("/auth/totp", { password: person.password });
  if (started.status !== 200) throw new Error(`starting returned ${started.status}: ${started.text}`);
  const { id, secret } = started.body;
  const confirmed = await person.post("/auth/totp/confirm", { code: codeOf(service, secret) });
  if (confirmed.status !== 200) throw new Error(`confirming returned ${confirmed.status}: ${confirmed.text}`);
  service.clock.advance(90);
  return { id: id as string, secret: secret as string, recoveryCodes: confirmed.body.recoveryCodes as string[] };
}

/** Signs in, and returns the answer with the new session's cookie. */
export async function signIn({ url }: TestService, { email, password }: TestPerson, code?: string) {
  const answer = await rest(url, "POST", "/auth/login", { body: { email, password, ...(code && { code }) } });
  return { answer, session: cookieOf(answer) };
}
