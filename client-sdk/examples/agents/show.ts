import { styleText } from "node:util";
import type { Person } from "./people.ts";

const bold = (text: string) => styleText("bold", text);
const dim = (text: string) => styleText("dim", text);
const dollars = (cents: number) => `$${(cents / 100).toFixed(2)}`;

/** Prints the steps of a trade, each with both wallets and how they changed. */
export class Show {
  readonly #people: readonly Person[];
  readonly #shown = new Map<Person, { availableCents: number; heldCents: number }>();
  #steps = 0;

  constructor(people: readonly Person[]) {
    this.#people = people;
  }

  async step(who: string, what: string, detail: string): Promise<void> {
    this.#steps += 1;
    console.log(`\n${bold(`${String(this.#steps).padStart(2)}  ${what}`)}  ${dim(`${who}: ${detail}`)}`);
    for (const person of this.#people) {
      const wallet = await person.rebid.wallet.read();
      const before = this.#shown.get(person) ?? { availableCents: 0, heldCents: 0 };
      const changes = [
        change(wallet.availableCents - before.availableCents, "available"),
        change(wallet.heldCents - before.heldCents, "held"),
      ].join("");
      const balance = `${dollars(wallet.availableCents).padStart(9)} available ${dollars(wallet.heldCents).padStart(8)} held`;
      console.log(`    ${person.name.padEnd(6)}${changes === "" ? dim(balance) : balance}${changes}`);
      this.#shown.set(person, wallet);
    }
  }
}

function change(cents: number, bucket: string): string {
  if (cents === 0) return "";
  const sign = cents > 0 ? "+" : "−";
  return `  ${styleText(cents > 0 ? "green" : "yellow", `${sign}${dollars(Math.abs(cents))} ${bucket}`)}`;
}
