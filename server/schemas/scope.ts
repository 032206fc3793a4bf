/** What an API key can be allowed to do. Sessions may do everything; no key can have `*`. Source: docs/contract.md "Authentication". */
export const scopes = ["task:write", "bid:write", "payouts:write", "webhook:read", "webhook:write"] as const;
export type Scope = (typeof scopes)[number];
