/** The URL, or an address that its name resolves to, must not be called. The message is for the URL's owner. */
export class EgressRefused extends Error {
  override readonly name = "EgressRefused";
}

/** No complete response arrived in time. The message says why, and reveals nothing about our own network. */
export class EgressFailed extends Error {
  override readonly name = "EgressFailed";
}
