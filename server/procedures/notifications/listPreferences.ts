import { z } from "zod";
import { readPreferences } from "../../notifications/preferences.ts";
import { NoInput } from "../../schemas/common.ts";
import { Preferences } from "../../schemas/notification.ts";
import { sessionOnly } from "../../trpc.ts";

export const listPreferences = sessionOnly
  .meta({
    rest: { method: "GET", path: "/notifications/preferences" },
    summary: "Read how I am told",
    description:
      "Returns how you are told of each kind of notifications, beside the inbox, which has all of them but new tasks: by mail, " +
      "if your address is verified, and over Web Push.",
  })
  .input(NoInput)
  .output(z.object({ preferences: Preferences }))
  .query(async ({ ctx }) => ({ preferences: await readPreferences(ctx.database, ctx.userId) }));
