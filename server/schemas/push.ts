import { z } from "zod";
import { idOf, Timestamp, text } from "./common.ts";
import { must } from "./messages.ts";

const base64Url = (characters: number) => new RegExp(`^[\\w-]{${characters}}={0,2}$`);

/** What a browser's `PushSubscription.toJSON()` has. */
export const pushInput = {
  endpoint: text(1, 2_048).meta({
    description: "The public HTTPS address of the browser's push service.",
    format: "uri",
    example: "https://push.example.com/send/4a7",
  }),
  keys: z
    .strictObject({
      p256dh: z
        .string()
        .max(89)
        .regex(base64Url(87), { error: must("be an uncompressed P-256 public key in base64url") })
        .meta({
          description: "The browser's public key: 65 bytes in base64url.",
          example: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        }),
      auth: z
        .string()
        .max(24)
        .regex(base64Url(22), { error: must("be 16 bytes in base64url") })
        .meta({ description: "The browser's secret: 16 bytes in base64url.", example: "BTBZMqHH6r4Tts7J_aSIgg" }),
    })
    .meta({ id: "PushKeys", description: "What a message to the browser is encrypted with." }),
} as const;

export const PushSubscription = z
  .object({
    id: idOf("push subscription"),
    createdAt: Timestamp.meta({ description: "When the browser subscribed." }),
  })
  .meta({ id: "PushSubscription", description: "A browser of yours that shows notifications." });
