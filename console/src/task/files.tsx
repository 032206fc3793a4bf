import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { BriefFile, Delivery, MessageFile, Sample } from "../api/client.ts";
import { Button, ButtonAnchor } from "../parts/button.tsx";
import { formatBytes } from "../parts/format.ts";
import { Notice } from "../parts/notice.tsx";
import { Problem } from "../parts/problem.tsx";
import { Time } from "../parts/time.tsx";
import styles from "./files.module.css";

type Artifact = Sample | Delivery | BriefFile | MessageFile;

/** Text is shown up to this size. */
const MAX_TEXT_BYTES = 262_144;
/** Download addresses work for 15 minutes. A newer one is used only when the old one is about to expire. */
const ADDRESS_LIFETIME_MS = 600_000;

type Kind = "image" | "audio" | "video" | "text" | "pdf";

/**
 * How a file can be shown. By what its bytes are, and only if that is what its uploader said: a file that pretends to be
 * something else is for download only.
 */
function kindOf({ mimeType, detectedMimeType }: Artifact): Kind | null {
  const declared = mimeType.split(";")[0]?.trim().toLowerCase();
  if (detectedMimeType === null || declared !== detectedMimeType) return null;
  if (["image/png", "image/jpeg", "image/webp", "image/gif"].includes(declared)) return "image";
  if (declared.startsWith("audio/")) return "audio";
  if (declared.startsWith("video/")) return "video";
  if (declared.startsWith("text/") || declared === "application/json") return "text";
  return declared === "application/pdf" ? "pdf" : null;
}

interface FileProps {
  file: Artifact;
  /** Buttons beside the download. */
  actions?: ReactNode;
  /** What is said about it beside its size. */
  note?: ReactNode;
}

/** A file that somebody gave: shown in place where that is safe, and to download, if one may. */
export function File({ file, actions, note }: FileProps) {
  const url = useSteadyUrl(file);
  const kind = url === undefined ? null : kindOf(file);
  const name = file.fileName ?? "File without a name";
  const differs = file.detectedMimeType !== null && !sameType(file);
  return (
    <article className={styles.file}>
      <header>
        <div>
          <h3 dir="auto">{name}</h3>
          <small>
            {file.detectedMimeType ?? file.mimeType} · {formatBytes(file.bytes)} · <Time at={file.createdAt} />
          </small>{" "}
          {note}
        </div>
        <div className={styles.actions}>
          {kind === "pdf" && url !== undefined && <OpenPdf url={url} />}
          {url !== undefined && (
            <ButtonAnchor href={url} size="small" download>
              Download<span className="visually-hidden"> {name}</span>
            </ButtonAnchor>
          )}
          {actions}
        </div>
      </header>
      {differs && (
        <Notice kind="warn">
          It was declared as {file.mimeType}, but it is {file.detectedMimeType}. Open it with care.
        </Notice>
      )}
      {kind === "image" && <img src={url} alt={name} loading="lazy" />}
      {kind === "audio" && (
        // biome-ignore lint/a11y/useMediaCaption: it is somebody's file, which has none
        <audio src={url} controls preload="metadata" aria-label={name} />
      )}
      {kind === "video" && (
        // biome-ignore lint/a11y/useMediaCaption: it is somebody's file, which has none
        <video src={url} controls preload="metadata" aria-label={name} />
      )}
      {kind === "text" && url !== undefined && <TextPreview file={file} url={url} />}
    </article>
  );
}

const sameType = ({ mimeType, detectedMimeType }: Artifact) =>
  mimeType.split(";")[0]?.trim().toLowerCase() === detectedMimeType;

/** Every read of a task has new addresses; a preview keeps its own, so that it is not loaded again each time. */
function useSteadyUrl({ downloadUrl }: Artifact): string | undefined {
  const [kept, setKept] = useState({ url: downloadUrl, since: Date.now() });
  const isFirst = kept.url === undefined || downloadUrl === undefined;
  if (kept.url !== downloadUrl && (isFirst || Date.now() - kept.since > ADDRESS_LIFETIME_MS)) {
    setKept({ url: downloadUrl, since: Date.now() });
  }
  return kept.url;
}

function TextPreview({ file, url }: { file: Artifact; url: string }) {
  const isShort = file.bytes <= MAX_TEXT_BYTES;
  const { data, error } = useQuery({
    queryKey: ["text", file.id],
    queryFn: async ({ signal }) => {
      const response = await fetch(url, { signal, credentials: "omit" });
      if (!response.ok) throw new Error("the object store refused");
      return response.text();
    },
    enabled: isShort,
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
  });
  if (!isShort) return <p className={styles.quiet}>The text is too long to be shown here.</p>;
  if (error) return <Problem error={error} />;
  return (
    // Long texts scroll inside, so it must be reachable with the keyboard. One page can show the same file twice, so it is no
    // landmark.
    // biome-ignore lint/a11y/useSemanticElements: a set of fields is something else
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <div role="group" className={styles.text} tabIndex={0} aria-label={`Content of ${file.fileName ?? "the file"}`}>
      <pre dir="auto">{data ?? "…"}</pre>
    </div>
  );
}

/** Downloads are attachments, which browsers do not show. The type is fixed, so nothing else can come of the bytes. */
function OpenPdf({ url }: { url: string }) {
  const [failed, setFailed] = useState(false);
  const open = async () => {
    const tab = window.open("", "_blank");
    try {
      const response = await fetch(url, { credentials: "omit" });
      const pdf = new Blob([await response.arrayBuffer()], { type: "application/pdf" });
      if (!response.ok || tab === null) throw new Error("not shown");
      tab.location.href = URL.createObjectURL(pdf);
    } catch {
      tab?.close();
      setFailed(true);
    }
  };
  return (
    <Button size="small" onClick={open}>
      {failed ? "It could not be opened" : "Open in a new tab"}
    </Button>
  );
}
