import { z } from "zod";

/** A related object in a snapshot: its id, or the expanded object. Parsed to the id, or null. */
export const Related = z
  .union([z.string(), z.object({ id: z.string() })])
  .nullish()
  .transform((related) => (typeof related === "object" && related !== null ? related.id : (related ?? null)));

/** One of our own ids, as the processor returned it. Parsed to null if it is not a UUID. */
export const OurId = z
  .uuid()
  .nullish()
  .catch(null)
  .transform((id) => id ?? null);
