/** A request for a page, and how to answer it. */
interface Asker<Answer> {
  /** Whose turns it takes. */
  readonly caller: string;
  /** Runs `work` when the caller has a turn, or rejects; see `CallTurns`. */
  readonly takeTurn: (work: () => Promise<void>) => Promise<void>;
  /** Makes the answer, which is the same whoever asks. */
  readonly make: () => Promise<Answer>;
}

/** One answer, for all the requests that arrived before it began. */
interface Round<Answer> extends PromiseWithResolvers<Answer> {
  hasBegun: boolean;
  /** The turns that were asked for to begin it, one a caller. */
  readonly turns: Map<string, Promise<void>>;
}

/** The rounds of one page. */
interface Rounds<Answer> {
  /** Settles when the answer that is being made is there. */
  current: Promise<unknown> | null;
  /** For the requests that arrive meanwhile. */
  next: Round<Answer> | null;
}

/**
 * Answers that do not depend on the caller. Requests for the same page that arrive while one is being answered share the
 * next answer, which begins after they came: it is no staler than one of their own, and what a page costs does not grow with
 * its readers.
 *
 * An answer is made in a turn of one of its callers, whichever has one first: nobody gets more turns than alone, or waits
 * behind the other requests of somebody else.
 */
export class SharedAnswers<Answer> {
  readonly #pages = new Map<string, Rounds<Answer>>();

  /** Rejects if the answer could not be made, or if the request has no turn for it. */
  async get(key: string, asker: Asker<Answer>): Promise<Answer> {
    const rounds: Rounds<Answer> = this.#pages.get(key) ?? { current: null, next: null };
    this.#pages.set(key, rounds);
    rounds.next ??= { ...Promise.withResolvers<Answer>(), hasBegun: false, turns: new Map() };
    const round = rounds.next;
    while (!round.hasBegun) {
      const others = round.turns.get(asker.caller);
      const turn = others ?? this.#takeTurn(key, rounds, round, asker);
      try {
        await Promise.race([round.promise, turn]);
        break;
      } catch (refusal) {
        // Another request of the caller had no turn: this one asks for itself.
        if (!round.hasBegun && others === undefined) throw refusal;
      }
    }
    return round.promise;
  }

  async #takeTurn(key: string, rounds: Rounds<Answer>, round: Round<Answer>, asker: Asker<Answer>): Promise<void> {
    const turn = asker.takeTurn(async () => {
      if (!round.hasBegun) await this.#run(rounds, round, asker);
    });
    round.turns.set(asker.caller, turn);
    try {
      await turn;
    } finally {
      round.turns.delete(asker.caller);
      if (!round.hasBegun && round.turns.size === 0) rounds.next = null;
      if (rounds.current === null && rounds.next === null && this.#pages.get(key) === rounds) this.#pages.delete(key);
    }
  }

  async #run(rounds: Rounds<Answer>, round: Round<Answer>, { make }: Asker<Answer>): Promise<void> {
    round.hasBegun = true;
    await rounds.current;
    rounds.next = null;
    round.resolve(make());
    rounds.current = round.promise.catch(() => {});
    await rounds.current;
    rounds.current = null;
  }
}
