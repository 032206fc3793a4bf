import { z } from "zod";

/**
 * Whether a reference at the processor is one of our ids; other references belong to other business of the same
 * account.
 */
export const isOurId = (id: string | null): id is string => z.uuid().safeParse(id).success;
