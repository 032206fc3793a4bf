-- Disputes and ratings.

-- ---------------------------------------------------------------- disputes

CREATE TABLE disputes (
  id           uuid PRIMARY KEY DEFAULT uuid_v7(),
  task_id      uuid NOT NULL REFERENCES tasks (id),
  opened_by    text NOT NULL,
  reason       text NOT NULL,
  status       text NOT NULL DEFAULT 'open',
  resolution   text,
  buyer_cents  integer,
  bidder_cents integer,
  note         text,
  resolved_by  uuid REFERENCES users (id),
  created_at   timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  resolved_at  timestamptz(6),
  -- A task leaves `delivered` only once, so it has at most one dispute.
  CONSTRAINT disputes_task_id_key UNIQUE (task_id),
  CONSTRAINT disputes_feed_key UNIQUE (created_at),
  CONSTRAINT disputes_opened_by_known CHECK (opened_by IN ('buyer', 'bidder')),
  CONSTRAINT disputes_status_known CHECK (status IN ('open', 'resolved')),
  CONSTRAINT disputes_resolution_known CHECK (resolution IN ('refund', 'release', 'split')),
  CONSTRAINT disputes_cents_not_negative CHECK (buyer_cents >= 0 AND bidder_cents >= 0),
  CONSTRAINT disputes_resolved_complete CHECK (
    (status = 'resolved') = (resolution IS NOT NULL)
    AND (status = 'resolved') = (buyer_cents IS NOT NULL)
    AND (status = 'resolved') = (bidder_cents IS NOT NULL)
    AND (status = 'resolved') = (resolved_at IS NOT NULL)
  )
);
COMMENT ON COLUMN disputes.resolved_by IS 'the moderator; null if it was resolved from the command line';
CREATE INDEX disputes_status_idx ON disputes (status, created_at);

-- ---------------------------------------------------------------- ratings

CREATE TABLE ratings (
  id         uuid PRIMARY KEY DEFAULT uuid_v7(),
  task_id    uuid NOT NULL REFERENCES tasks (id),
  rater_id   uuid NOT NULL REFERENCES users (id),
  ratee_id   uuid NOT NULL REFERENCES users (id),
  role       text NOT NULL,
  stars      smallint NOT NULL,
  comment    text,
  created_at timestamptz(6) NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT ratings_once_key UNIQUE (task_id, rater_id),
  CONSTRAINT ratings_not_of_oneself CHECK (rater_id <> ratee_id),
  CONSTRAINT ratings_role_known CHECK (role IN ('buyer', 'bidder')),
  CONSTRAINT ratings_stars_known CHECK (stars BETWEEN 1 AND 5)
);
COMMENT ON COLUMN ratings.role IS 'the side that was rated';
