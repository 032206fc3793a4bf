-- One clock for the whole service: every time that the service records or compares comes from `service_now()`.
--
-- Here it is `clock_timestamp()`, and Postgres inlines it, so it costs nothing. The embedded database of a developer
-- replaces it by one that a test can move forward (server/store/testClock.ts), which is why nothing else in the schema
-- may ask for the time; test/store/serviceClock.test.ts lists the exceptions.
CREATE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT clock_timestamp()';

COMMENT ON FUNCTION service_now() IS
  'The service''s time. Like clock_timestamp(), it advances during a statement: use (SELECT service_now()) where an index is to look for it.';

-- The job queue goes by real time. This is when a time of the service comes, if nobody moves its clock.
CREATE FUNCTION real_time_of(at timestamptz) RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT at';

ALTER TABLE account_tokens ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE api_keys ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE artifacts ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE bids ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE bids ALTER COLUMN updated_at SET DEFAULT service_now();
ALTER TABLE disputes ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE events ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE idempotency_keys ALTER COLUMN expires_at SET DEFAULT service_now() + interval '24 hours';
ALTER TABLE ledger_audits ALTER COLUMN finished_at SET DEFAULT service_now();
ALTER TABLE ledger_entries ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE ledger_transfers ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE moderation_actions ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE payout_accounts ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE payout_accounts ALTER COLUMN updated_at SET DEFAULT service_now();
ALTER TABLE payouts ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE payouts ALTER COLUMN updated_at SET DEFAULT service_now();
ALTER TABLE processor_event_reads ALTER COLUMN next_read_at SET DEFAULT service_now();
ALTER TABLE processor_event_reads ALTER COLUMN read_until SET DEFAULT service_now();
ALTER TABLE processor_events ALTER COLUMN next_attempt_at SET DEFAULT service_now() + interval '5 seconds';
ALTER TABLE processor_events ALTER COLUMN received_at SET DEFAULT service_now();
ALTER TABLE ratings ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE sessions ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE sessions ALTER COLUMN ends_at SET DEFAULT service_now() + interval '90 days';
ALTER TABLE sessions ALTER COLUMN last_seen_at SET DEFAULT service_now();
ALTER TABLE tasks ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE tasks ALTER COLUMN updated_at SET DEFAULT service_now();
ALTER TABLE topups ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE topups ALTER COLUMN next_check_at SET DEFAULT service_now();
ALTER TABLE topups ALTER COLUMN updated_at SET DEFAULT service_now();
ALTER TABLE totp_factors ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE uploads ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE users ALTER COLUMN created_at SET DEFAULT service_now();
ALTER TABLE webhook_endpoints ALTER COLUMN created_at SET DEFAULT service_now();

-- As before, but for the clock.
CREATE OR REPLACE FUNCTION ledger_apply_entry() RETURNS trigger LANGUAGE plpgsql AS $$
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
           last_entry_at = greatest(service_now(), last_entry_at + interval '1 microsecond')
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

-- The time in an id is the service's too. Postgres 18 generates ids itself, and shifts them where a clock is moved.
DO $$
BEGIN
  IF current_setting('server_version_num')::int < 180000 THEN
    CREATE OR REPLACE FUNCTION uuid_v7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $expression$
      SELECT (lpad(to_hex((extract(epoch FROM service_now()) * 1000)::bigint), 12, '0')
              || '-7' || substr(gen_random_uuid()::text, 16))::uuid
    $expression$;
  END IF;
END $$;
