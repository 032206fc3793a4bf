import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { type Kind, type Objects, platform } from "./objects.ts";
import { missing } from "./refusal.ts";
import { createTables } from "./tables.ts";

export interface Filter {
  /** Column or JSON path of the stored object, such as `$.transfer_group`. */
  path: string;
  /** `glob` matches `*` with any text; `in` expects `value` to be a JSON array. */
  operator: "=" | ">" | ">=" | "<" | "<=" | "glob" | "in";
  value: string | number;
}

/**
 * Holds all state in one SQLite file, so that a restart or a crash loses nothing. Each object is stored as the JSON
 * that the API returns. Related changes belong in one `transaction`, which commits all of them or none.
 */
export class Store {
  readonly database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true });
    this.database = new DatabaseSync(join(directory, "processor.sqlite"));
    this.database.exec(createTables);
  }

  close(): void {
    this.database.close();
  }

  /** Runs `work` in a transaction. SQLite calls are synchronous, so nothing else runs between begin and commit. */
  transaction<Result>(work: () => Result): Result {
    this.database.exec("begin immediate");
    try {
      const result = work();
      this.database.exec("commit");
      return result;
    } catch (error) {
      this.database.exec("rollback");
      throw error;
    }
  }

  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#statement(sql).run(...values).changes);
  }

  rows(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.#statement(sql).all(...values);
  }

  insert<K extends Kind>(owner: string, object: Objects[K] & { object: K }): void {
    const sql = "insert into objects (id, kind, owner, body) values (?, ?, ?, ?)";
    this.run(sql, object.id, object.object, owner, JSON.stringify(object));
  }

  update<K extends Kind>(object: Objects[K] & { object: K }): void {
    this.run("update objects set body = ? where id = ? and kind = ?", JSON.stringify(object), object.id, object.object);
  }

  find<K extends Kind>(kind: K, id: string, owner: string = platform): Objects[K] | undefined {
    const sql = "select body from objects where id = ? and kind = ? and owner = ?";
    const [row] = this.rows(sql, id, kind, owner);
    return row === undefined ? undefined : parse<K>(row.body);
  }

  /** @throws Refusal with Stripe's 404 when the object does not exist */
  get<K extends Kind>(kind: K, id: string, owner: string = platform): Objects[K] {
    const object = this.find(kind, id, owner);
    if (object === undefined) throw missing(kind, id);
    return object;
  }

  /** Returns an object of any kind and owner by its id, for `expand`. */
  findAny(id: string): unknown {
    const [row] = this.rows("select body from objects where id = ?", id);
    return row === undefined ? undefined : JSON.parse(String(row.body));
  }

  ownerOf(id: string): string | undefined {
    const [row] = this.rows("select owner from objects where id = ?", id);
    return row === undefined ? undefined : String(row.owner);
  }

  /** Returns the newest objects of a kind, of all owners. */
  newest<K extends Kind>(kind: K, limit: number): { object: Objects[K]; owner: string }[] {
    const sql = "select body, owner from objects where kind = ? order by sequence desc limit ?";
    return this.rows(sql, kind, limit).map((row) => ({ object: parse<K>(row.body), owner: String(row.owner) }));
  }

  /**
   * Lists an owner's objects, newest first. `after` and `before` are exclusive cursors, like Stripe's `starting_after`
   * and `ending_before`. Reads one row more than `limit` to find out whether there are more.
   */
  list<K extends Kind>(
    kind: K,
    owner: string,
    page: { filters?: Filter[]; limit?: number; after?: string | undefined; before?: string | undefined } = {},
  ): { data: Objects[K][]; hasMore: boolean } {
    const limit = page.limit ?? 1_000_000;
    const where = ["kind = ?", "owner = ?"];
    const values: SQLInputValue[] = [kind, owner];
    for (const filter of page.filters ?? []) {
      const operand = filter.operator === "in" ? "(select value from json_each(?))" : "?";
      where.push(`json_extract(body, '${filter.path}') ${filter.operator} ${operand}`);
      values.push(filter.value);
    }
    if (page.after !== undefined) {
      where.push("sequence < (select sequence from objects where id = ?)");
      values.push(page.after);
    }
    if (page.before !== undefined) {
      where.push("sequence > (select sequence from objects where id = ?)");
      values.push(page.before);
    }
    const order = page.before === undefined ? "desc" : "asc";
    const sql = `select body from objects where ${where.join(" and ")} order by sequence ${order} limit ?`;
    const rows = this.rows(sql, ...values, limit + 1);
    const data = rows.slice(0, limit).map((row) => parse<K>(row.body));
    if (page.before !== undefined) data.reverse();
    return { data, hasMore: rows.length > limit };
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

function parse<K extends Kind>(body: unknown): Objects[K] {
  return JSON.parse(String(body));
}
