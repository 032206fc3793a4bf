-- The marketplace's tables and its ledger. schema.prisma describes the same tables; what Prisma's language
-- cannot say (checks, triggers, functions, partial indexes) stands only here.
--
-- Three rules explain most of this file:
--   1. Timestamps that are a feed's cursor are unique within the feed and are the database's own (microseconds).
--   2. The database refuses what must never be: a negative bucket, an unbalanced movement, a changed entry.
--   3. Every movement of money is one call of a ledger_* function, inside the transaction of the state change.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- A time-ordered UUID (RFC 9562, version 7): 48 bits of Unix milliseconds, then random bits. Postgres 18 and later make
-- these themselves, in nanoseconds. On the releases before, one expression, which Postgres inlines: the random half of a
-- version 4 UUID has the right variant already, and input may have hyphens after any four digits.
DO $$
BEGIN
  IF current_setting('server_version_num')::int >= 180000 THEN
    CREATE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT uuidv7()';
  ELSE
    CREATE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $expression$
      SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
              || '-7' || substr(gen_random_uuid()::text, 16))::uuid
    $expression$;
  END IF;
END $$;

-- ---------------------------------------------------------------- people and their credentials

CREATE TABLE users (
  id            uuid PRIMARY KEY DEFAULT uuid_v7(),
  email         text NOT NULL,
  password_hash text NOT NULL,
  display_name  text NOT NULL,
  role          text NOT NULL DEFAULT 'member',
  suspended_at  timestamptz(6),
  created_at    timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT users_email_key UNIQUE (email),
  CONSTRAINT users_role_known CHECK (role IN ('member', 'moderator'))
);

