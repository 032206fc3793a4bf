/** The error that the object store's gateway throws. Here, so that who only handles it does not load the SDK. */

/** The store is unreachable, did not respond in time, or failed. Trying again later may help. */
export class StorageUnavailable extends Error {
  constructor(cause: unknown) {
    super("the object store is not available", { cause });
    this.name = "StorageUnavailable";
  }
}
