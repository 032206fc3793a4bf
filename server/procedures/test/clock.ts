import { z } from "zod";
import { NoInput } from "../../schemas/common.ts";
import { TestClock } from "../../schemas/testClock.ts";
import { readClock } from "../../testClock/advance.ts";
import { embeddedOnly } from "../../trpc.ts";

export const clock = embeddedOnly
  .meta({
    rest: { method: "GET", path: "/test/clock" },
    summary: "Read the test clock",
    description:
      "Returns the service's time, and how far it is ahead of the real one. Only a service with embedded services, on a " +
      "developer's machine, has a clock that can be moved.",
    errors: ["not_found"],
  })
  .input(NoInput)
  .output(z.object({ clock: TestClock }).meta({ id: "TestClockResponse" }))
  .query(({ ctx }) => ({ clock: readClock(ctx) }));
