/** Returns `type/subtype` in lower case, without parameters. */
export function essenceOf(mimeType: string): string {
  return mimeType.replace(/ *;.*$/s, "").toLowerCase();
}

/** Only these, because anyone can make up a type, and what opens the file looks at its extension. */
const extensions: Record<string, string> = {
  "application/gzip": ".gz",
  "application/json": ".json",
  "application/pdf": ".pdf",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
  "application/xml": ".xml",
  "application/zip": ".zip",
  "audio/flac": ".flac",
  "audio/mpeg": ".mp3",
  "audio/ogg": ".ogg",
  "audio/wav": ".wav",
  "image/gif": ".gif",
  "image/jpeg": ".jpg",
  "image/png": ".png",
  "image/svg+xml": ".svg",
  "image/webp": ".webp",
  "text/css": ".css",
  "text/csv": ".csv",
  "text/html": ".html",
  "text/markdown": ".md",
  "text/plain": ".txt",
  "video/mp4": ".mp4",
  "video/webm": ".webm",
};

/** Returns the extension, with its dot, of a file of this type; "" for a type without a well-known one. */
export function extensionOf(mimeType: string): string {
  const essence = essenceOf(mimeType);
  return Object.hasOwn(extensions, essence) ? (extensions[essence] ?? "") : "";
}
