/** The current time for everything that has a deadline; injected, so that a test can skip 48 hours. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
