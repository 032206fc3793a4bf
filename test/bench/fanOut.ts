import { type Bench, medianOf } from "./setup/bench.ts";
import { measurePaced, setUpStage } from "./setup/webhookStage.ts";

const ENDPOINTS = 5_000;
const ROUNDS = 5;
const LIMIT_MS = 1_000;

/** One event to 5,000 endpoints, each with an address and an owner of its own: from the commit until the last has it. */
const bench: Bench = async (environment) => {
  const stage = await setUpStage(environment);
  await stage.register(Array.from({ length: ENDPOINTS }, (_, index) => stage.okUrl(index, 0)));
  await stage.worker.start();
  const durations: number[] = [];
  // The first event opens connections and learns which endpoints are quick, as a running worker has long done.
  for (let round = -1; round < ROUNDS; round++) {
    const { first, p50, last } = await measurePaced(stage, 1, 1);
    environment.log(
      `first after ${first.toFixed(0)} ms, half after ${p50.toFixed(0)} ms, all after ${last.toFixed(0)} ms`,
    );
    if (round >= 0) durations.push(last);
  }
  return [
    {
      ...{ what: `one event to ${ENDPOINTS.toLocaleString("en")} endpoints, all reached`, unit: "ms" },
      ...{ ours: medianOf(durations), baseline: LIMIT_MS, against: "the limit", atMost: 1 },
      ratios: durations.map((ms) => ms / LIMIT_MS),
    },
  ];
};
export default bench;
