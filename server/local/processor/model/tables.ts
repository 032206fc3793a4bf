/**
 * The tables of `processor.sqlite`. `synchronous = normal` survives a killed process, which is enough for development.
 */
export const createTables = `
  pragma journal_mode = wal;
  pragma synchronous = normal;
  pragma busy_timeout = 5000;

  create table if not exists objects (
    sequence integer primary key autoincrement,
    id text not null unique,
    kind text not null,
    owner text not null,
    body text not null check (json_valid(body))
  ) strict;
  create index if not exists objects_by_kind on objects (kind, owner, sequence);
  create index if not exists objects_by_age on objects (kind, sequence);
  create index if not exists objects_by_group on objects (kind, owner, json_extract(body, '$.transfer_group'));
  create index if not exists objects_by_payment on objects (kind, owner, json_extract(body, '$.payment_intent'));

  create table if not exists balances (
    owner text not null,
    currency text not null,
    cents integer not null,
    primary key (owner, currency)
  ) strict;

  create table if not exists idempotency_keys (
    owner text not null,
    key text not null,
    request_hash text not null,
    status integer not null,
    body text not null,
    created_ms integer not null,
    primary key (owner, key)
  ) strict;

  create table if not exists deliveries (
    id integer primary key autoincrement,
    event_id text not null,
    attempts integer not null default 0,
    next_attempt_ms integer not null,
    delivered_ms integer
  ) strict;
  create index if not exists deliveries_by_event on deliveries (event_id);
  create index if not exists deliveries_pending on deliveries (next_attempt_ms) where delivered_ms is null;

  create table if not exists schedule (
    id integer primary key autoincrement,
    due_ms integer not null,
    action text not null,
    object_id text not null
  ) strict;
  create index if not exists schedule_by_time on schedule (due_ms);

  create table if not exists faults (
    name text primary key,
    call text,
    next integer not null default 0,
    share real not null default 0,
    hits integer not null default 0
  ) strict;
`;
