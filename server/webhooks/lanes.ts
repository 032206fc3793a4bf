/** Maximum number of requests in flight per worker. */
export const MAX_IN_FLIGHT = 512;
/** How many of these (plus one batch) may go to endpoints that are not known to respond quickly. */
const MAX_SLOW_IN_FLIGHT = 256;
/** How many (plus one batch) may go to the endpoints of one user, so that nobody takes all slots. */
const MAX_OWNER_IN_FLIGHT = 128;
const FIRST_LIMIT = 4;
const MAX_LIMIT = 64;
/** Slower endpoints get fewer slots, because they hold each one for longer. */
const FAST_MS = 1_000;
const MAX_SLOW_LIMIT = 16;
/** Maximum number of endpoints that a worker remembers; the least recently used are forgotten first. */
const MAX_LANES = 10_000;

interface Owner {
  inFlight: number;
  /** The owner's endpoints that have a lane. */
  endpointIds: Set<string>;
}

/** What a worker knows about one endpoint. */
interface Lane {
  ownerId: string;
  inFlight: number;
  /** Maximum number of parallel requests. */
  limit: number;
  /** The last response was a quick success. */
  isQuick: boolean;
}

interface LaneKey {
  endpointId: string;
  ownerId: string;
}

/** How many more requests each endpoint may get. `others` is for endpoints that are not listed, and may be 0. */
export interface FreeLanes {
  listed: Record<string, number>;
  others: number;
  /** Some endpoint may have due deliveries that wait for one of its requests to end. */
  anyFull: boolean;
}

/**
 * Keeps slow or dead endpoints from taking the slots of others. Each endpoint has a lane, which starts with 4 parallel
 * requests. Each success adds one, up to 64, or up to 16 if it was slow; a failure resets it to 4. Endpoints that are
 * not known to be quick share half of all slots, so the other half stays free however many of them hang. Each owner has
 * a limit too, because quick endpoints that all start to hang at once would otherwise hold every slot. A worker starts
 * with an empty history.
 */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #busy = new Map<string, Lane>();
  readonly #owners = new Map<string, Owner>();
  #slowInFlight = 0;

  start({ endpointId, ownerId }: LaneKey): void {
    const lane = this.#laneOf(endpointId, ownerId);
    lane.inFlight++;
    this.#ownerOf(lane).inFlight++;
    this.#busy.set(endpointId, lane);
    if (!lane.isQuick) this.#slowInFlight++;
    if (this.#lanes.size > MAX_LANES) this.#forgetOldest();
  }

  finish({ endpointId, ownerId }: LaneKey, result: { succeeded: boolean; durationMs: number }): void {
    const lane = this.#laneOf(endpointId, ownerId);
    if (!lane.isQuick) this.#slowInFlight -= lane.inFlight;
    lane.inFlight--;
    this.#ownerOf(lane).inFlight--;
    if (lane.inFlight === 0) this.#busy.delete(endpointId);
    lane.isQuick = result.succeeded && result.durationMs < FAST_MS;
    lane.limit = result.succeeded ? Math.min(lane.isQuick ? MAX_LIMIT : MAX_SLOW_LIMIT, lane.limit + 1) : FIRST_LIMIT;
    if (!lane.isQuick) this.#slowInFlight += lane.inFlight;
  }

  free(): FreeLanes {
    const exhausted = this.#slowInFlight >= MAX_SLOW_IN_FLIGHT;
    const listed: Record<string, number> = {};
    for (const [endpointId, lane] of exhausted ? this.#lanes : this.#busy) {
      if (!exhausted || lane.isQuick) listed[endpointId] = Math.max(0, lane.limit - lane.inFlight);
    }
    for (const { inFlight, endpointIds } of this.#owners.values()) {
      if (inFlight >= MAX_OWNER_IN_FLIGHT) for (const endpointId of endpointIds) listed[endpointId] = 0;
    }
    const anyFull = exhausted || Object.values(listed).includes(0);
    return { listed, others: exhausted ? 0 : FIRST_LIMIT, anyFull };
  }

  #ownerOf(lane: Lane): Owner {
    const owner = this.#owners.get(lane.ownerId) ?? { inFlight: 0, endpointIds: new Set() };
    this.#owners.set(lane.ownerId, owner);
    return owner;
  }

  #laneOf(endpointId: string, ownerId: string): Lane {
    const lane = this.#lanes.get(endpointId) ?? { ownerId, inFlight: 0, limit: FIRST_LIMIT, isQuick: false };
    // Re-inserted at the end: the map's order is the order of use.
    this.#lanes.delete(endpointId);
    this.#lanes.set(endpointId, lane);
    this.#ownerOf(lane).endpointIds.add(endpointId);
    return lane;
  }

  #forgetOldest(): void {
    for (const [endpointId, lane] of this.#lanes) {
      if (this.#lanes.size <= MAX_LANES) return;
      if (lane.inFlight > 0) continue;
      this.#lanes.delete(endpointId);
      const { endpointIds } = this.#ownerOf(lane);
      endpointIds.delete(endpointId);
      if (endpointIds.size === 0) this.#owners.delete(lane.ownerId);
    }
  }
}
