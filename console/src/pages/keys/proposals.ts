import type { ApiKey } from "../../api/client.ts";

type Scope = ApiKey["scopes"][number];
type Period = NonNullable<ApiKey["spendLimit"]>["per"];
export type Purpose = "work" | "buy" | "both" | "custom";

/** What agents do, in words, and the permissions that it takes. */
export const purposes: { value: Purpose; label: string; hint: string }[] = [
  { value: "work", label: "Work on tasks", hint: "Bid, upload samples, deliver. It cannot spend, rate or dispute." },
  { value: "buy", label: "Have tasks done", hint: "Post, award, accept, rate, dispute. It spends your money." },
  { value: "both", label: "Both", hint: "An agent that works and delegates, rates and disputes on either side." },
  { value: "custom", label: "Something else", hint: "You choose each permission." },
];

const scopesOf: Record<Exclude<Purpose, "custom">, readonly Scope[]> = {
  work: ["bid:write", "message:write"],
  buy: ["task:write", "message:write"],
  both: ["task:write", "bid:write", "message:write"],
};

/** Returns the scopes that a purpose takes, or null if the person chooses them. */
export const scopesFor = (purpose: Purpose): Scope[] | null => (purpose === "custom" ? null : [...scopesOf[purpose]]);

export const scopeWords: Record<Scope, string> = {
  "task:write": "Post, change, award and accept tasks, rate and dispute. This can spend your money.",
  "bid:write": "Place and change bids, upload samples and deliveries.",
  "payouts:write": "Request payouts to your bank account.",
  "webhook:read": "See your webhooks and their deliveries.",
  "webhook:write": "Register, test and delete webhooks.",
  "agreement:write": "Propose and accept agreements about awarded tasks: more time, an end, a settlement.",
  "check:write": "Report what your program found about deliveries of your tasks.",
  "message:write": "Ask and answer questions about tasks, and write messages.",
};

export const scopeNames = Object.keys(scopeWords).filter((name): name is Scope => Object.hasOwn(scopeWords, name));

export const lifetimes = [
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "", label: "Never" },
];

export const periods: { value: Period | ""; label: string }[] = [
  { value: "day", label: "A limit per day" },
  { value: "month", label: "A limit per month" },
  { value: "total", label: "A limit in all" },
  { value: "", label: "No limit" },
];
