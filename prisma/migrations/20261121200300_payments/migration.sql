-- Money that comes in and goes out through the payment processor: top-ups, payouts, and the processor's events.

-- ---------------------------------------------------------------- top-ups

CREATE TABLE topups (
  id                uuid PRIMARY KEY DEFAULT uuid_v7(),
  user_id           uuid NOT NULL REFERENCES users (id),
  amount_cents      integer NOT NULL,
  currency          text NOT NULL,
  status            text NOT NULL DEFAULT 'created',
  session_id        text,
  payment_intent_id text,
  expires_at        timestamptz(6),
  success_url       text NOT NULL,
  cancel_url        text NOT NULL,
  next_check_at     timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  created_at        timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  updated_at        timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT topups_session_id_key UNIQUE (session_id),
  CONSTRAINT topups_payment_intent_id_key UNIQUE (payment_intent_id),
  CONSTRAINT topups_amount_positive CHECK (amount_cents > 0),
  CONSTRAINT topups_status_known CHECK (status IN ('created', 'processing', 'paid', 'failed', 'expired'))
);
COMMENT ON COLUMN topups.success_url IS
  'with cancel_url, a parameter of the call that opens the checkout page, kept to repeat it with the same key';
COMMENT ON COLUMN topups.next_check_at IS 'when to ask the processor about an unsettled top-up next';
CREATE INDEX topups_next_check_idx ON topups (next_check_at) WHERE status IN ('created', 'processing');

-- ---------------------------------------------------------------- payouts

-- A user's connected account. The row is written before the processor is asked to create the account: its stored key and
-- parameters ensure that only one account is created, however often and by whichever process the call is repeated.
CREATE TABLE payout_accounts (
  user_id         uuid PRIMARY KEY REFERENCES users (id),
  idempotency_key text NOT NULL,
  key_created_at  timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
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
COMMENT ON COLUMN payout_accounts.key_created_at IS
  'the age of idempotency_key: the processor forgets old keys, and a call with a forgotten one would create a second account';
COMMENT ON COLUMN payout_accounts.active IS 'whether transfers and payouts were both enabled when last fetched';
COMMENT ON COLUMN payout_accounts.revision IS
  'the number of writes to `active`: a state that was fetched before another write is stale and is fetched again';

-- account_id, amount_cents and currency never change, because they are parameters of every call for the payout.
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
  failure_code        text,
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
    CHECK (state IN ('created', 'unfunded', 'transferred', 'settling', 'sent', 'paid', 'returning', 'failed')),
  CONSTRAINT payouts_key_has_age CHECK ((idempotency_key IS NULL) = (key_created_at IS NULL)),
  CONSTRAINT payouts_paid_has_time CHECK (state <> 'paid' OR paid_at IS NOT NULL)
);
COMMENT ON COLUMN payouts.failure_code IS 'as the processor reports it; the message for the user is written when it is read';
COMMENT ON COLUMN payouts.idempotency_key IS
  'of the call whose outcome is not yet known; null between calls. It changes only after a definite refusal';
COMMENT ON COLUMN payouts.next_step_at IS
  'when the next step is due; a step in progress postpones it, so that no other process takes the same step';
CREATE INDEX payouts_next_step_idx ON payouts (next_step_at) WHERE next_step_at IS NOT NULL;

-- ---------------------------------------------------------------- the processor's events

-- The inbox: one row per event, however often it is delivered. An event that cannot be applied is tried again at growing
-- intervals and does not hold up the others.
CREATE TABLE processor_events (
  id              text PRIMARY KEY,
  type            text NOT NULL,
  payload         jsonb NOT NULL,
  received_at     timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  processed_at    timestamptz(6),
  outcome         text,
  attempts        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(6) NOT NULL DEFAULT clock_timestamp() + interval '5 seconds'
);
CREATE INDEX processor_events_unprocessed_idx ON processor_events (next_attempt_at) WHERE processed_at IS NULL;

-- How far the processor's own list of events has been read, to catch events that were never delivered. A single row.
CREATE TABLE processor_event_reads (
  id           boolean PRIMARY KEY DEFAULT true CHECK (id),
  read_until   timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  next_read_at timestamptz(6) NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO processor_event_reads DEFAULT VALUES;