CREATE TABLE sessions (
  id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  user_id    uuid NOT NULL REFERENCES users (id),
  expires_at timestamptz(6) NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX sessions_user_id_idx ON sessions (user_id);
CREATE INDEX sessions_expires_at_idx ON sessions (expires_at);

CREATE TABLE api_keys (
  id           uuid PRIMARY KEY DEFAULT uuid_v7(),
  user_id      uuid NOT NULL REFERENCES users (id),
  label        text NOT NULL,
  scopes       text[] NOT NULL,
  key_hash     bytea NOT NULL,
  last4        text NOT NULL,
  created_at   timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  last_used_at timestamptz(6),
  revoked_at   timestamptz(6),
  CONSTRAINT api_keys_key_hash_key UNIQUE (key_hash)
);
CREATE INDEX api_keys_user_id_idx ON api_keys (user_id);

-- ---------------------------------------------------------------- tasks and bids

CREATE TABLE tasks (
  id                     uuid PRIMARY KEY DEFAULT uuid_v7(),
  buyer_id               uuid NOT NULL REFERENCES users (id),
  title                  text NOT NULL,
  description            text NOT NULL,
  acceptance_criteria    text,
  max_budget_cents       integer NOT NULL,
  tags                   text[] NOT NULL,
  status                 text NOT NULL DEFAULT 'open',
  bid_count              integer NOT NULL DEFAULT 0,
  awarded_bid_id         uuid,
  awarded_bidder_id      uuid REFERENCES users (id),
  awarded_at             timestamptz(6),
  delivery_due_at        timestamptz(6),
  delivered_at           timestamptz(6),
  acceptance_deadline_at timestamptz(6),
  accepted_at            timestamptz(6),
  closed_at              timestamptz(6),
  created_at             timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  updated_at             timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT tasks_created_at_key UNIQUE (created_at),
  CONSTRAINT tasks_budget_positive CHECK (max_budget_cents > 0),
  CONSTRAINT tasks_bid_count_not_negative CHECK (bid_count >= 0),
  CONSTRAINT tasks_status_known
    CHECK (status IN ('open', 'awarded', 'delivered', 'accepted', 'cancelled', 'disputed', 'resolved', 'expired')),
  CONSTRAINT tasks_awarded_complete CHECK (
    (awarded_bid_id IS NULL) = (awarded_bidder_id IS NULL)
    AND (awarded_bid_id IS NULL) = (status IN ('open', 'cancelled'))
  )
);
-- The feed: newest first within a status, with each filter walking the same order.
CREATE INDEX tasks_feed_idx ON tasks (status, created_at DESC);
CREATE INDEX tasks_tags_idx ON tasks USING gin (tags);
CREATE INDEX tasks_title_idx ON tasks USING gin (lower(title) gin_trgm_ops);
CREATE INDEX tasks_budget_idx ON tasks (status, max_budget_cents);
CREATE INDEX tasks_buyer_idx ON tasks (buyer_id, created_at DESC);
CREATE INDEX tasks_awarded_bidder_idx ON tasks (awarded_bidder_id, created_at DESC) WHERE awarded_bidder_id IS NOT NULL;
-- What the sweeps look for: few rows, whatever the table's size.
CREATE INDEX tasks_acceptance_deadline_idx ON tasks (acceptance_deadline_at) WHERE status = 'delivered';
CREATE INDEX tasks_delivery_due_idx ON tasks (delivery_due_at) WHERE status = 'awarded';

CREATE TABLE bids (
  id          uuid PRIMARY KEY DEFAULT uuid_v7(),
  task_id     uuid NOT NULL REFERENCES tasks (id),
  bidder_id   uuid NOT NULL REFERENCES users (id),
  price_cents integer NOT NULL,
  eta_hours   integer NOT NULL,
  notes       text,
  status      text NOT NULL DEFAULT 'active',
  created_at  timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  updated_at  timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT bids_created_at_key UNIQUE (created_at),
  CONSTRAINT bids_price_positive CHECK (price_cents > 0),
  CONSTRAINT bids_status_known CHECK (status IN ('active', 'withdrawn', 'rejected', 'awarded'))
);
CREATE UNIQUE INDEX bids_one_active_key ON bids (task_id, bidder_id) WHERE status = 'active';
CREATE INDEX bids_task_idx ON bids (task_id, created_at DESC);
CREATE INDEX bids_bidder_idx ON bids (bidder_id, created_at DESC);

ALTER TABLE tasks ADD CONSTRAINT tasks_awarded_bid_id_fkey FOREIGN KEY (awarded_bid_id) REFERENCES bids (id);

-- ---------------------------------------------------------------- samples and deliveries

CREATE TABLE uploads (
  storage_key  text PRIMARY KEY,
  bid_id       uuid NOT NULL REFERENCES bids (id),
  kind         text NOT NULL,
  mime_type    text NOT NULL,
  bytes        integer NOT NULL,
  width        integer,
  height       integer,
  duration_sec integer,
  created_at   timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT uploads_kind_known CHECK (kind IN ('sample', 'delivery'))
);
CREATE INDEX uploads_bid_idx ON uploads (bid_id);

-- A finalised upload. A bid has several samples and at most one delivery.
CREATE TABLE artifacts (
  id          uuid PRIMARY KEY DEFAULT uuid_v7(),
  upload_key  text NOT NULL REFERENCES uploads (storage_key),
  storage_key text NOT NULL,
  bid_id      uuid NOT NULL REFERENCES bids (id),
  task_id     uuid NOT NULL REFERENCES tasks (id),
  kind        text NOT NULL,
  sha256      text,
  created_at  timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT artifacts_upload_key_key UNIQUE (upload_key)
);
COMMENT ON COLUMN artifacts.storage_key IS
  'a copy of the upload that no upload URL reaches: its bytes cannot change any more';
CREATE UNIQUE INDEX artifacts_one_delivery_key ON artifacts (bid_id) WHERE kind = 'delivery';
CREATE INDEX artifacts_task_idx ON artifacts (task_id, created_at);

-- ---------------------------------------------------------------- domain events

-- Written in the transaction of the change; delivery to subscribers follows from these rows.
CREATE TABLE events (
  id         uuid PRIMARY KEY DEFAULT uuid_v7(),
  type       text NOT NULL,
  task_id    uuid NOT NULL REFERENCES tasks (id),
  recipients uuid[],
  data       jsonb NOT NULL,
  created_at timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON COLUMN events.recipients IS 'the users whose subscriptions get it; null: every subscriber';
CREATE INDEX events_task_idx ON events (task_id, created_at);

-- ---------------------------------------------------------------- the payment processor

CREATE TABLE topups (
  id                uuid PRIMARY KEY DEFAULT uuid_v7(),
  user_id           uuid NOT NULL REFERENCES users (id),
  amount_cents      integer NOT NULL,
  currency          text NOT NULL,
  status            text NOT NULL DEFAULT 'created',
  session_id        text,
  payment_intent_id text,
  expires_at        timestamptz(6),
  created_at        timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  updated_at        timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT topups_session_id_key UNIQUE (session_id),
  CONSTRAINT topups_payment_intent_id_key UNIQUE (payment_intent_id),
  CONSTRAINT topups_amount_positive CHECK (amount_cents > 0),
  CONSTRAINT topups_status_known CHECK (status IN ('created', 'processing', 'paid', 'failed', 'expired'))
);
CREATE INDEX topups_user_idx ON topups (user_id, created_at DESC);
CREATE INDEX topups_unsettled_idx ON topups (created_at) WHERE status IN ('created', 'processing');

-- The inbox of the processor's events: one row an event, however often it is sent.
CREATE TABLE processor_events (
  id           text PRIMARY KEY,
  type         text NOT NULL,
  payload      jsonb NOT NULL,
  received_at  timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  processed_at timestamptz(6),
  outcome      text
);
CREATE INDEX processor_events_unprocessed_idx ON processor_events (received_at) WHERE processed_at IS NULL;

-- ---------------------------------------------------------------- the ledger

-- Both buckets of a user's wallet in one row: a hold is an update of one row, and the database decides an overdraft.
-- fillfactor and the absence of indexes on balances keep nearly every update heap-only.
CREATE TABLE wallets (
  user_id         uuid PRIMARY KEY REFERENCES users (id),
  available_cents bigint NOT NULL DEFAULT 0,
  held_cents      bigint NOT NULL DEFAULT 0,
  debt_cents      bigint NOT NULL DEFAULT 0,
  version         bigint NOT NULL DEFAULT 0,
  last_entry_at   timestamptz(6) NOT NULL DEFAULT '-infinity',
  CONSTRAINT wallets_available_not_negative CHECK (available_cents >= 0),
  CONSTRAINT wallets_held_not_negative CHECK (held_cents >= 0),
  CONSTRAINT wallets_debt_not_negative CHECK (debt_cents >= 0)
) WITH (fillfactor = 50);

-- One movement of money: why it happened, once.
CREATE TABLE ledger_transfers (
  id           uuid PRIMARY KEY DEFAULT uuid_v7(),
  task_id      uuid REFERENCES tasks (id),
  bid_id       uuid REFERENCES bids (id),
  external_ref text,
  fingerprint  text,
  created_at   timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT ledger_transfers_external_ref_key UNIQUE (external_ref)
);
COMMENT ON COLUMN ledger_transfers.fingerprint IS
  'kind, user and amount of a movement with an external reference: the same reference with others is an error';

-- The two or more sides of a movement; they sum to zero. user_id is null for the world outside (bucket `outside`).
-- `debt` is what a user owes after a chargeback beyond the balance; its balance is the negative of wallets.debt_cents.
CREATE TABLE ledger_entries (
  id                  uuid PRIMARY KEY DEFAULT uuid_v7(),
  transfer_id         uuid NOT NULL REFERENCES ledger_transfers (id),
  user_id             uuid REFERENCES users (id),
  kind                text NOT NULL,
  bucket              text NOT NULL,
  amount_cents        bigint NOT NULL,
  balance_after_cents bigint,
  version             bigint,
  created_at          timestamptz(6) NOT NULL,
  CONSTRAINT ledger_entries_kind_known CHECK (kind IN ('topup', 'hold', 'hold_release', 'task_payment', 'task_earning',
    'dispute_refund', 'payout', 'payout_reversal', 'topup_refund', 'chargeback', 'adjustment')),
  CONSTRAINT ledger_entries_bucket_known CHECK (bucket IN ('available', 'held', 'debt', 'outside')),
  CONSTRAINT ledger_entries_amount_not_zero CHECK (amount_cents <> 0),
  CONSTRAINT ledger_entries_outside_has_no_user CHECK (
    (bucket = 'outside') = (user_id IS NULL)
    AND (user_id IS NULL) = (version IS NULL)
    AND (user_id IS NULL) = (balance_after_cents IS NULL)
  ),
  -- Gapless per wallet: with balance_after_cents it makes the whole history checkable.
  CONSTRAINT ledger_entries_version_key UNIQUE (user_id, version),
  -- The wallet's feed: no two entries of a user share their timestamp.
  CONSTRAINT ledger_entries_feed_key UNIQUE (user_id, created_at)
);
CREATE INDEX ledger_entries_transfer_idx ON ledger_entries (transfer_id);

-- Append-only, for everyone. ALWAYS: also for a session that replays as a replica.
CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only: % on % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER ledger_transfers_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfers
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER wallets_not_deleted BEFORE DELETE OR TRUNCATE ON wallets
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
ALTER TABLE ledger_entries ENABLE ALWAYS TRIGGER ledger_entries_append_only;
ALTER TABLE ledger_transfers ENABLE ALWAYS TRIGGER ledger_transfers_append_only;
ALTER TABLE wallets ENABLE ALWAYS TRIGGER wallets_not_deleted;

-- Zero-sum: all sides of a movement are written by one statement, and judged when it ends. That is stricter than a
-- judgement at commit, and cheaper: the rows are at hand, and one look serves all of them.
CREATE FUNCTION ledger_check_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  unbalanced record;
BEGIN
  SELECT transfer_id, sum(amount_cents) AS total_cents INTO unbalanced
    FROM added GROUP BY transfer_id HAVING sum(amount_cents) <> 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'ledger transfer % does not balance: % cents', unbalanced.transfer_id, unbalanced.total_cents
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_entries_balanced';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER ledger_entries_balanced AFTER INSERT ON ledger_entries
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger_check_balanced();
ALTER TABLE ledger_entries ENABLE ALWAYS TRIGGER ledger_entries_balanced;

-- Within one wallet, between its two buckets: hold (available to held), hold_release and dispute_refund (back).
-- A positive amount moves available to held. Returns the id of the entry in `available`.
-- An overdraft is SQLSTATE 23514 of wallets_available_not_negative or wallets_held_not_negative.
CREATE FUNCTION ledger_shift(p_user uuid, p_kind text, p_amount bigint, p_task uuid, p_bid uuid)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  wallet wallets;
  transfer uuid := uuid_v7();
  entry uuid := uuid_v7();
  happened_at timestamptz(6);
BEGIN
  UPDATE wallets
     SET available_cents = available_cents - p_amount, held_cents = held_cents + p_amount, version = version + 2,
         last_entry_at = greatest(clock_timestamp(), last_entry_at + interval '1 microsecond') + interval '1 microsecond'
   WHERE user_id = p_user
   RETURNING * INTO wallet;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'user % has no wallet', p_user
      USING ERRCODE = 'check_violation', CONSTRAINT = 'wallets_available_not_negative';
  END IF;
  happened_at := wallet.last_entry_at - interval '1 microsecond';
  INSERT INTO ledger_transfers (id, task_id, bid_id, created_at) VALUES (transfer, p_task, p_bid, happened_at);
  INSERT INTO ledger_entries (id, transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
  VALUES (entry, transfer, p_user, p_kind, 'available', -p_amount, wallet.available_cents, wallet.version - 1, happened_at),
         (uuid_v7(), transfer, p_user, p_kind, 'held', p_amount, wallet.held_cents, wallet.version, wallet.last_entry_at);
  IF p_amount < 0 AND wallet.debt_cents > 0 THEN
    PERFORM ledger_pay_debt(p_user);
  END IF;
  RETURN entry;
END $$;

-- Adds to `available` of a wallet and gives the wallet as it is then; the first credit makes the wallet. Nearly every
-- wallet is there, so the update is tried first: an INSERT … ON CONFLICT before each would mostly be for nothing.
CREATE FUNCTION ledger_credit_wallet(p_user uuid, p_amount bigint) RETURNS wallets LANGUAGE plpgsql AS $$
DECLARE
  wallet wallets;
BEGIN
  LOOP
    UPDATE wallets
       SET available_cents = available_cents + p_amount, version = version + 1,
           last_entry_at = greatest(clock_timestamp(), last_entry_at + interval '1 microsecond')
     WHERE user_id = p_user RETURNING * INTO wallet;
    IF FOUND THEN
      RETURN wallet;
    END IF;
    INSERT INTO wallets (user_id) VALUES (p_user) ON CONFLICT DO NOTHING;
  END LOOP;
END $$;

-- From the buyer's held to the bidder's available bucket. The updates themselves take the locks, in ascending order of
-- the user's id, so that two payments in opposite directions cannot deadlock: an update that waited computes with the
-- row as it is after the wait.
CREATE FUNCTION ledger_pay(p_buyer uuid, p_bidder uuid, p_amount bigint, p_task uuid, p_bid uuid)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  buyer wallets;
  bidder wallets;
  transfer uuid := uuid_v7();
  entry uuid := uuid_v7();
BEGIN
  IF p_bidder < p_buyer THEN
    bidder := ledger_credit_wallet(p_bidder, p_amount);
  END IF;
  UPDATE wallets
     SET held_cents = held_cents - p_amount, version = version + 1,
         last_entry_at = greatest(clock_timestamp(), last_entry_at + interval '1 microsecond')
   WHERE user_id = p_buyer RETURNING * INTO buyer;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'user % has no wallet', p_buyer
      USING ERRCODE = 'check_violation', CONSTRAINT = 'wallets_held_not_negative';
  END IF;
  IF p_bidder >= p_buyer THEN
    bidder := ledger_credit_wallet(p_bidder, p_amount);
  END IF;
  INSERT INTO ledger_transfers (id, task_id, bid_id, created_at) VALUES (transfer, p_task, p_bid, buyer.last_entry_at);
  INSERT INTO ledger_entries (id, transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
  VALUES (uuid_v7(), transfer, p_buyer, 'task_payment', 'held', -p_amount, buyer.held_cents, buyer.version, buyer.last_entry_at),
         (entry, transfer, p_bidder, 'task_earning', 'available', p_amount, bidder.available_cents, bidder.version, bidder.last_entry_at);
  IF bidder.debt_cents > 0 THEN
    PERFORM ledger_pay_debt(p_bidder);
  END IF;
  RETURN entry;
END $$;

-- Remembers an external reference for ever. Returns the new transfer's id, or null when the very same movement was made
-- before; the same reference for another movement is an error.
CREATE FUNCTION ledger_claim_reference(p_external_ref text, p_fingerprint text, p_task uuid, p_bid uuid)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  transfer uuid := uuid_v7();
  earlier text;
BEGIN
  INSERT INTO ledger_transfers (id, task_id, bid_id, external_ref, fingerprint)
  VALUES (transfer, p_task, p_bid, p_external_ref, p_fingerprint)
  ON CONFLICT (external_ref) DO NOTHING;
  IF FOUND THEN
    RETURN transfer;
  END IF;
  SELECT fingerprint INTO earlier FROM ledger_transfers WHERE external_ref = p_external_ref;
  IF earlier IS DISTINCT FROM p_fingerprint THEN
    RAISE EXCEPTION 'ledger reference % was used for another movement', p_external_ref
      USING ERRCODE = 'unique_violation', CONSTRAINT = 'ledger_transfers_fingerprint';
  END IF;
  RETURN NULL;
END $$;

-- Between the world outside and `available`: a positive amount comes in (topup, payout_reversal), a negative one
-- leaves (payout). Returns the id of the user's entry, or null when p_external_ref has been booked before.
CREATE FUNCTION ledger_exchange(p_user uuid, p_kind text, p_amount bigint, p_external_ref text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  wallet wallets;
  transfer uuid := ledger_claim_reference(p_external_ref, concat_ws(' ', p_kind, p_user, p_amount), NULL, NULL);
  entry uuid := uuid_v7();
BEGIN
  IF transfer IS NULL THEN
    RETURN NULL;
  END IF;
  IF p_amount > 0 THEN
    INSERT INTO wallets (user_id) VALUES (p_user) ON CONFLICT DO NOTHING;
  END IF;
  UPDATE wallets
     SET available_cents = available_cents + p_amount, version = version + 1,
         last_entry_at = greatest(clock_timestamp(), last_entry_at + interval '1 microsecond')
   WHERE user_id = p_user RETURNING * INTO wallet;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'user % has no wallet', p_user
      USING ERRCODE = 'check_violation', CONSTRAINT = 'wallets_available_not_negative';
  END IF;
  INSERT INTO ledger_entries (id, transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
  VALUES (entry, transfer, p_user, p_kind, 'available', p_amount, wallet.available_cents, wallet.version, wallet.last_entry_at),
         (uuid_v7(), transfer, NULL, p_kind, 'outside', -p_amount, NULL, NULL, wallet.last_entry_at);
  IF p_amount > 0 AND wallet.debt_cents > 0 THEN
    PERFORM ledger_pay_debt(p_user);
  END IF;
  RETURN entry;
END $$;

-- Takes back a top-up (topup_refund, chargeback): what is available goes out, the rest becomes a debt that the next
-- credits pay. Returns the transfer's id, or null when p_external_ref has been booked before.
CREATE FUNCTION ledger_claw_back(p_user uuid, p_kind text, p_amount bigint, p_external_ref text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  wallet wallets;
  transfer uuid := ledger_claim_reference(p_external_ref, concat_ws(' ', p_kind, p_user, p_amount), NULL, NULL);
  taken bigint;
  owed bigint;
  happened_at timestamptz(6);
BEGIN
  IF transfer IS NULL THEN
    RETURN NULL;
  END IF;
  INSERT INTO wallets (user_id) VALUES (p_user) ON CONFLICT DO NOTHING;
  SELECT * INTO wallet FROM wallets WHERE user_id = p_user FOR NO KEY UPDATE;
  taken := least(wallet.available_cents, p_amount);
  owed := p_amount - taken;
  happened_at := greatest(clock_timestamp(), wallet.last_entry_at + interval '1 microsecond');
  INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
  SELECT transfer, side.user_id, p_kind, side.bucket, side.amount, side.balance_after, wallet.version + side.step,
         happened_at + coalesce(side.step, 0) * interval '1 microsecond'
    FROM (VALUES (p_user, 'available', -taken, wallet.available_cents - taken, 1),
                 (p_user, 'debt', -owed, -(wallet.debt_cents + owed), CASE WHEN taken > 0 THEN 2 ELSE 1 END),
                 (NULL, 'outside', p_amount, NULL, NULL)) AS side (user_id, bucket, amount, balance_after, step)
   WHERE side.amount <> 0;
  UPDATE wallets
     SET available_cents = available_cents - taken, debt_cents = debt_cents + owed,
         version = version + (taken > 0)::int + (owed > 0)::int, last_entry_at = happened_at + interval '2 microseconds'
   WHERE user_id = p_user;
  RETURN transfer;
END $$;

-- Pays what a user owes out of what is available, as an `adjustment` that the wallet's history shows.
CREATE FUNCTION ledger_pay_debt(p_user uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wallet wallets;
  transfer uuid := uuid_v7();
  paid bigint;
BEGIN
  SELECT least(available_cents, debt_cents) INTO paid FROM wallets WHERE user_id = p_user FOR NO KEY UPDATE;
  IF coalesce(paid, 0) = 0 THEN
    RETURN;
  END IF;
  UPDATE wallets
     SET available_cents = available_cents - paid, debt_cents = debt_cents - paid, version = version + 2,
         last_entry_at = greatest(clock_timestamp(), last_entry_at + interval '1 microsecond') + interval '1 microsecond'
   WHERE user_id = p_user RETURNING * INTO wallet;
  INSERT INTO ledger_transfers (id, created_at) VALUES (transfer, wallet.last_entry_at);
  INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
  VALUES (transfer, p_user, 'adjustment', 'available', -paid, wallet.available_cents, wallet.version - 1,
          wallet.last_entry_at - interval '1 microsecond'),
         (transfer, p_user, 'adjustment', 'debt', paid, -wallet.debt_cents, wallet.version, wallet.last_entry_at);
END $$;
