-- A wallet is what its entries add up to, by construction: the insert of an entry is what changes the wallet, and the
-- entry takes its balance, version and time from there. A movement of money is then nothing but its entries.
CREATE FUNCTION ledger_apply_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Of all that is unique of an entry, nothing may come from the statement: with ON CONFLICT DO NOTHING a conflict would
  -- leave out the entry after it has changed the wallet.
  NEW.id := uuid_v7();
  LOOP
    UPDATE wallets
       SET available_cents = available_cents + CASE NEW.bucket WHEN 'available' THEN NEW.amount_cents ELSE 0 END,
           held_cents = held_cents + CASE NEW.bucket WHEN 'held' THEN NEW.amount_cents ELSE 0 END,
           debt_cents = debt_cents - CASE NEW.bucket WHEN 'debt' THEN NEW.amount_cents ELSE 0 END,
           version = version + 1,
           last_entry_at = greatest(clock_timestamp(), last_entry_at + interval '1 microsecond')
     WHERE user_id = NEW.user_id
     RETURNING CASE NEW.bucket WHEN 'available' THEN available_cents WHEN 'held' THEN held_cents ELSE -debt_cents END,
               version, last_entry_at
      INTO NEW.balance_after_cents, NEW.version, NEW.created_at;
    IF FOUND THEN
      RETURN NEW;
    END IF;
    -- The first entry makes the wallet. Nearly every wallet is there, so the update is tried first.
    INSERT INTO wallets (user_id) VALUES (NEW.user_id) ON CONFLICT DO NOTHING;
  END LOOP;
END $$;
-- Not for a session that replays as a replica: the wallet's change is replayed there, too.
CREATE TRIGGER ledger_entries_change_wallet BEFORE INSERT ON ledger_entries
  FOR EACH ROW WHEN (NEW.user_id IS NOT NULL) EXECUTE FUNCTION ledger_apply_entry();
ALTER TABLE ledger_entries ALTER COLUMN created_at SET DEFAULT clock_timestamp();
-- The wallet that the entry changes is the proof that the user exists; a foreign key would look a second time.
ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_user_id_fkey;

-- Only a change that no entry made is still to be compared with the entries: one by hand, which is refused, or one that
-- is replayed together with its entries.
CREATE OR REPLACE FUNCTION ledger_check_wallet() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  told record;
BEGIN
  -- OLD is null for a new wallet, which begins at version 0 with nothing.
  SELECT count(*) AS versions,
         coalesce(sum(amount_cents) FILTER (WHERE bucket = 'available'), 0) AS available_cents,
         coalesce(sum(amount_cents) FILTER (WHERE bucket = 'held'), 0) AS held_cents,
         coalesce(-sum(amount_cents) FILTER (WHERE bucket = 'debt'), 0) AS debt_cents,
         coalesce(max(created_at), OLD.last_entry_at, '-infinity') AS last_entry_at
    INTO told
    FROM ledger_entries
   WHERE user_id = NEW.user_id AND version > coalesce(OLD.version, 0) AND version <= NEW.version;
  IF coalesce(OLD.user_id, NEW.user_id) <> NEW.user_id
     OR NEW.version - coalesce(OLD.version, 0) <> told.versions
     OR NEW.available_cents - coalesce(OLD.available_cents, 0) <> told.available_cents
     OR NEW.held_cents - coalesce(OLD.held_cents, 0) <> told.held_cents
     OR NEW.debt_cents - coalesce(OLD.debt_cents, 0) <> told.debt_cents
     OR NEW.last_entry_at <> told.last_entry_at THEN
    RAISE EXCEPTION 'the entries of user % do not tell this change of the wallet', NEW.user_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'wallets_equal_entries';
  END IF;
  RETURN NULL;
END $$;
DROP TRIGGER wallets_equal_entries ON wallets;
CREATE CONSTRAINT TRIGGER wallets_equal_entries AFTER INSERT OR UPDATE ON wallets
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ledger_check_wallet();
ALTER TABLE wallets ENABLE ALWAYS TRIGGER wallets_equal_entries;

-- Zero-sum, as before; nothing is added up for the message unless there is one.
CREATE OR REPLACE FUNCTION ledger_check_balanced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM added GROUP BY transfer_id HAVING sum(amount_cents) <> 0) THEN
    RAISE EXCEPTION 'ledger transfers do not balance: %', (
      SELECT string_agg(format('%s by %s cents', transfer_id, cents), ', ')
        FROM (SELECT transfer_id, sum(amount_cents) AS cents FROM added GROUP BY transfer_id) total WHERE cents <> 0)
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_entries_balanced';
  END IF;
  RETURN NULL;
END $$;

-- A table's check is read anew from its text by each statement, a domain's once a connection: over a tenth of a movement.
CREATE DOMAIN ledger_kind AS text CONSTRAINT ledger_entries_kind_known CHECK (VALUE IN (
  'topup', 'hold', 'hold_release', 'task_payment', 'task_earning', 'dispute_refund', 'payout', 'payout_reversal',
  'topup_refund', 'chargeback', 'adjustment'));
