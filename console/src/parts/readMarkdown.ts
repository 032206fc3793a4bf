import { Lexer, type Token, type Tokens, type TokensList } from "marked";

/** Whoever nests deeper than this wants something else than to be read. */
const MAX_DEPTH = 20;
/** What may still be looked at, in characters. An honest text of 20,000 characters takes a fifth of it. */
const MAX_WORK = 1_000_000;
/** More blanks than this in a row are not seen, and the library looks at each from each of them. */
const MAX_BLANKS = 100;

/** What the library looks from. */
const MARKS = /[\\<>![\]`*~_@]|:\/\/|www/g;

/**
 * Finds the parts of a text. The library looks from every mark, such as `*`, through the rest of its paragraph: 20,000
 * characters `*a_*a_…` took it seven seconds. So what follows when too much has been looked at, or is nested too deeply,
 * is plain text.
 */
export function readMarkdown(text: string): Token[] {
  const seen = text.replace(/([ \t])[ \t]{99,}/g, (blanks) => blanks.slice(0, MAX_BLANKS));
  return new BoundedLexer({ gfm: true, breaks: true }).lex(seen);
}

class BoundedLexer extends Lexer {
  #depth = 0;
  #work = 0;

  override blockTokens(source: string, tokens?: Token[], lastParagraphClipped?: boolean): Token[];
  override blockTokens(source: string, tokens?: TokensList, lastParagraphClipped?: boolean): TokensList;
  override blockTokens(source: string, tokens: Token[] = [], lastParagraphClipped = false): Token[] {
    return this.#within(source, tokens, source.length, () => super.blockTokens(source, tokens, lastParagraphClipped));
  }

  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    const marks = source.match(MARKS)?.length ?? 0;
    return this.#within(source, tokens, source.length * (1 + marks), () => super.inlineTokens(source, tokens));
  }

  #within(source: string, tokens: Token[], work: number, read: () => void): Token[] {
    if (this.#depth >= MAX_DEPTH || this.#work + work > MAX_WORK) {
      tokens.push({ type: "text", raw: source, text: source } satisfies Tokens.Text);
      return tokens;
    }
    this.#work += work;
    this.#depth++;
    read();
    this.#depth--;
    return tokens;
  }
}
