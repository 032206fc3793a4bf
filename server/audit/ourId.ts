import { z } from "zod";

/** Whether a reference at the processor is one of our ids; the same account may also be used for something else. */
export const isOurId = (id: string | null): id is string => z.uuid().safeParse(id).success;
