import { parseMoney } from "./format.ts";

export interface Issue {
  path: string;
  message: string;
  /** The message is the service's, which names the field as the API does. */
  isRaw?: boolean;
}

/**
 * Reads the fields of a form as the API wants them. What cannot be read as a number at all becomes an issue beside its
 * field; every other rule is the service's.
 */
export class FieldReader {
  readonly issues: Issue[] = [];
  readonly #data: FormData;

  constructor(form: HTMLFormElement) {
    this.#data = new FormData(form);
  }

  text(name: string): string {
    const value = this.#data.get(name);
    return typeof value === "string" ? value : "";
  }

  /** Undefined for an empty field. */
  optionalText(name: string): string | undefined {
    return this.text(name) || undefined;
  }

  all(name: string): string[] {
    return this.#data.getAll(name).filter((value) => typeof value === "string");
  }

  /** The fields whose names begin with this prefix, by the rest of their names. */
  under(prefix: string): Record<string, string> {
    const found = [...this.#data].filter(([name, value]) => name.startsWith(prefix) && typeof value === "string");
    return Object.fromEntries(found.map(([name, value]) => [name.slice(prefix.length), String(value)]));
  }

  has(name: string): boolean {
    return this.#data.has(name);
  }

  /** Integer cents. */
  money(name: string): number {
    const cents = parseMoney(this.text(name));
    if (cents === null) this.issues.push({ path: name, message: "Write an amount in dollars, such as 25 or 25.50." });
    return cents ?? 0;
  }

  number(name: string): number {
    const value = Number(this.text(name).trim().replace(",", "."));
    if (this.text(name).trim() !== "" && Number.isFinite(value)) return value;
    this.issues.push({ path: name, message: "Write a number." });
    return 0;
  }

  /** A local date and time, as ISO 8601 in UTC. */
  time(name: string): string {
    const ms = Date.parse(this.text(name));
    if (!Number.isNaN(ms)) return new Date(ms).toISOString();
    this.issues.push({ path: name, message: "Choose a day and a time." });
    return "";
  }

  /** What has to be filled in or ticked, though the API does not take it. */
  require(name: string, message: string): void {
    if (this.text(name) === "") this.issues.push({ path: name, message });
  }

  /** The number of stars that was chosen: a rating is never suggested. */
  stars(name: string): number {
    const stars = Number(this.text(name));
    if (stars === 0) this.issues.push({ path: name, message: "Choose one to five stars." });
    return stars;
  }

  /** The items of a text with commas between them. */
  list(name: string): string[] {
    return this.text(name)
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  }
}
