/** In flight at once in one worker. */
export const MAX_IN_FLIGHT = 512;
/** Of these, at most this many (and one batch) to endpoints that are not known to answer well. */
const MAX_UNPROVEN_IN_FLIGHT = 256;
const FIRST_LIMIT = 4;
const MAX_LIMIT = 64;
/** An endpoint that takes longer than this gets no more than the first limit. */
const FAST_MS = 1_000;
/** Endpoints whose history a worker keeps; the longest unused are forgotten first. */
const MAX_LANES = 10_000;

interface Lane {
  inFlight: number;
  limit: number;
  /** Its last answer was a quick success. */
  proven: boolean;
}

/** How many more requests each endpoint may get: `others` holds for those that are not listed, and may be 0. */
export interface FreeLanes {
  listed: Record<string, number>;
  others: number;
  /** Some endpoint may wait for a request of its own to end. */
  anyFull: boolean;
}

/**
 * What keeps a slow or dead endpoint from taking the slots of others. An endpoint starts with a few requests at once;
 * each quick success adds one, up to 64; anything else takes it back to the few. Those that are not (or no longer) known
 * to be quick share half of all slots, so however many of them hang, the other half stays free. A worker learns this
 * anew after a start.
 */
export function createLanes() {
  const lanes = new Map<string, Lane>();
  const busy = new Map<string, Lane>();
  let unprovenInFlight = 0;

  const laneOf = (endpointId: string): Lane => {
    const lane = lanes.get(endpointId) ?? { inFlight: 0, limit: FIRST_LIMIT, proven: false };
    // Put last again: the map's order is the order of use.
    lanes.delete(endpointId);
    lanes.set(endpointId, lane);
    return lane;
  };
  const forgetOldest = () => {
    for (const [endpointId, lane] of lanes) {
      if (lanes.size <= MAX_LANES) return;
      if (lane.inFlight === 0) lanes.delete(endpointId);
    }
  };

  return {
    start(endpointId: string): void {
      const lane = laneOf(endpointId);
      lane.inFlight++;
      busy.set(endpointId, lane);
      if (!lane.proven) unprovenInFlight++;
      if (lanes.size > MAX_LANES) forgetOldest();
    },

    finish(endpointId: string, result: { succeeded: boolean; durationMs: number }): void {
      const lane = laneOf(endpointId);
      if (!lane.proven) unprovenInFlight -= lane.inFlight;
      lane.inFlight--;
      if (lane.inFlight === 0) busy.delete(endpointId);
      lane.proven = result.succeeded && result.durationMs < FAST_MS;
      lane.limit = lane.proven ? Math.min(MAX_LIMIT, lane.limit + 1) : FIRST_LIMIT;
      if (!lane.proven) unprovenInFlight += lane.inFlight;
    },

    free(): FreeLanes {
      const exhausted = unprovenInFlight >= MAX_UNPROVEN_IN_FLIGHT;
      const listed: Record<string, number> = {};
      let anyFull = exhausted;
      for (const [endpointId, lane] of exhausted ? lanes : busy) {
        if (exhausted && !lane.proven) continue;
        listed[endpointId] = Math.max(0, lane.limit - lane.inFlight);
        if (listed[endpointId] === 0) anyFull = true;
      }
      return { listed, others: exhausted ? 0 : FIRST_LIMIT, anyFull };
    },
  };
}
