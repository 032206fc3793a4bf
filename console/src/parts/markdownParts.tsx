import type { Token } from "marked";
import type { ReactNode } from "react";
import styles from "./markdown.module.css";
import { readMarkdown } from "./readMarkdown.ts";
import { UserLink } from "./userLink.tsx";

/**
 * What somebody wrote, as Markdown. The library only finds the parts of the text: what becomes of them is said here, in
 * elements of React, so that no text of a person is ever read as HTML. Tags are shown as they stand, pictures become links,
 * and headings are bold, because the headings of a page are the page's.
 */
export const MarkdownParts = ({ text }: { text: string }): ReactNode => render(readMarkdown(text));

const render = (tokens: readonly Token[]): ReactNode =>
  tokens.map((token, index) => <Part key={`${index} ${token.type}`} token={token} />);

interface PartProps {
  token: Token;
}

function Part({ token }: PartProps): ReactNode {
  const inner = "tokens" in token && token.tokens ? render(token.tokens) : textOf(token);
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "paragraph":
      return <p>{inner}</p>;
    case "heading":
      return (
        <p>
          <strong>{inner}</strong>
        </p>
      );
    case "blockquote":
      return <blockquote>{inner}</blockquote>;
    case "list":
    case "list_item":
    case "table":
      return <Structure token={token} />;
    case "code":
      return (
        <pre>
          <code>{inner}</code>
        </pre>
      );
    case "hr":
      return <hr />;
    case "strong":
      return <strong>{inner}</strong>;
    case "em":
      return <em>{inner}</em>;
    case "del":
      return <del>{inner}</del>;
    case "codespan":
      return <code>{inner}</code>;
    case "br":
      return <br />;
    case "link":
      return (
        <UserLink href={token.href} text={token.text} raw={token.raw}>
          {inner}
        </UserLink>
      );
    case "image":
      return (
        <UserLink href={token.href} text={token.text} raw={token.raw}>
          {token.text || "picture"}
        </UserLink>
      );
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    case "html":
      return token.block ? <p className={styles.plain}>{token.raw}</p> : token.raw;
    default:
      return inner;
  }
}

const textOf = (token: Token): string => ("text" in token ? String(token.text) : token.raw);

/** Lists and tables, whose parts the library keeps in fields of their own. */
function Structure({ token }: PartProps): ReactNode {
  if (token.type === "list") {
    const items = render(token.items);
    return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
  }
  if (token.type === "list_item") {
    return <li>{render(token.tokens ?? [])}</li>;
  }
  if (token.type !== "table") return token.raw;
  const cells = (row: readonly { tokens: Token[] }[], Cell: "th" | "td") =>
    row.map(({ tokens }, index) => <Cell key={`${index} ${Cell}`}>{render(tokens)}</Cell>);
  return (
    <table>
      <thead>
        <tr>{cells(token.header, "th")}</tr>
      </thead>
      <tbody>
        {token.rows.map((row: { tokens: Token[] }[], index: number) => (
          <tr key={`${index} row`}>{cells(row, "td")}</tr>
        ))}
      </tbody>
    </table>
  );
}
