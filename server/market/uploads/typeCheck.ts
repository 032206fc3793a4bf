import { supportedMimeTypes } from "file-type";
import type { Inspection } from "../../gateways/inspection/inspection.ts";
import { essenceOf } from "./mimeType.ts";

/** Names that the same bytes may rightly have. */
const sameTypes = [
  ["image/jpeg", "image/jpg", "image/pjpeg"],
  ["image/png", "image/apng", "image/x-png"],
  ["image/bmp", "image/x-bmp", "image/x-ms-bmp"],
  ["image/x-icon", "image/vnd.microsoft.icon"],
  ["image/heic", "image/heif", "image/heic-sequence", "image/heif-sequence"],
  ["image/vnd.adobe.photoshop", "application/x-photoshop"],
  ["audio/mpeg", "audio/mp3", "audio/x-mp3"],
  ["audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"],
  ["audio/flac", "audio/x-flac"],
  ["audio/aac", "audio/x-aac"],
  ["audio/aiff", "audio/x-aiff"],
  ["audio/midi", "audio/mid", "audio/x-midi"],
  ["audio/ogg", "audio/opus", "audio/vorbis", "audio/x-ogg", "video/ogg", "application/ogg"],
  ["audio/mp4", "audio/m4a", "audio/x-m4a", "video/mp4", "video/x-m4v", "video/quicktime", "video/3gpp", "video/3gpp2"],
  ["audio/webm", "audio/matroska", "video/webm", "video/matroska", "video/x-matroska"],
  ["video/vnd.avi", "video/avi", "video/x-msvideo"],
  ["application/vnd.ms-asf", "audio/x-ms-asf", "audio/x-ms-wma", "video/x-ms-asf", "video/x-ms-wmv"],
  ["application/gzip", "application/x-gzip"],
  ["application/zip", "application/x-zip-compressed"],
  ["application/x-rar-compressed", "application/vnd.rar"],
  ["application/x-msdownload", "application/vnd.microsoft.portable-executable"],
  ["application/xml", "text/xml"],
].map((names) => new Set(names));

/** Formats that are zip archives: from part of an archive, it is not always clear which of them it is. */
const zipBased =
  /^application\/(vnd\.(openxmlformats|oasis\.opendocument|android\.package|apple\.)|.*macroenabled|epub\+zip|java-archive)|^model\/3mf$/;

/** Kinds of text that bytes can be taken for when they were declared as one: a fixed list, since anyone can make up a type. */
const textTypes = new Set([
  ...["text/plain", "text/html", "text/css", "text/csv", "text/tab-separated-values", "text/markdown", "text/xml"],
  ...["text/javascript", "text/calendar", "text/vcard", "text/vtt", "text/rtf", "text/yaml", "text/x-python"],
  ...["application/json", "application/ld+json", "application/geo+json", "application/x-ndjson", "application/xml"],
  ...["application/javascript", "application/ecmascript", "application/yaml", "application/toml", "application/sql"],
  ...["application/x-sh", "image/svg+xml", "model/gltf+json", "application/atom+xml", "application/rss+xml"],
]);
const jsonTypes = /^application\/json$|\+json$/;

const textual = /^text\/|\+(json|xml)$|^application\/(json|xml|javascript|ecmascript|yaml|toml|sql|x-ndjson|x-sh)$/;

/** The types that have a signature, so that bytes without it are something else. */
const recognised = new Set([...supportedMimeTypes, ...sameTypes.flatMap((names) => [...names])].map(essenceOf));

/** Whether two names of types, without parameters, mean the same. */
export const isSameType = (declared: string, detected: string) =>
  declared === detected ||
  sameTypes.some((names) => names.has(declared) && names.has(detected)) ||
  (detected === "application/zip" && zipBased.test(declared));

/**
 * Compares what an upload was declared as with what its bytes are. Text has no signature: UTF-8 counts as the kind of text
 * that was declared, if that is a known one, and as plain text otherwise, or if it was declared as JSON and is none. A type that cannot be recognised is taken at its word.
 * @returns `differs`: whether the bytes are known not to be of the declared type
 * Source: docs/contract.md "Uploads".
 */
export function checkType(
  declaredMimeType: string,
  { mimeType: found, isText, isJson }: Pick<Inspection, "mimeType" | "isText" | "isJson">,
): { detectedMimeType: string | null; differs: boolean } {
  const declared = essenceOf(declaredMimeType);
  const mimeType = found !== null && recognised.has(found) ? found : null;
  if (textual.test(declared)) {
    const bearsOut = textTypes.has(declared) && (isJson || !jsonTypes.test(declared));
    if (isText) return { detectedMimeType: bearsOut ? declared : "text/plain", differs: false };
    return { detectedMimeType: mimeType, differs: mimeType !== null && !isSameType(declared, mimeType) };
  }
  const detectedMimeType = mimeType ?? (isText ? "text/plain" : null);
  const agrees = detectedMimeType !== null && isSameType(declared, detectedMimeType);
  return { detectedMimeType, differs: recognised.has(declared) && !agrees };
}
