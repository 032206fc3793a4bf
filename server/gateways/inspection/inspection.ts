/** What a file says about itself. Null is what it does not say, or not in a form that we can read. */
export interface Inspection {
  /** As its first bytes identify it, in lower case and without parameters; null for text and for unknown formats. */
  mimeType: string | null;
  /** True for UTF-8 without NUL characters, as far as the file was read. */
  isText: boolean;
  /** True for one whole JSON text, as far as the file was read. */
  isJson: boolean;
  /** Pixels, of an image or a video. */
  dimensions: { width: number; height: number } | null;
  /** Seconds, of audio or video. */
  durationSec: number | null;
}

export const nothingKnown: Inspection = {
  mimeType: null,
  isText: false,
  isJson: false,
  dimensions: null,
  durationSec: null,
};
