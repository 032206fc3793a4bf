import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";

/** A browser's key pair and secret, as `PushManager.subscribe()` makes them. */
export function createBrowser() {
  const ecdh = createECDH("prime256v1");
  const publicKey = ecdh.generateKeys();
  const auth = randomBytes(16);
  return {
    keys: { p256dh: publicKey.toString("base64url"), auth: auth.toString("base64url") },
    /** Decrypts a message as RFC 8291 and RFC 8188 say, independently of the library that encrypts. */
    decrypt(body: Buffer): string {
      const salt = body.subarray(0, 16);
      const idLength = body.readUInt8(20);
      const sender = body.subarray(21, 21 + idLength);
      const content = body.subarray(21 + idLength);
      const derive = (secret: Uint8Array, salt: Uint8Array, info: Uint8Array | string, bytes: number) =>
        Buffer.from(hkdfSync("sha256", secret, salt, info, bytes));
      const info = Buffer.concat([Buffer.from("WebPush: info\0"), publicKey, sender]);
      const secret = derive(ecdh.computeSecret(sender), auth, info, 32);
      const key = derive(secret, salt, "Content-Encoding: aes128gcm\0", 16);
      const nonce = derive(secret, salt, "Content-Encoding: nonce\0", 12);
      const decipher = createDecipheriv("aes-128-gcm", key, nonce).setAuthTag(content.subarray(-16));
      const padded = Buffer.concat([decipher.update(content.subarray(0, -16)), decipher.final()]);
      // A last record ends with the byte 2, and zeros.
      return padded.subarray(0, padded.lastIndexOf(2)).toString();
    },
  };
}

/** What a browser sends to turn push on. */
export const browserSubscription = (endpoint = `https://push.example.com/${crypto.randomUUID()}`) => ({
  endpoint,
  keys: createBrowser().keys,
});