CREATE DOMAIN ledger_bucket AS text CONSTRAINT ledger_entries_bucket_known CHECK (VALUE IN (
  'available', 'held', 'debt', 'outside'));
ALTER TABLE ledger_entries
  DROP CONSTRAINT ledger_entries_kind_known, ALTER COLUMN kind TYPE ledger_kind,
  DROP CONSTRAINT ledger_entries_bucket_known, ALTER COLUMN bucket TYPE ledger_bucket;

-- Nearly all movements have no external reference: those need no place in its index.
ALTER TABLE ledger_transfers DROP CONSTRAINT ledger_transfers_external_ref_key;
CREATE UNIQUE INDEX ledger_transfers_external_ref_key ON ledger_transfers (external_ref) WHERE external_ref IS NOT NULL;

-- Within the market a movement is one INSERT (server/ledger/ledger.ts). With the world outside it is a function, since it
-- must happen once for ever.
DROP FUNCTION ledger_shift(uuid, text, bigint, uuid, uuid);
DROP FUNCTION ledger_pay(uuid, uuid, bigint, uuid, uuid);
DROP FUNCTION ledger_credit_wallet(uuid, bigint);

-- Remembers an external reference for ever. Returns the new transfer's id, or null when the very same movement was made
-- before; the same reference for another movement is an error.
CREATE OR REPLACE FUNCTION ledger_claim_reference(p_external_ref text, p_fingerprint text, p_task uuid, p_bid uuid)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  transfer uuid := uuid_v7();
  earlier text;
BEGIN
  INSERT INTO ledger_transfers (id, task_id, bid_id, external_ref, fingerprint)
  VALUES (transfer, p_task, p_bid, p_external_ref, p_fingerprint)
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

-- Between the world outside and `available`: a positive amount comes in (topup, payout_reversal), a negative one
-- leaves (payout). Returns the id of the user's entry, or null when p_external_ref has been booked before.
CREATE OR REPLACE FUNCTION ledger_exchange(p_user uuid, p_kind text, p_amount bigint, p_external_ref text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  transfer uuid := ledger_claim_reference(p_external_ref, concat_ws(' ', p_kind, p_user, p_amount), NULL, NULL);
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

-- Takes back a top-up (topup_refund, chargeback): what is available goes out, the rest becomes a debt that the next
-- credits pay. Returns the transfer's id, or null when p_external_ref has been booked before.
CREATE OR REPLACE FUNCTION ledger_claw_back(p_user uuid, p_kind text, p_amount bigint, p_external_ref text)
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  transfer uuid := ledger_claim_reference(p_external_ref, concat_ws(' ', p_kind, p_user, p_amount), NULL, NULL);
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

-- What becomes available pays what the user owes, at the commit, the oldest debt first. Each payment is an `adjustment`
-- whose reference names the movement that left the debt, and the wallet's version, since one debt may be paid in parts.
DROP FUNCTION ledger_pay_debt(uuid);
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
    -- What has been paid in all covers the oldest debts; the first that it does not cover is next.
    SELECT d.owed_until_cents - p.paid_cents AS left_cents, t.external_ref, t.task_id, t.bid_id INTO debt
      FROM (SELECT transfer_id, version, -sum(amount_cents) OVER (ORDER BY version) AS owed_until_cents
              FROM ledger_entries WHERE user_id = NEW.user_id AND bucket = 'debt' AND amount_cents < 0) d
      CROSS JOIN (SELECT coalesce(sum(amount_cents), 0) AS paid_cents
                    FROM ledger_entries WHERE user_id = NEW.user_id AND bucket = 'debt' AND amount_cents > 0) p
      JOIN ledger_transfers t ON t.id = d.transfer_id
     WHERE d.owed_until_cents > p.paid_cents ORDER BY d.version LIMIT 1;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'user % owes % cents, but the entries show no debt', NEW.user_id, wallet.debt_cents;
    END IF;
    paid := least(wallet.available_cents, debt.left_cents);
    transfer := uuid_v7();
    INSERT INTO ledger_transfers (id, task_id, bid_id, external_ref)
    VALUES (transfer, debt.task_id, debt.bid_id, concat('debt:', debt.external_ref, ':', wallet.version));
    INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents)
    VALUES (transfer, NEW.user_id, 'adjustment', 'available', -paid), (transfer, NEW.user_id, 'adjustment', 'debt', paid);
  END LOOP;
  RETURN NULL;
END $$;
-- Depth 1 is an entry's own trigger; the payment's entries lie deeper, and need not ask again.
CREATE CONSTRAINT TRIGGER wallets_pay_debt AFTER UPDATE ON wallets DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.available_cents > 0 AND NEW.debt_cents > 0 AND pg_trigger_depth() = 1) EXECUTE FUNCTION ledger_pay_debt();
