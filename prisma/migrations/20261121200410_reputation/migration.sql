-- Reputation consists of counters that triggers update in the transaction of each change, so reading one is a single
-- lookup however many tasks the user has had.

-- Every value can be derived from tasks, disputes and ratings; the view reputations_from_source does so.
CREATE TABLE reputations (
  user_id                 uuid PRIMARY KEY REFERENCES users (id),
  buyer_tasks_posted      integer NOT NULL DEFAULT 0,
  buyer_tasks_awarded     integer NOT NULL DEFAULT 0,
  buyer_tasks_accepted    integer NOT NULL DEFAULT 0,
  buyer_tasks_cancelled   integer NOT NULL DEFAULT 0,
  buyer_disputes          integer NOT NULL DEFAULT 0,
  buyer_disputes_lost     integer NOT NULL DEFAULT 0,
  buyer_rating_count      integer NOT NULL DEFAULT 0,
  buyer_rating_stars      integer NOT NULL DEFAULT 0,
  bidder_tasks_awarded    integer NOT NULL DEFAULT 0,
  bidder_tasks_delivered  integer NOT NULL DEFAULT 0,
  bidder_tasks_on_time    integer NOT NULL DEFAULT 0,
  bidder_tasks_accepted   integer NOT NULL DEFAULT 0,
  bidder_tasks_expired    integer NOT NULL DEFAULT 0,
  bidder_disputes         integer NOT NULL DEFAULT 0,
  bidder_disputes_lost    integer NOT NULL DEFAULT 0,
  bidder_rating_count     integer NOT NULL DEFAULT 0,
  bidder_rating_stars     integer NOT NULL DEFAULT 0,
  decision_median_task_id uuid REFERENCES tasks (id),
  decision_median_low     interval,
  decision_median_high    interval
) WITH (fillfactor = 70);
COMMENT ON COLUMN reputations.decision_median_low IS
  'the median time from posting to award over the buyer''s awarded tasks, or the lower of the two middle times if their number is even; decision_median_task_id is the task it belongs to, decision_median_high the upper middle time';

-- A buyer's awarded tasks by decision time. The running median moves one step at a time along this index.
CREATE INDEX tasks_decision_idx ON tasks (buyer_id, (awarded_at - created_at), id) WHERE awarded_at IS NOT NULL;

-- Adds the changes that one task, dispute or rating makes. Like every statement on this table, it locks rows in the order
-- of user ids, so that concurrent changes cannot deadlock.
CREATE FUNCTION reputation_add(changes reputations[]) RETURNS void LANGUAGE sql AS $$
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
    bidder_rating_stars    = r.bidder_rating_stars    + excluded.bidder_rating_stars
$$;

-- A row of zeros to fill with changes.
CREATE FUNCTION reputation_zeros(p_user uuid) RETURNS reputations LANGUAGE sql IMMUTABLE AS $$
  SELECT (p_user, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL)::reputations
$$;

-- Updates the exact median of the buyer's decision times after one was added, in at most two index lookups: times are
-- never removed, so the middle moves by at most one place. The caller has locked the buyer's row.
CREATE FUNCTION reputation_add_decision(p_buyer uuid, p_task uuid, p_time interval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  reputation reputations;
  count_before integer;
  middle record;
  upper_time interval;
BEGIN
  SELECT * INTO reputation FROM reputations WHERE user_id = p_buyer;
  count_before := reputation.buyer_tasks_awarded - 1;
  SELECT reputation.decision_median_low AS time, reputation.decision_median_task_id AS id INTO middle;
  IF count_before = 0 THEN
    middle.time := p_time;
    middle.id := p_task;
  ELSIF count_before % 2 = 1 AND (p_time, p_task) < (middle.time, middle.id) THEN
    SELECT awarded_at - created_at AS time, id INTO middle FROM tasks
     WHERE buyer_id = p_buyer AND awarded_at IS NOT NULL AND (awarded_at - created_at, id) < (middle.time, middle.id)
     ORDER BY buyer_id DESC, awarded_at - created_at DESC, id DESC LIMIT 1;
  ELSIF count_before % 2 = 0 AND (p_time, p_task) > (middle.time, middle.id) THEN
    SELECT awarded_at - created_at AS time, id INTO middle FROM tasks
     WHERE buyer_id = p_buyer AND awarded_at IS NOT NULL AND (awarded_at - created_at, id) > (middle.time, middle.id)
     ORDER BY buyer_id, awarded_at - created_at, id LIMIT 1;
  END IF;
  upper_time := middle.time;
  IF count_before % 2 = 1 THEN
    SELECT awarded_at - created_at INTO upper_time FROM tasks
     WHERE buyer_id = p_buyer AND awarded_at IS NOT NULL AND (awarded_at - created_at, id) > (middle.time, middle.id)
     ORDER BY buyer_id, awarded_at - created_at, id LIMIT 1;
  END IF;
  UPDATE reputations
     SET decision_median_low = middle.time, decision_median_high = upper_time, decision_median_task_id = middle.id
   WHERE user_id = p_buyer;
END $$;

-- Counts posted tasks once per statement instead of once per row, because an import inserts very many with one statement.
CREATE FUNCTION reputation_follow_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM posted WHERE status <> 'open') THEN
    PERFORM reputation_rebuild(); -- the service only inserts open tasks, so this is an import
    RETURN NULL;
  END IF;
  INSERT INTO reputations AS r (user_id, buyer_tasks_posted)
  SELECT buyer_id, count(*) FROM posted GROUP BY buyer_id ORDER BY buyer_id
  ON CONFLICT (user_id) DO UPDATE SET buyer_tasks_posted = r.buyer_tasks_posted + excluded.buyer_tasks_posted;
  RETURN NULL;
