-- Tasks, bids, and the files that belong to bids.
--
-- Clients page through lists with `created_at` as the cursor, so no two rows of one list may share it. A unique constraint
-- named <table>_feed_key on each such table guarantees this. Timestamps come from the database's clock, in microseconds,
-- so ties are rare; when one happens, the transaction runs again. See server/store/cursorLists.ts.

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
  -- What the search compares a query with: composed characters in a single case. Uppercasing after lowercasing unifies
  -- letters with several lowercase forms, such as the two sigmas of Greek. Folding a title takes 3 µs and comparing a
  -- folded one 0.1 µs, so it is done once, on write.
  folded_title           text NOT NULL GENERATED ALWAYS AS (upper(lower(normalize(title)))) STORED,
  CONSTRAINT tasks_feed_key UNIQUE (created_at),
  CONSTRAINT tasks_budget_positive CHECK (max_budget_cents > 0),
  CONSTRAINT tasks_bid_count_not_negative CHECK (bid_count >= 0),
  CONSTRAINT tasks_status_known
    CHECK (status IN ('open', 'awarded', 'delivered', 'accepted', 'cancelled', 'disputed', 'resolved', 'expired')),
  CONSTRAINT tasks_awarded_complete CHECK (
    (awarded_bid_id IS NULL) = (awarded_bidder_id IS NULL)
    AND (awarded_bid_id IS NULL) = (status IN ('open', 'cancelled'))
  )
);
-- One index for each list of tasks: the public feed, the tasks a user posted, and those a user was awarded.
CREATE INDEX tasks_feed_idx ON tasks (status, created_at DESC);
CREATE INDEX tasks_buyer_idx ON tasks (buyer_id, created_at DESC);
CREATE INDEX tasks_awarded_bidder_idx ON tasks (awarded_bidder_id, created_at DESC) WHERE awarded_bidder_id IS NOT NULL;
-- For the sweeps that enforce deadlines. Few tasks are in these states, so both stay small however large the table grows.
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
  CONSTRAINT bids_feed_key UNIQUE (created_at),
  CONSTRAINT bids_price_positive CHECK (price_cents > 0),
  CONSTRAINT bids_status_known CHECK (status IN ('active', 'withdrawn', 'rejected', 'awarded'))
);
CREATE UNIQUE INDEX bids_one_active_key ON bids (task_id, bidder_id) WHERE status = 'active';
CREATE INDEX bids_task_idx ON bids (task_id, created_at DESC);
CREATE INDEX bids_bidder_idx ON bids (bidder_id, created_at DESC);

ALTER TABLE tasks ADD CONSTRAINT tasks_awarded_bid_id_fkey FOREIGN KEY (awarded_bid_id) REFERENCES bids (id);

-- A file that a bidder has announced and may upload.
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

-- A finalised upload. A bid has any number of samples and at most one delivery.
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
  'a copy of the upload that no upload URL can reach, so its bytes can no longer change';
CREATE UNIQUE INDEX artifacts_one_delivery_key ON artifacts (bid_id) WHERE kind = 'delivery';
CREATE INDEX artifacts_task_idx ON artifacts (task_id, created_at);
