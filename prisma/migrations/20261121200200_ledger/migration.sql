-- The ledger: double-entry, append-only, and checked by the database itself.
--
-- A movement of money is one row in ledger_transfers and two or more rows in ledger_entries that sum to zero. Inserting
-- an entry is what changes a wallet, so a wallet always equals the sum of its entries. Movements between users are plain
-- INSERTs (server/store/ledger.ts). Movements to or from the outside world are functions, because each external
-- reference may be booked only once.

-- ---------------------------------------------------------------- tables

-- All buckets of a user in one row, so that a hold updates a single row and a CHECK rejects an overdraft (SQLSTATE 23514
-- with the constraint's name). The fill factor, and having no index on balances, keep 99.9 % of updates heap-only.
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
COMMENT ON COLUMN wallets.debt_cents IS
  'what the user owes after a refund or chargeback that exceeded the available balance; later credits pay it first';
COMMENT ON COLUMN wallets.version IS 'the number of entries of this wallet';
COMMENT ON COLUMN wallets.last_entry_at IS 'the time of the newest entry; the next one gets a later time';

-- One movement of money, and its reason.
CREATE TABLE ledger_transfers (
  id           uuid PRIMARY KEY DEFAULT uuid_v7(),
  task_id      uuid REFERENCES tasks (id),
  bid_id       uuid REFERENCES bids (id),
  external_ref text,
  fingerprint  text,
  created_at   timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON COLUMN ledger_transfers.external_ref IS
  'identifies a movement to or from the outside world, such as the payment intent of a top-up; never reused';
COMMENT ON COLUMN ledger_transfers.fingerprint IS
  'kind, user and amount of a movement with an external reference; reusing the reference with other values is an error';
-- Partial, because nearly all movements have no external reference.
CREATE UNIQUE INDEX ledger_transfers_external_ref_key ON ledger_transfers (external_ref) WHERE external_ref IS NOT NULL;

-- Domains instead of CHECK constraints on the column: Postgres parses a table's checks again for every statement but a
-- domain's only once per connection, which saves more than a tenth of a movement's time.
CREATE DOMAIN ledger_kind AS text CONSTRAINT ledger_entries_kind_known CHECK (VALUE IN (
  'topup', 'hold', 'hold_release', 'task_payment', 'task_earning', 'dispute_refund', 'payout', 'payout_reversal',
  'topup_refund', 'chargeback', 'adjustment'));
CREATE DOMAIN ledger_bucket AS text CONSTRAINT ledger_entries_bucket_known CHECK (VALUE IN (
  'available', 'held', 'debt', 'outside'));

-- The sides of a movement; they sum to zero. The bucket `outside` is the rest of the world and has no user. The balance
-- of `debt` is the negative of wallets.debt_cents. There is no foreign key to users: the wallet that an entry changes
-- already proves that the user exists, and a foreign key would look it up a second time.
CREATE TABLE ledger_entries (
  id                  uuid PRIMARY KEY DEFAULT uuid_v7(),
  transfer_id         uuid NOT NULL REFERENCES ledger_transfers (id),
  user_id             uuid,
  kind                ledger_kind NOT NULL,
  bucket              ledger_bucket NOT NULL,
  amount_cents        bigint NOT NULL,
  balance_after_cents bigint,
  version             bigint,
  created_at          timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT ledger_entries_amount_not_zero CHECK (amount_cents <> 0),
  CONSTRAINT ledger_entries_outside_has_no_user CHECK (
    (bucket = 'outside') = (user_id IS NULL)
    AND (user_id IS NULL) = (version IS NULL)
    AND (user_id IS NULL) = (balance_after_cents IS NULL)
  ),
  -- Versions have no gaps within a wallet. Together with balance_after_cents they make the whole history verifiable.
  CONSTRAINT ledger_entries_version_key UNIQUE (user_id, version),
  CONSTRAINT ledger_entries_feed_key UNIQUE (user_id, created_at)
);
CREATE INDEX ledger_entries_transfer_idx ON ledger_entries (transfer_id);

-- ---------------------------------------------------------------- an entry changes its wallet

-- Applies a new entry to its wallet and copies the wallet's new balance, version and time into the entry.
CREATE FUNCTION ledger_apply_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- No unique value of an entry may come from the statement. Otherwise, a conflict under ON CONFLICT DO NOTHING would skip
  -- the entry after it has changed the wallet.
  NEW.id := uuid_v7();
  LOOP
    UPDATE wallets
       SET available_cents = available_cents + CASE NEW.bucket WHEN 'available' THEN NEW.amount_cents ELSE 0 END,
           held_cents = held_cents + CASE NEW.bucket WHEN 'held' THEN NEW.amount_cents ELSE 0 END,
           debt_cents = debt_cents - CASE NEW.bucket WHEN 'debt' THEN NEW.amount_cents ELSE 0 END,
           version = version + 1,
           -- Strictly increasing within a wallet, so entries of one user never share a timestamp.
           last_entry_at = greatest(clock_timestamp(), last_entry_at + interval '1 microsecond')
     WHERE user_id = NEW.user_id
     RETURNING CASE NEW.bucket WHEN 'available' THEN available_cents WHEN 'held' THEN held_cents ELSE -debt_cents END,
               version, last_entry_at
      INTO NEW.balance_after_cents, NEW.version, NEW.created_at;
    IF FOUND THEN
      RETURN NEW;
    END IF;
    -- A user's first entry creates the wallet. Nearly every wallet exists already, so the update is tried first.
    INSERT INTO wallets (user_id) VALUES (NEW.user_id) ON CONFLICT DO NOTHING;
  END LOOP;
END $$;
-- Unlike the triggers below, this one is not ENABLE ALWAYS: a session that applies replicated changes also receives the
-- change to the wallet itself.
CREATE TRIGGER ledger_entries_change_wallet BEFORE INSERT ON ledger_entries
  FOR EACH ROW WHEN (NEW.user_id IS NOT NULL) EXECUTE FUNCTION ledger_apply_entry();

-- ---------------------------------------------------------------- what the database refuses

-- The ledger is append-only for everyone. ENABLE ALWAYS keeps the triggers active in sessions that apply replicated
-- changes (session_replication_role = replica).
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

-- Zero sum: one statement writes all sides of a movement, and they are checked when it ends. That is stricter than a
-- check at commit, and cheaper: the rows are at hand, and a single query covers them all.
CREATE FUNCTION ledger_check_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM added GROUP BY transfer_id HAVING sum(amount_cents) <> 0) THEN
    RAISE EXCEPTION 'ledger transfers do not balance: %', (
      SELECT string_agg(format('%s by %s cents', transfer_id, cents), ', ')
        FROM (SELECT transfer_id, sum(amount_cents) AS cents FROM added GROUP BY transfer_id) total WHERE cents <> 0)
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_entries_balanced';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER ledger_entries_balanced AFTER INSERT ON ledger_entries
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger_check_balanced();
ALTER TABLE ledger_entries ENABLE ALWAYS TRIGGER ledger_entries_balanced;

-- A change to a wallet must match its new entries. Changes made by an entry's trigger (trigger depth above 0) are right
-- by construction, so this checks the others: a manual UPDATE, which is refused, and a replicated change, which arrives
-- together with its entries. It runs at commit and reads only the entries of the versions that the change adds.
CREATE FUNCTION ledger_check_wallet() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  expected record;
BEGIN
  -- OLD is null for a new wallet, which starts empty at version 0.
  SELECT count(*) AS versions,
         coalesce(sum(amount_cents) FILTER (WHERE bucket = 'available'), 0) AS available_cents,
         coalesce(sum(amount_cents) FILTER (WHERE bucket = 'held'), 0) AS held_cents,
         coalesce(-sum(amount_cents) FILTER (WHERE bucket = 'debt'), 0) AS debt_cents,
         coalesce(max(created_at), OLD.last_entry_at, '-infinity') AS last_entry_at
    INTO expected
    FROM ledger_entries
   WHERE user_id = NEW.user_id AND version > coalesce(OLD.version, 0) AND version <= NEW.version;
  IF coalesce(OLD.user_id, NEW.user_id) <> NEW.user_id
     OR NEW.version - coalesce(OLD.version, 0) <> expected.versions
     OR NEW.available_cents - coalesce(OLD.available_cents, 0) <> expected.available_cents
     OR NEW.held_cents - coalesce(OLD.held_cents, 0) <> expected.held_cents
     OR NEW.debt_cents - coalesce(OLD.debt_cents, 0) <> expected.debt_cents
     OR NEW.last_entry_at <> expected.last_entry_at THEN
    RAISE EXCEPTION 'this change to the wallet of user % does not match its ledger entries', NEW.user_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'wallets_equal_entries';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER wallets_equal_entries AFTER INSERT OR UPDATE ON wallets
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ledger_check_wallet();
ALTER TABLE wallets ENABLE ALWAYS TRIGGER wallets_equal_entries;

-- ---------------------------------------------------------------- movements to and from the outside world

-- Claims an external reference permanently. Returns the new transfer's id, or null if the same movement was booked
-- before; using a reference again for a different movement is an error.
CREATE FUNCTION ledger_claim_reference(p_external_ref text, p_fingerprint text) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  transfer uuid := uuid_v7();
  earlier text;
BEGIN
  INSERT INTO ledger_transfers (id, external_ref, fingerprint) VALUES (transfer, p_external_ref, p_fingerprint)
  ON CONFLICT (external_ref) WHERE external_ref IS NOT NULL DO NOTHING;
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

-- Moves money between the outside world and `available`: a positive amount comes in (topup, payout_reversal), a negative
-- one goes out (payout). Returns the id of the user's entry, or null if p_external_ref was booked before.
CREATE FUNCTION ledger_exchange(p_user uuid, p_kind text, p_amount bigint, p_external_ref text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  transfer uuid := ledger_claim_reference(p_external_ref, concat_ws(' ', p_kind, p_user, p_amount));
  entry uuid;
BEGIN
  IF transfer IS NULL THEN
    RETURN NULL;
  END IF;
  WITH written AS (
    INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents)
    VALUES (transfer, p_user, p_kind, 'available', p_amount), (transfer, NULL, p_kind, 'outside', -p_amount)
    RETURNING id, bucket
  )
  SELECT id INTO entry FROM written WHERE bucket = 'available';
  RETURN entry;
END $$;

-- Reverses a top-up (topup_refund, chargeback): takes what is available and records the rest as a debt, which later
-- credits pay first. Returns the transfer's id, or null if p_external_ref was booked before.
CREATE FUNCTION ledger_claw_back(p_user uuid, p_kind text, p_amount bigint, p_external_ref text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  transfer uuid := ledger_claim_reference(p_external_ref, concat_ws(' ', p_kind, p_user, p_amount));
  taken bigint;
BEGIN
  IF transfer IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT least(available_cents, p_amount) INTO taken FROM wallets WHERE user_id = p_user FOR NO KEY UPDATE;
  taken := coalesce(taken, 0);
  INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents)
  SELECT transfer, side.user_id, p_kind, side.bucket, side.amount_cents
    FROM (VALUES (p_user, 'available', -taken), (p_user, 'debt', taken - p_amount), (NULL, 'outside', p_amount))
         side (user_id, bucket, amount_cents)
   WHERE side.amount_cents <> 0;
  RETURN transfer;
END $$;

-- ---------------------------------------------------------------- debts

-- At commit, money that became available pays what the user owes, the oldest debt first. Each payment is an `adjustment`.
-- Its reference contains the movement that caused the debt and the wallet's version, because one debt may be paid in
-- several parts.
CREATE FUNCTION ledger_pay_debt() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  wallet wallets;
  debt record;
  transfer uuid;
  paid bigint;
BEGIN
  LOOP
    SELECT * INTO wallet FROM wallets WHERE user_id = NEW.user_id;
    EXIT WHEN wallet.available_cents = 0 OR wallet.debt_cents = 0;
    -- The total paid so far covers the oldest debts; the first one that it does not fully cover is next.
    SELECT d.owed_until_cents - p.paid_cents AS left_cents, t.external_ref INTO debt
      FROM (SELECT transfer_id, version, -sum(amount_cents) OVER (ORDER BY version) AS owed_until_cents
              FROM ledger_entries WHERE user_id = NEW.user_id AND bucket = 'debt' AND amount_cents < 0) d
      CROSS JOIN (SELECT coalesce(sum(amount_cents), 0) AS paid_cents
                    FROM ledger_entries WHERE user_id = NEW.user_id AND bucket = 'debt' AND amount_cents > 0) p
      JOIN ledger_transfers t ON t.id = d.transfer_id
     WHERE d.owed_until_cents > p.paid_cents ORDER BY d.version LIMIT 1;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'user % owes % cents, but the ledger entries show no debt', NEW.user_id, wallet.debt_cents;
    END IF;
    paid := least(wallet.available_cents, debt.left_cents);
    transfer := uuid_v7();
    INSERT INTO ledger_transfers (id, external_ref)
    VALUES (transfer, concat('debt:', debt.external_ref, ':', wallet.version));
    INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents)
    VALUES (transfer, NEW.user_id, 'adjustment', 'available', -paid), (transfer, NEW.user_id, 'adjustment', 'debt', paid);
  END LOOP;
  RETURN NULL;
END $$;
-- Depth 1 is the trigger of an ordinary entry. The entries of a debt payment are nested deeper and must not fire it again.
CREATE CONSTRAINT TRIGGER wallets_pay_debt AFTER UPDATE ON wallets DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.available_cents > 0 AND NEW.debt_cents > 0 AND pg_trigger_depth() = 1) EXECUTE FUNCTION ledger_pay_debt();

-- ---------------------------------------------------------------- audits

-- The results of the nightly audit.
CREATE TABLE ledger_audits (
  id            uuid PRIMARY KEY DEFAULT uuid_v7(),
  discrepancies integer NOT NULL,
  report        jsonb NOT NULL,
  finished_at   timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ledger_audits_finished_idx ON ledger_audits (finished_at DESC);
