import { buffer } from "node:stream/consumers";
import PDFDocument from "pdfkit";
import { type PaperFont, runsOf } from "./fonts.ts";
import type { Block, Paper } from "./paper.ts";

const MARGIN = 56;
const LINE = 1.45;
const [INK, FAINT, RULE] = ["#1a1a1a", "#5c5c5c", "#d0d0d0"];
const LABEL_WIDTH = 150;

interface Style {
  size: number;
  color: string;
}
const body: Style = { size: 10, color: INK };
const faint: Style = { size: 9, color: FAINT };

/** A page under way: where the next line goes. */
class Sheet {
  readonly doc: PDFKit.PDFDocument;
  readonly fonts = new Set<PaperFont>();
  y = MARGIN;

  constructor(doc: PDFKit.PDFDocument) {
    this.doc = doc;
  }

  get width() {
    return this.doc.page.width - 2 * MARGIN;
  }

  /** Begins a new page if a line of this height would not fit above the margin. */
  need(height: number): void {
    if (this.y + height <= this.doc.page.height - MARGIN) return;
    this.doc.addPage();
    this.y = MARGIN;
  }

  select(font: PaperFont, size: number): PDFKit.PDFDocument {
    if (!this.fonts.has(font)) this.doc.registerFont(font.name, font.content);
    this.fonts.add(font);
    return this.doc.font(font.name).fontSize(size);
  }

  measure(text: string, { size }: Style): number {
    return runsOf(text).reduce((width, { font, text: part }) => {
      return width + this.select(font, size).widthOfString(part);
    }, 0);
  }

  /** One line at `x`, or ending there. */
  line(text: string, x: number, style: Style, align: "left" | "right" = "left"): void {
    let at = align === "left" ? x : x - this.measure(text, style);
    for (const { font, text: part } of runsOf(text)) {
      const width = this.select(font, style.size).fillColor(style.color).widthOfString(part);
      this.doc.text(part, at, this.y, { lineBreak: false });
      at += width;
    }
  }

  /** Breaks a text into lines of at most this width, between words where that is possible. */
  wrap(text: string, width: number, style: Style): string[] {
    const lines: string[] = [];
    let [current, used] = ["", 0];
    // Where nothing but a character can be a part, as in Chinese, it is one.
    for (const part of text.match(/\s+|[^\s\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]{1,24}|./gu) ?? []) {
      const added = this.measure(part, style);
      if (current !== "" && used + added > width) {
        lines.push(current.trimEnd());
        [current, used] = part.trim() === "" ? ["", 0] : [part, added];
      } else [current, used] = [current + part, used + added];
    }
    return [...lines, current];
  }

  paragraph(text: string, style: Style, x = MARGIN, width = this.width): void {
    for (const line of this.wrap(text, width, style)) {
      this.need(style.size * LINE);
      this.line(line, x, style);
      this.y += style.size * LINE;
    }
  }

  rule(): void {
    this.doc.strokeColor(RULE).lineWidth(0.7);
    this.doc
      .moveTo(MARGIN, this.y)
      .lineTo(MARGIN + this.width, this.y)
      .stroke();
  }
}

/** Draws a paper as a PDF, with its fonts embedded. */
export async function drawPaper(paper: Paper): Promise<Uint8Array> {
  const { title, size, at } = paper;
  const doc = new PDFDocument({
    ...{ size: size === "A4" ? "A4" : "LETTER", margin: 0, lang: "en", displayTitle: true },
    info: { Title: title, CreationDate: new Date(at), Producer: "Rebid", Creator: "Rebid" },
  });
  const content = buffer(doc);
  const sheet = new Sheet(doc);
  sheet.paragraph(title, { size: 20, color: INK });
  sheet.y += 4;
  for (const line of paper.from) sheet.paragraph(line, faint);
  sheet.y += 16;
  for (const block of paper.blocks) drawBlock(sheet, block);
  sheet.paragraph(paper.note, faint);
  doc.end();
  return content;
}

function drawBlock(sheet: Sheet, block: Block): void {
  if (block.kind === "pairs") for (const [label, value] of block.rows) drawPair(sheet, label, value);
  else for (const [index, row] of [block.header, ...block.rows].entries()) drawRow(sheet, row, index === 0);
  sheet.y += 18;
}

function drawPair(sheet: Sheet, label: string, value: string): void {
  const top = sheet.y;
  const lines = value.split("\n").length;
  sheet.need(body.size * LINE * lines);
  if (sheet.y === top) sheet.y = top;
  sheet.line(label, MARGIN, { ...faint, size: body.size });
  for (const line of value.split("\n")) sheet.paragraph(line, body, MARGIN + LABEL_WIDTH, sheet.width - LABEL_WIDTH);
}

function drawRow(sheet: Sheet, cells: string[], isHeader: boolean): void {
  const style = isHeader ? faint : body;
  sheet.need(body.size * LINE + 8);
  sheet.y += 4;
  const step = sheet.width / cells.length;
  for (const [index, cell] of cells.entries()) {
    if (index === cells.length - 1) sheet.line(cell, MARGIN + sheet.width, style, "right");
    else sheet.line(sheet.wrap(cell, step - 8, style)[0] ?? "", MARGIN + index * step, style);
  }
  sheet.y += body.size * LINE;
  sheet.rule();
}
