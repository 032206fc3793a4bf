-- Rounds of changes, agreements, and giving back: a task ends in one of the same statuses as before, in more ways.

-- ---------------------------------------------------------------- tasks

ALTER TABLE tasks
  ADD COLUMN revisions         smallint NOT NULL DEFAULT 0,
  ADD COLUMN revisions_used    smallint NOT NULL DEFAULT 0,
  ADD COLUMN delivered_on_time boolean,
  ADD COLUMN closed_because    text,
  ADD CONSTRAINT tasks_revisions_bounded CHECK (revisions BETWEEN 0 AND 5 AND revisions_used BETWEEN 0 AND revisions),
  ADD CONSTRAINT tasks_closed_because_known CHECK (closed_because IN ('cancelled', 'agreed', 'given_back')),
  ADD CONSTRAINT tasks_closed_because_in_end CHECK (closed_because IS NULL OR status IN ('cancelled', 'resolved')),
  -- A delivery once made keeps standing: whoever has one is paid, unless both sides or a moderator decide otherwise.
  ADD CONSTRAINT tasks_delivered_never_expire CHECK (status <> 'expired' OR delivered_at IS NULL);
COMMENT ON COLUMN tasks.revisions_used IS
  'the rounds of changes that the buyer has asked for; an awarded task with a delivered_at is in one, until delivery_due_at';
COMMENT ON COLUMN tasks.delivered_on_time IS
  'of the first delivery, kept when a round of changes sets another due time; null before the first round';
COMMENT ON COLUMN tasks.closed_because IS 'null for a task that was cancelled before this column existed';

-- An award can be undone by both sides, or by the bidder.
ALTER TABLE tasks DROP CONSTRAINT tasks_awarded_complete;
ALTER TABLE tasks ADD CONSTRAINT tasks_awarded_complete CHECK (
  (awarded_bid_id IS NULL) = (awarded_bidder_id IS NULL)
  AND (awarded_bid_id IS NULL OR status <> 'open')
  AND (awarded_bid_id IS NOT NULL OR status IN ('open', 'cancelled'))
);
-- For the sweep that ends rounds; those without a delivery wait much longer, and are in tasks_delivery_due_idx as well.
CREATE INDEX tasks_changes_due_idx ON tasks (delivery_due_at) WHERE status = 'awarded' AND delivered_at IS NOT NULL;

CREATE TABLE change_rounds (
  id              uuid PRIMARY KEY DEFAULT uuid_v7(),
  task_id         uuid NOT NULL REFERENCES tasks (id),
  round           smallint NOT NULL,
  reason          text NOT NULL,
  created_at      timestamptz(6) NOT NULL DEFAULT service_now(),
  due_at          timestamptz(6) NOT NULL,
  declined_by     text,
  declined_reason text,
  ended_at        timestamptz(6),
  CONSTRAINT change_rounds_once_key UNIQUE (task_id, round),
  CONSTRAINT change_rounds_round_known CHECK (round BETWEEN 1 AND 5),
  CONSTRAINT change_rounds_declined_by_known CHECK (declined_by IN ('bidder', 'clock')),
  -- The clock gives no reason.
  CONSTRAINT change_rounds_declined_complete CHECK ((declined_reason IS NOT NULL) = (declined_by = 'bidder' IS TRUE)),
  CONSTRAINT change_rounds_declined_ended CHECK (declined_by IS NULL OR ended_at IS NOT NULL)
);

-- ---------------------------------------------------------------- deliveries

ALTER TABLE artifacts ADD COLUMN superseded_at timestamptz(6);
COMMENT ON COLUMN artifacts.superseded_at IS 'of a delivery: when the next one replaced it';
DROP INDEX artifacts_one_delivery_key;
CREATE UNIQUE INDEX artifacts_one_delivery_key ON artifacts (bid_id) WHERE kind = 'delivery' AND superseded_at IS NULL;

-- ---------------------------------------------------------------- agreements

