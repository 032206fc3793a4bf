import { z } from "zod";

/** A related object in a snapshot: its id or, when expanded, the object; read as the id or null. */
export const Related = z
  .union([z.string(), z.object({ id: z.string() })])
  .nullish()
  .transform((related) => (typeof related === "object" && related !== null ? related.id : (related ?? null)));

/** One of our own ids, as it came back from the processor; null when it is none. */
export const OurId = z
  .uuid()
  .nullish()
  .catch(null)
  .transform((id) => id ?? null);
