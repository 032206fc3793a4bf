import { z } from "zod";
import { Id, idOf, Timestamp } from "./common.ts";
import { logEventTypes } from "./event.ts";

/** What an API key or a connected app did in one transaction, without what others were told of it. */
export const KeyAct = z
  .object({
    id: Id.meta({ description: "The act's id.", example: "0197a3c1-8f2e-4b7a-9c3d-5e6f7a8b9c0d" }),
    types: z.array(z.enum(logEventTypes)).meta({
      description: "The types of its events, in their order, without the bids that an award rejects.",
      example: ["task.awarded"],
    }),
    task: z
      .object({
        id: idOf("task"),
        title: z.string().meta({ description: "The task's title now.", example: "Translate a page" }),
      })
      .meta({ id: "ActedOnTask", description: "The task that something was about." })
      .nullable()
      .meta({ description: "The task that it was about; null if there is none." }),
    approved: z
      .boolean()
      .meta({ description: "Whether the key had asked, and its owner approved it.", example: false }),
    createdAt: Timestamp.meta({ description: "When it happened." }),
  })
  .meta({ id: "KeyAct", description: "Something that an API key or a connected app did." });
export type KeyAct = z.infer<typeof KeyAct>;