CREATE TABLE agreements (
  id              uuid PRIMARY KEY DEFAULT uuid_v7(),
  task_id         uuid NOT NULL REFERENCES tasks (id),
  kind            text NOT NULL,
  proposed_by     text NOT NULL,
  reason          text NOT NULL,
  delivery_due_at timestamptz(6),
  bidder_cents    integer,
  status          text NOT NULL DEFAULT 'pending',
  created_at      timestamptz(6) NOT NULL DEFAULT service_now(),
  expires_at      timestamptz(6) NOT NULL,
  ended_at        timestamptz(6),
  CONSTRAINT agreements_feed_key UNIQUE (task_id, created_at),
  CONSTRAINT agreements_proposed_by_known CHECK (proposed_by IN ('buyer', 'bidder')),
  CONSTRAINT agreements_kind_complete CHECK (
    kind IN ('extend', 'cancel', 'settle')
    AND (delivery_due_at IS NOT NULL) = (kind = 'extend')
    AND (bidder_cents IS NOT NULL) = (kind = 'settle')
  ),
  CONSTRAINT agreements_cents_not_negative CHECK (bidder_cents >= 0),
  CONSTRAINT agreements_status_known CHECK (status IN ('pending', 'accepted', 'declined', 'withdrawn', 'lapsed')),
  CONSTRAINT agreements_ended_complete CHECK ((status = 'pending') = (ended_at IS NULL))
);
CREATE UNIQUE INDEX agreements_one_pending_key ON agreements (task_id) WHERE status = 'pending';
-- For the sweep.
CREATE INDEX agreements_expiry_idx ON agreements (expires_at) WHERE status = 'pending';

ALTER TABLE disputes DROP CONSTRAINT disputes_resolution_known;
ALTER TABLE disputes ADD CONSTRAINT disputes_resolution_known
  CHECK (resolution IN ('refund', 'release', 'split', 'settled'));
COMMENT ON COLUMN disputes.resolved_by IS 'the moderator; null if it was resolved from the command line, or by both sides';

-- ---------------------------------------------------------------- reputation

