import type { ReactNode } from "react";
import styles from "./markdown.module.css";

interface UserLinkProps {
  href: string;
  /** The text of the link, without its looks. */
  text: string;
  /** The whole as it was written. */
  raw: string;
  children: ReactNode;
}

/**
 * A link that a person wrote. It leads to the web or nowhere, tells its target nothing about this page, and is followed by
 * its host, unless its text is an address of that very host: a text can pretend to lead anywhere.
 */
export function UserLink({ href, text, raw, children }: UserLinkProps) {
  const url = URL.canParse(href) ? new URL(href) : null;
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  // `https://bank.example@evil.example` looks like the host that it does not lead to.
  if (url === null || !isWeb || url.username !== "" || url.password !== "") return raw;
  const isHonest = `${text}/`.startsWith(`${url.origin}/`);
  return (
    <>
      <a href={url.href} target="_blank" rel="nofollow ugc noopener noreferrer">
        <bdi>{children}</bdi>
      </a>
      {!isHonest && <small className={styles.host}> ({url.host})</small>}
    </>
  );
}
