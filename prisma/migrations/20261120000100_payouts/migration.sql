-- Payouts and the connected accounts that they go to; what polling and recovery need to know of top-ups; workers that
-- show they are alive; what the ledger's audit found.

-- One row a user, before the processor is asked for the account: the stored key and parameters make the account exist
-- once, however often and from wherever its creation is tried.
CREATE TABLE payout_accounts (
  user_id         uuid PRIMARY KEY REFERENCES users (id),
  idempotency_key text NOT NULL,
  email           text NOT NULL,
  display_name    text NOT NULL,
  account_id      text,
  active          boolean NOT NULL DEFAULT false,
  revision        integer NOT NULL DEFAULT 0,
  created_at      timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  updated_at      timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT payout_accounts_account_id_key UNIQUE (account_id),
  CONSTRAINT payout_accounts_active_exists CHECK (account_id IS NOT NULL OR NOT active)
);
COMMENT ON COLUMN payout_accounts.active IS 'transfers and payouts are both possible, as last fetched';
COMMENT ON COLUMN payout_accounts.revision IS 'counts the writes of `active`: a state fetched before another write is fetched again';

-- account_id, amount_cents and currency never change: they are the parameters of every call for this payout.
CREATE TABLE payouts (
  id                  uuid PRIMARY KEY DEFAULT uuid_v7(),
  user_id             uuid NOT NULL REFERENCES users (id),
  account_id          text NOT NULL,
  amount_cents        integer NOT NULL,
  currency            text NOT NULL,
  ledger_entry_id     uuid NOT NULL REFERENCES ledger_entries (id),
  state               text NOT NULL DEFAULT 'created',
  transfer_id         text,
  processor_payout_id text,
  failure_message     text,
  idempotency_key     text,
  key_created_at      timestamptz(6),
  attempts            integer NOT NULL DEFAULT 0,
  next_step_at        timestamptz(6),
  paid_at             timestamptz(6),
  created_at          timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  updated_at          timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT payouts_feed_key UNIQUE (user_id, created_at),
  CONSTRAINT payouts_ledger_entry_id_key UNIQUE (ledger_entry_id),
  CONSTRAINT payouts_transfer_id_key UNIQUE (transfer_id),
  CONSTRAINT payouts_processor_payout_id_key UNIQUE (processor_payout_id),
  CONSTRAINT payouts_idempotency_key_key UNIQUE (idempotency_key),
  CONSTRAINT payouts_amount_positive CHECK (amount_cents > 0),
  CONSTRAINT payouts_state_known
    CHECK (state IN ('created', 'unfunded', 'transferred', 'sent', 'paid', 'returning', 'failed')),
  CONSTRAINT payouts_key_has_age CHECK ((idempotency_key IS NULL) = (key_created_at IS NULL)),
  CONSTRAINT payouts_paid_has_time CHECK (state <> 'paid' OR paid_at IS NOT NULL)
);
COMMENT ON COLUMN payouts.idempotency_key IS
  'of the call whose outcome is not known yet; null between calls. It changes only after a definite refusal';
COMMENT ON COLUMN payouts.next_step_at IS
  'when the next step is due; a step under way moves it ahead, so that no other process takes the same step';
CREATE INDEX payouts_next_step_idx ON payouts (next_step_at) WHERE next_step_at IS NOT NULL;

-- The parameters of the call that opens the checkout page, for its repetition with the same key; when to ask next.
ALTER TABLE topups
  ADD COLUMN success_url text NOT NULL DEFAULT '',
  ADD COLUMN cancel_url text NOT NULL DEFAULT '',
  ADD COLUMN next_check_at timestamptz(6) NOT NULL DEFAULT clock_timestamp();
CREATE INDEX topups_next_check_idx ON topups (next_check_at) WHERE status IN ('created', 'processing');

-- An event that could not be applied is tried again later and later, and does not hold up the others.
ALTER TABLE processor_events
  ADD COLUMN attempts integer NOT NULL DEFAULT 0,
  ADD COLUMN next_attempt_at timestamptz(6) NOT NULL DEFAULT clock_timestamp() + interval '5 seconds';
DROP INDEX processor_events_unprocessed_idx;
CREATE INDEX processor_events_unprocessed_idx ON processor_events (next_attempt_at) WHERE processed_at IS NULL;

-- How far the processor's own list of events has been read, for those that were never delivered. One row.
CREATE TABLE processor_event_reads (
  id           boolean PRIMARY KEY DEFAULT true CHECK (id),
  read_until   timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  next_read_at timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO processor_event_reads DEFAULT VALUES;

-- Workers that live say so here. The jobs of one that stopped saying so are given to the others.
CREATE TABLE job_workers (
  worker_id text PRIMARY KEY,
  seen_at   timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE ledger_audits (
  id                uuid PRIMARY KEY DEFAULT uuid_v7(),
  discrepancies     integer NOT NULL,
  report            jsonb NOT NULL,
  finished_at       timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ledger_audits_finished_idx ON ledger_audits (finished_at DESC);

-- Pays what a user owes out of what is available, the oldest debt first. Each payment is an `adjustment` whose reference
-- names the movement that left the debt, and the wallet's version, since one debt may be paid in several parts.
CREATE OR REPLACE FUNCTION ledger_pay_debt(p_user uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  wallet wallets;
  debt record;
  transfer uuid;
  paid bigint;
BEGIN
  LOOP
    SELECT * INTO wallet FROM wallets WHERE user_id = p_user FOR NO KEY UPDATE;
    EXIT WHEN NOT FOUND OR wallet.available_cents = 0 OR wallet.debt_cents = 0;
    -- What has been paid in all covers the oldest debts; the first that it does not cover is next.
    SELECT d.owed_until_cents - p.paid_cents AS left_cents, t.external_ref, t.task_id, t.bid_id INTO debt
      FROM (SELECT transfer_id, version, -sum(amount_cents) OVER (ORDER BY version) AS owed_until_cents
              FROM ledger_entries WHERE user_id = p_user AND bucket = 'debt' AND amount_cents < 0) d
      CROSS JOIN (SELECT coalesce(sum(amount_cents), 0) AS paid_cents
                    FROM ledger_entries WHERE user_id = p_user AND bucket = 'debt' AND amount_cents > 0) p
      JOIN ledger_transfers t ON t.id = d.transfer_id
     WHERE d.owed_until_cents > p.paid_cents ORDER BY d.version LIMIT 1;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'user % owes % cents, but the entries show no debt', p_user, wallet.debt_cents;
    END IF;
    paid := least(wallet.available_cents, debt.left_cents);
    UPDATE wallets
       SET available_cents = available_cents - paid, debt_cents = debt_cents - paid, version = version + 2,
           last_entry_at = greatest(clock_timestamp(), last_entry_at + interval '1 microsecond') + interval '1 microsecond'
     WHERE user_id = p_user RETURNING * INTO wallet;
    transfer := uuid_v7();
    INSERT INTO ledger_transfers (id, task_id, bid_id, external_ref, created_at)
    VALUES (transfer, debt.task_id, debt.bid_id, concat('debt:', debt.external_ref, ':', wallet.version), wallet.last_entry_at);
    INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents, balance_after_cents, version, created_at)
    VALUES (transfer, p_user, 'adjustment', 'available', -paid, wallet.available_cents, wallet.version - 1,
            wallet.last_entry_at - interval '1 microsecond'),
           (transfer, p_user, 'adjustment', 'debt', paid, -wallet.debt_cents, wallet.version, wallet.last_entry_at);
  END LOOP;
END $$;
