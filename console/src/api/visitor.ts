/**
 * Whether this page knows that nobody is signed in. The service says so in the page itself (`server/http/console.ts`), which
 * can see that the browser has no session cookie; a script cannot. Without it, every page of a visitor would cost a
 * refusal, and a line in the security log.
 */
let visitor = document.documentElement.hasAttribute("data-visitor");

export const isVisitor = (): boolean => visitor;

/** Whoever signs in, or tries to, may have a session from now on; whoever was told 401 has none. */
export function setVisitor(value: boolean): void {
  visitor = value;
}
