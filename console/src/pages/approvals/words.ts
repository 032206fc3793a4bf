import type { Approval } from "../../api/client.ts";

type Tone = "good" | "warn" | "bad" | "accent" | "quiet";

/** Where an approval stands, in a word, and what its owner has done: nobody else decides. */
export const answers: Record<Approval["status"], { word: string; tone: Tone; decided?: string }> = {
  pending: { word: "Waits for you", tone: "warn" },
  approved: { word: "Approved", tone: "good", decided: "approved" },
  declined: { word: "Declined", tone: "quiet", decided: "declined" },
  failed: { word: "Could not be done", tone: "bad", decided: "approved" },
  expired: { word: "Not answered in time", tone: "quiet" },
  superseded: { word: "Replaced by another", tone: "quiet" },
  void: { word: "No longer possible", tone: "quiet" },
};