ALTER TABLE reputations
  ADD COLUMN buyer_tasks_ended_by_agreement  integer NOT NULL DEFAULT 0,
  ADD COLUMN bidder_tasks_ended_by_agreement integer NOT NULL DEFAULT 0,
  ADD COLUMN bidder_tasks_given_back         integer NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION reputation_add(changes reputations[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO reputations AS r
  SELECT * FROM unnest(changes) AS change WHERE change.user_id IS NOT NULL ORDER BY change.user_id
  ON CONFLICT (user_id) DO UPDATE SET
    buyer_tasks_posted     = r.buyer_tasks_posted     + excluded.buyer_tasks_posted,
    buyer_tasks_awarded    = r.buyer_tasks_awarded    + excluded.buyer_tasks_awarded,
    buyer_tasks_accepted   = r.buyer_tasks_accepted   + excluded.buyer_tasks_accepted,
    buyer_tasks_cancelled  = r.buyer_tasks_cancelled  + excluded.buyer_tasks_cancelled,
    buyer_disputes         = r.buyer_disputes         + excluded.buyer_disputes,
    buyer_disputes_lost    = r.buyer_disputes_lost    + excluded.buyer_disputes_lost,
    buyer_rating_count     = r.buyer_rating_count     + excluded.buyer_rating_count,
    buyer_rating_stars     = r.buyer_rating_stars     + excluded.buyer_rating_stars,
    bidder_tasks_awarded   = r.bidder_tasks_awarded   + excluded.bidder_tasks_awarded,
    bidder_tasks_delivered = r.bidder_tasks_delivered + excluded.bidder_tasks_delivered,
    bidder_tasks_on_time   = r.bidder_tasks_on_time   + excluded.bidder_tasks_on_time,
    bidder_tasks_accepted  = r.bidder_tasks_accepted  + excluded.bidder_tasks_accepted,
    bidder_tasks_expired   = r.bidder_tasks_expired   + excluded.bidder_tasks_expired,
    bidder_disputes        = r.bidder_disputes        + excluded.bidder_disputes,
    bidder_disputes_lost   = r.bidder_disputes_lost   + excluded.bidder_disputes_lost,
    bidder_rating_count    = r.bidder_rating_count    + excluded.bidder_rating_count,
    bidder_rating_stars    = r.bidder_rating_stars    + excluded.bidder_rating_stars,
    buyer_tasks_ended_by_agreement  = r.buyer_tasks_ended_by_agreement  + excluded.buyer_tasks_ended_by_agreement,
    bidder_tasks_ended_by_agreement = r.bidder_tasks_ended_by_agreement + excluded.bidder_tasks_ended_by_agreement,
    bidder_tasks_given_back         = r.bidder_tasks_given_back         + excluded.bidder_tasks_given_back
$$;

CREATE OR REPLACE FUNCTION reputation_zeros(p_user uuid) RETURNS reputations LANGUAGE sql IMMUTABLE AS $$
  SELECT (p_user, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0)::reputations
$$;

CREATE OR REPLACE FUNCTION reputation_follow_task() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  buyer reputations := reputation_zeros(NEW.buyer_id);
  bidder reputations := reputation_zeros(NEW.awarded_bidder_id);
BEGIN
  IF NEW.closed_because = 'agreed' THEN
    buyer.buyer_tasks_ended_by_agreement := 1;
    bidder.bidder_tasks_ended_by_agreement := 1;
  ELSIF NEW.closed_because = 'given_back' THEN
    bidder.bidder_tasks_given_back := 1;
  ELSIF OLD.delivered_at IS NOT NULL AND NEW.status IN ('awarded', 'delivered') THEN
    RETURN NULL; -- a round of changes: only the first delivery counts
  ELSE
    CASE NEW.status
      WHEN 'awarded' THEN
        buyer.buyer_tasks_awarded := 1;
        bidder.bidder_tasks_awarded := 1;
      WHEN 'delivered' THEN
        bidder.bidder_tasks_delivered := 1;
        bidder.bidder_tasks_on_time := (NEW.delivered_at <= NEW.delivery_due_at)::integer;
      WHEN 'accepted' THEN
        buyer.buyer_tasks_accepted := 1;
        bidder.bidder_tasks_accepted := 1;
      WHEN 'cancelled' THEN
        buyer.buyer_tasks_cancelled := 1;
      WHEN 'expired' THEN
        bidder.bidder_tasks_expired := 1;
      ELSE
        RETURN NULL; -- disputes are counted by the trigger on their own table
    END CASE;
  END IF;
  PERFORM reputation_add(ARRAY[buyer, bidder]);
  IF NEW.status = 'awarded' THEN
    PERFORM reputation_add_decision(NEW.buyer_id, NEW.id, NEW.awarded_at - NEW.created_at);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE VIEW reputations_from_source AS
WITH decisions AS (
  SELECT buyer_id, id, awarded_at - created_at AS time,
         row_number() OVER (PARTITION BY buyer_id ORDER BY awarded_at - created_at, id) AS place,
         count(*) OVER (PARTITION BY buyer_id) AS places
  FROM tasks WHERE awarded_at IS NOT NULL
), as_buyer AS (
  SELECT t.buyer_id AS user_id,
         count(*)::integer AS tasks_posted,
         count(*) FILTER (WHERE t.awarded_at IS NOT NULL)::integer AS tasks_awarded,
         count(*) FILTER (WHERE t.status = 'accepted')::integer AS tasks_accepted,
         count(*) FILTER (
           WHERE t.status = 'cancelled' AND coalesce(t.closed_because, 'cancelled') = 'cancelled')::integer AS tasks_cancelled,
         count(*) FILTER (WHERE t.closed_because = 'agreed')::integer AS tasks_ended_by_agreement,
         count(d.id)::integer AS disputes,
         count(*) FILTER (WHERE d.resolution = 'release')::integer AS disputes_lost
  FROM tasks t LEFT JOIN disputes d ON d.task_id = t.id GROUP BY t.buyer_id
), as_bidder AS (
  SELECT t.awarded_bidder_id AS user_id,
         count(*)::integer AS tasks_awarded,
         count(t.delivered_at)::integer AS tasks_delivered,
         count(*) FILTER (WHERE coalesce(t.delivered_on_time, t.delivered_at <= t.delivery_due_at))::integer AS tasks_on_time,
         count(*) FILTER (WHERE t.status = 'accepted')::integer AS tasks_accepted,
         count(*) FILTER (WHERE t.status = 'expired')::integer AS tasks_expired,
         count(*) FILTER (WHERE t.closed_because = 'agreed')::integer AS tasks_ended_by_agreement,
         count(*) FILTER (WHERE t.closed_because = 'given_back')::integer AS tasks_given_back,
         count(d.id)::integer AS disputes,
         count(*) FILTER (WHERE d.resolution = 'refund')::integer AS disputes_lost
  FROM tasks t LEFT JOIN disputes d ON d.task_id = t.id
  WHERE t.awarded_bidder_id IS NOT NULL GROUP BY t.awarded_bidder_id
), rated AS (
  SELECT ratee_id AS user_id,
         count(*) FILTER (WHERE role = 'buyer')::integer AS buyer_count,
         coalesce(sum(stars) FILTER (WHERE role = 'buyer'), 0)::integer AS buyer_stars,
         count(*) FILTER (WHERE role = 'bidder')::integer AS bidder_count,
         coalesce(sum(stars) FILTER (WHERE role = 'bidder'), 0)::integer AS bidder_stars
  FROM ratings GROUP BY ratee_id
)
SELECT user_id,
       coalesce(b.tasks_posted, 0) AS buyer_tasks_posted,
       coalesce(b.tasks_awarded, 0) AS buyer_tasks_awarded,
       coalesce(b.tasks_accepted, 0) AS buyer_tasks_accepted,
       coalesce(b.tasks_cancelled, 0) AS buyer_tasks_cancelled,
       coalesce(b.disputes, 0) AS buyer_disputes,
       coalesce(b.disputes_lost, 0) AS buyer_disputes_lost,
       coalesce(r.buyer_count, 0) AS buyer_rating_count,
       coalesce(r.buyer_stars, 0) AS buyer_rating_stars,
       coalesce(w.tasks_awarded, 0) AS bidder_tasks_awarded,
       coalesce(w.tasks_delivered, 0) AS bidder_tasks_delivered,
       coalesce(w.tasks_on_time, 0) AS bidder_tasks_on_time,
       coalesce(w.tasks_accepted, 0) AS bidder_tasks_accepted,
       coalesce(w.tasks_expired, 0) AS bidder_tasks_expired,
       coalesce(w.disputes, 0) AS bidder_disputes,
       coalesce(w.disputes_lost, 0) AS bidder_disputes_lost,
       coalesce(r.bidder_count, 0) AS bidder_rating_count,
       coalesce(r.bidder_stars, 0) AS bidder_rating_stars,
       low.id AS decision_median_task_id,
       low.time AS decision_median_low,
       high.time AS decision_median_high,
       coalesce(b.tasks_ended_by_agreement, 0) AS buyer_tasks_ended_by_agreement,
       coalesce(w.tasks_ended_by_agreement, 0) AS bidder_tasks_ended_by_agreement,
       coalesce(w.tasks_given_back, 0) AS bidder_tasks_given_back
FROM as_buyer b
FULL JOIN as_bidder w USING (user_id)
FULL JOIN rated r USING (user_id)
LEFT JOIN decisions low ON low.buyer_id = user_id AND low.place = (low.places + 1) / 2
LEFT JOIN decisions high ON high.buyer_id = user_id AND high.place = high.places / 2 + 1;