END $$;

CREATE FUNCTION reputation_follow_task() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  buyer reputations := reputation_zeros(NEW.buyer_id);
  bidder reputations := reputation_zeros(NEW.awarded_bidder_id);
BEGIN
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
  PERFORM reputation_add(ARRAY[buyer, bidder]);
  IF NEW.status = 'awarded' THEN
    PERFORM reputation_add_decision(NEW.buyer_id, NEW.id, NEW.awarded_at - NEW.created_at);
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION reputation_follow_dispute() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  task tasks;
  buyer reputations;
  bidder reputations;
BEGIN
  SELECT * INTO STRICT task FROM tasks WHERE id = NEW.task_id;
  buyer := reputation_zeros(task.buyer_id);
  bidder := reputation_zeros(task.awarded_bidder_id);
  buyer.buyer_disputes := (TG_OP = 'INSERT')::integer;
  bidder.bidder_disputes := buyer.buyer_disputes;
  buyer.buyer_disputes_lost := (NEW.resolution = 'release' IS TRUE)::integer;
  bidder.bidder_disputes_lost := (NEW.resolution = 'refund' IS TRUE)::integer;
  PERFORM reputation_add(ARRAY[buyer, bidder]);
  RETURN NULL;
END $$;

CREATE FUNCTION reputation_follow_rating() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ratee reputations := reputation_zeros(NEW.ratee_id);
BEGIN
  IF NEW.role = 'buyer' THEN
    ratee.buyer_rating_count := 1;
    ratee.buyer_rating_stars := NEW.stars;
  ELSE
    ratee.bidder_rating_count := 1;
    ratee.bidder_rating_stars := NEW.stars;
  END IF;
  PERFORM reputation_add(ARRAY[ratee]);
  RETURN NULL;
END $$;

-- Lock order: these lock reputation rows after the task's row and before the wallets, because every transition changes the
-- task's status before it moves money.
CREATE TRIGGER tasks_posted_reputation AFTER INSERT ON tasks
  REFERENCING NEW TABLE AS posted FOR EACH STATEMENT EXECUTE FUNCTION reputation_follow_post();
CREATE TRIGGER tasks_moved_reputation AFTER UPDATE ON tasks
  FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION reputation_follow_task();
CREATE TRIGGER disputes_opened_reputation AFTER INSERT ON disputes
  FOR EACH ROW EXECUTE FUNCTION reputation_follow_dispute();
CREATE TRIGGER disputes_resolved_reputation AFTER UPDATE ON disputes
  FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION reputation_follow_dispute();
CREATE TRIGGER ratings_given_reputation AFTER INSERT ON ratings
  FOR EACH ROW EXECUTE FUNCTION reputation_follow_rating();

-- Reputation derived from its source tables. The audit compares the counters with it, and a rebuild writes it.
CREATE VIEW reputations_from_source AS
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
         count(*) FILTER (WHERE t.status = 'cancelled')::integer AS tasks_cancelled,
         count(d.id)::integer AS disputes,
         count(*) FILTER (WHERE d.resolution = 'release')::integer AS disputes_lost
  FROM tasks t LEFT JOIN disputes d ON d.task_id = t.id GROUP BY t.buyer_id
), as_bidder AS (
  SELECT t.awarded_bidder_id AS user_id,
         count(*)::integer AS tasks_awarded,
         count(t.delivered_at)::integer AS tasks_delivered,
         count(*) FILTER (WHERE t.delivered_at <= t.delivery_due_at)::integer AS tasks_on_time,
         count(*) FILTER (WHERE t.status = 'accepted')::integer AS tasks_accepted,
         count(*) FILTER (WHERE t.status = 'expired')::integer AS tasks_expired,
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
       high.time AS decision_median_high
FROM as_buyer b
FULL JOIN as_bidder w USING (user_id)
FULL JOIN rated r USING (user_id)
LEFT JOIN decisions low ON low.buyer_id = user_id AND low.place = (low.places + 1) / 2
LEFT JOIN decisions high ON high.buyer_id = user_id AND high.place = high.places / 2 + 1;

-- Recalculates every row. The lock waits for transactions that have updated counters but not committed. The changes of any
-- other open transaction are not in the next statement's snapshot, and it will update the counters after the rebuild.
CREATE FUNCTION reputation_rebuild() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE reputations IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM reputations;
  INSERT INTO reputations SELECT * FROM reputations_from_source;
END $$;
