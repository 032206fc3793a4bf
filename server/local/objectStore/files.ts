import { createHash, randomUUID } from "node:crypto";
import type { ReadStream } from "node:fs";
import {
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  writeFile as writeText,
} from "node:fs/promises";
import { join } from "node:path";
import { S3Error } from "./errors.ts";

/** An object's metadata. */
export interface ObjectInfo {
  mimeType: string;
  bytes: number;
  /** Hexadecimal. */
  md5: string;
  /** Hexadecimal. */
  sha256: string;
  /** ISO 8601, UTC. */
  modifiedAt: string;
}

/** An object that is open for reading. It stays intact even if it is replaced or deleted in the meantime. */
interface OpenObject {
  info: ObjectInfo;
  /** Returns the bytes from `start` to `end`, both inclusive. The object is closed at the end of the stream. */
  read(start: number, end: number): ReadStream;
  close(): Promise<void>;
}

export interface ObjectFiles {
  write(key: string, body: AsyncIterable<Buffer>, options: WriteOptions): Promise<ObjectInfo>;
  /** @returns null when the object does not exist */
  open(key: string): Promise<OpenObject | null>;
  /** @throws S3Error NoSuchKey, PreconditionFailed */
  copy(fromKey: string, toKey: string, options: { onlyIfAbsent: boolean }): Promise<void>;
  delete(key: string): Promise<void>;
  /** Returns the objects whose key begins with `prefix`, in the byte order of their keys, starting after `after`. */
  list(prefix: string, after: string, limit: number): Promise<{ objects: ListedObject[]; isLast: boolean }>;
}

interface ListedObject {
  key: string;
  info: ObjectInfo;
}

interface WriteOptions {
  mimeType: string;
  /** The announced length. A body with a different length is refused. */
  bytes: number;
  onlyIfAbsent: boolean;
  modifiedAt: string;
  /** Checks the digests before the object becomes visible. Throws to refuse it. */
  check(info: ObjectInfo): void;
}

/**
 * Stores each object in one file: its bytes, then its metadata as JSON, then the length of that JSON in four bytes. A
 * single rename publishes both together, so a crash never leaves half an object. The file's name is the SHA-256 of the
 * key, so that a crafted key cannot refer to a path outside the directory. A file of the same name in `keys` has the key
 * itself, for listings.
 */
export async function openObjectFiles(directory: string): Promise<ObjectFiles> {
  const folders = {
    objects: join(directory, "objects"),
    keys: join(directory, "keys"),
    incoming: join(directory, "incoming"),
  };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true, mode: 0o700 });
  // Files that were being written when the last process ended. No client was told that they are stored.
  for (const name of await readdir(folders.incoming)) await rm(join(folders.incoming, name), { force: true });
  return new FilesOnDisk(folders);
}

class FilesOnDisk implements ObjectFiles {
  readonly #folders: Record<"objects" | "keys" | "incoming", string>;

  constructor(folders: Record<"objects" | "keys" | "incoming", string>) {
    this.#folders = folders;
  }

