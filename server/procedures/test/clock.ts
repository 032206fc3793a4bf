import { z } from "zod";
import { NoInput } from "../../schemas/common.ts";
import { TestClock } from "../../schemas/testClock.ts";
import { readClock } from "../../testClock/advance.ts";
import { embeddedOnly } from "../../trpc.ts";

/** Returns the service's time, and how far it is ahead of the real one. */
export const clock = embeddedOnly
  .meta({
    rest: { method: "GET", path: "/test/clock" },
    summary: "Read the test clock",
    description: "Only a service on a developer's machine, with embedded services, has a clock that can be moved.",
    errors: ["not_found"],
  })
  .input(NoInput)
  .output(z.object({ clock: TestClock }))
  .query(({ ctx }) => ({ clock: readClock(ctx) }));
