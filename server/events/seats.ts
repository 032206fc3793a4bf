import { ApiError } from "../errors.ts";

/** How many may wait at the same time. Source: docs/contract.md "Limits". */
const defaultLimits = {
  /** Waits and streams of one user. */
  perUser: 50,
  /** Of all users: half the connections of a process, so that the others remain for requests. */
  perProcess: 2_000,
};
export type SeatLimits = typeof defaultLimits;

/** Whose seat it is. The address is what `clientAddress` returns: for IPv6, the /64 network. */
interface Holder {
  readonly userId: string;
  readonly address: string;
}

interface Held extends Holder {
  giveWay(): void;
}

/**
 * The seats of those who wait. When all are taken, whoever holds most gives way to whoever holds none, so that nobody can
 * keep the others out: neither with many waits, nor with many accounts behind one address.
 */
export class Seats {
  readonly #limits: SeatLimits;
  /** In the order in which they were taken. */
  readonly #held = new Set<Held>();
  readonly #countByUser = new Map<string, number>();

  constructor(limits: Partial<SeatLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  get count(): number {
    return this.#held.size;
  }

  /**
   * Takes a seat and returns what gives it back. Calls `giveWay` if the seat passes to somebody else before that. Throws
   * `limit_reached` when the user has as many as one may have, and `unavailable` when all are taken and nobody has to give way.
   */
  take({ userId, address }: Holder, giveWay: () => void): () => void {
    const { perUser: limit, perProcess } = this.#limits;
    if (this.#countOf(userId) >= limit) {
      const message = `You already have ${limit} requests that wait for events: let one of them end first.`;
      throw new ApiError("limit_reached", { message, limit });
    }
    const held = { userId, address, giveWay };
    if (this.#held.size >= perProcess) {
      const other = this.#whoGivesWayTo(held);
      if (other === null) throw new ApiError("unavailable");
      this.#giveBack(other);
      other.giveWay();
    }
    this.#held.add(held);
    this.#countByUser.set(userId, this.#countOf(userId) + 1);
    return () => this.#giveBack(held);
  }

  #countOf(userId: string): number {
    return this.#countByUser.get(userId) ?? 0;
  }

  #giveBack(held: Held): void {
    if (!this.#held.delete(held)) return;
    const count = this.#countOf(held.userId) - 1;
    if (count === 0) this.#countByUser.delete(held.userId);
    else this.#countByUser.set(held.userId, count);
  }

  /**
   * Returns the oldest seat of the user who holds most, at the address that holds most if several users do; null unless that
   * is more than one seat, and the newcomer holds none. While no user has more than one, addresses count in their place.
   */
  #whoGivesWayTo(newcomer: Holder): Held | null {
    const countByAddress = new Map<string, number>();
    for (const { address } of this.#held) countByAddress.set(address, (countByAddress.get(address) ?? 0) + 1);
    const countAt = (address: string) => countByAddress.get(address) ?? 0;
    const holdsMore = (a: Held, b: Held) =>
      this.#countOf(a.userId) - this.#countOf(b.userId) || countAt(a.address) - countAt(b.address);
    let most: Held | null = null;
    for (const held of this.#held) if (most === null || holdsMore(held, most) > 0) most = held;
    if (most === null || this.#countOf(newcomer.userId) > 0) return null;
    if (this.#countOf(most.userId) > 1) return most;
    return countAt(most.address) > 1 && countAt(newcomer.address) === 0 ? most : null;
  }
}