  async write(key: string, body: AsyncIterable<Buffer>, options: WriteOptions): Promise<ObjectInfo> {
    const path = join(this.#folders.incoming, randomUUID());
    try {
      const info = await writeFile(path, body, options);
      await this.#publish(path, key, options.onlyIfAbsent);
      return info;
    } finally {
      await rm(path, { force: true });
    }
  }

  async open(key: string): Promise<OpenObject | null> {
    const file = await openIfExists(this.#pathOf(key));
    if (file === null) return null;
    try {
      const info = await readInfo(file);
      return {
        info,
        read: (start, end) => file.createReadStream({ start, end }),
        close: () => file.close(),
      };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async copy(fromKey: string, toKey: string, { onlyIfAbsent }: { onlyIfAbsent: boolean }): Promise<void> {
    // Visible files never change, so a copy is a second link to the same file and copies no bytes.
    const path = join(this.#folders.incoming, randomUUID());
    try {
      await link(this.#pathOf(fromKey), path).catch((error: unknown) => {
        throw hasCode(error, "ENOENT") ? new S3Error("NoSuchKey") : error;
      });
      await this.#publish(path, toKey, onlyIfAbsent);
    } finally {
      await rm(path, { force: true });
    }
  }

  async delete(key: string): Promise<void> {
    await rm(this.#pathOf(key), { force: true });
    await rm(join(this.#folders.keys, nameOf(key)), { force: true });
    await syncDirectory(this.#folders.objects);
  }

  async list(prefix: string, after: string, limit: number): Promise<{ objects: ListedObject[]; isLast: boolean }> {
    const wanted: string[] = [];
    for (const name of await readdir(this.#folders.keys)) {
      const key = await readFile(join(this.#folders.keys, name), "utf8").catch(() => null); // deleted meanwhile
      if (key?.startsWith(prefix) && compareBytes(key, after) > 0) wanted.push(key);
    }
    wanted.sort(compareBytes);
    const page = wanted.slice(0, limit);
    const objects: ListedObject[] = [];
    for (const key of page) {
      const object = await this.open(key);
      if (object !== null) objects.push({ key, info: object.info });
      await object?.close();
    }
    return { objects, isLast: page.length === wanted.length };
  }

  #pathOf(key: string): string {
    return join(this.#folders.objects, nameOf(key));
  }

  /** Makes a complete file visible under its key, durably. */
  async #publish(finished: string, key: string, onlyIfAbsent: boolean): Promise<void> {
    // Without an object, it is ignored. After a crash it may be missing, which hides the object from listings only.
    await writeText(join(this.#folders.keys, nameOf(key)), key);
    if (onlyIfAbsent) {
      // Creating a link fails atomically if the name exists: only one of two concurrent writers succeeds.
      await link(finished, this.#pathOf(key)).catch((error: unknown) => {
        throw hasCode(error, "EEXIST") ? new S3Error("PreconditionFailed") : error;
      });
    } else {
      await rename(finished, this.#pathOf(key));
    }
    await syncDirectory(this.#folders.objects);
  }
}

const nameOf = (key: string) => createHash("sha256").update(key).digest("hex");

async function writeFile(path: string, body: AsyncIterable<Buffer>, options: WriteOptions): Promise<ObjectInfo> {
  const file = await open(path, "wx", 0o600);
  try {
    const md5 = createHash("md5");
    const sha256 = createHash("sha256");
    let bytes = 0;
    // One chunk at a time: the sender waits for the disk, and memory use does not depend on the size.
    for await (const chunk of body) {
      bytes += chunk.length;
      md5.update(chunk);
      sha256.update(chunk);
      await file.writeFile(chunk);
    }
    if (bytes !== options.bytes) throw new S3Error("IncompleteBody");
    const { mimeType, modifiedAt } = options;
    const info = { mimeType, bytes, md5: md5.digest("hex"), sha256: sha256.digest("hex"), modifiedAt };
    options.check(info);
    const description = Buffer.from(JSON.stringify(info));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(description.length);
    await file.writeFile(Buffer.concat([description, length]));
    await file.sync();
    return info;
  } finally {
    await file.close();
  }
}

async function readInfo(file: FileHandle): Promise<ObjectInfo> {
  const { size } = await file.stat();
  const length = Buffer.alloc(4);
  await file.read(length, 0, 4, size - 4);
  const description = Buffer.alloc(length.readUInt32BE());
  await file.read(description, 0, description.length, size - 4 - description.length);
  const info: ObjectInfo = JSON.parse(description.toString());
  if (info.bytes + description.length + 4 !== size)
    throw new Error("The file of an object does not have the length in its metadata.");
  return info;
}

async function openIfExists(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  }
}

const compareBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** A rename is durable only after its directory has been synced. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
