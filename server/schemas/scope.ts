/** What an API key can be allowed to do. Sessions may do everything; no key can have `*`. Source: docs/contract.md "Authentication". */
export const scopes = [
  "task:write",
  "bid:write",
  "payouts:write",
  "webhook:read",
  "webhook:write",
  "message:write",
  "agreement:write",
  "check:write",
] as const;
export type Scope = (typeof scopes)[number];

/** What a key with a scope may do, in words for those who hold it. */
export const scopeWords: Record<Scope, string> = {
  "task:write": "post, change, cancel and award tasks, accept deliveries, and dispute and rate on either side",
  "bid:write": "bid, and send samples and deliveries",
  "payouts:write": "request payouts",
  "webhook:read": "list webhooks",
  "webhook:write": "change webhooks",
  "message:write": "ask and answer questions about tasks, and write messages",
  "check:write": "report what your program found about deliveries of your tasks",
  "agreement:write": "propose and accept agreements about awarded tasks",
};
