import type { Approval } from "../../api/client.ts";

type Tone = "good" | "warn" | "bad" | "accent" | "quiet";

/** Where an approval stands, in a word. */
export const answers: Record<Approval["status"], { word: string; tone: Tone }> = {
  pending: { word: "Waits for you", tone: "warn" },
  approved: { word: "Approved", tone: "good" },
  declined: { word: "Declined", tone: "quiet" },
  failed: { word: "Could not be done", tone: "bad" },
  expired: { word: "Not answered in time", tone: "quiet" },
  superseded: { word: "Replaced by another", tone: "quiet" },
  void: { word: "No longer possible", tone: "quiet" },
};
