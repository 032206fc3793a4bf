-- The event log: what clients follow with `GET /events`. It begins with this migration: what was recorded before stays with
-- its webhook deliveries, because rows of earlier releases may lack fields that the log promises.

COMMENT ON COLUMN events.recipients IS
  'whom it concerns: these users follow it in the log, and their subscriptions receive it; null means everyone';
COMMENT ON COLUMN events.fanned_out_at IS
  'set in the transaction that writes the event''s deliveries, and from the start for a type that webhooks do not have';

-- Written in the transaction of the change, in the order in which a transaction records its events. Numbering deletes it.
CREATE TABLE event_log_queue (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id uuid NOT NULL
) WITH (
  -- As for webhook_deliveries: dead rows are what slows a queue down.
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE event_log_queue IS 'events that are recorded and have no position in the log yet';

CREATE TABLE event_log (
  position   bigint PRIMARY KEY,
  event_id   uuid NOT NULL REFERENCES events (id),
  type       text NOT NULL,
  recipients uuid[]
);
COMMENT ON TABLE event_log IS
  'the order of all events: without gaps, and in an order that agrees with the order of the commits';
COMMENT ON COLUMN event_log.recipients IS 'as in events: null means everyone';
-- A reader's page merges two ranges: everyone's events, and the reader's own.
CREATE INDEX event_log_public_idx ON event_log (position) WHERE recipients IS NULL;
-- Whether an event may be deleted.
CREATE INDEX event_log_event_idx ON event_log (event_id);
CREATE INDEX webhook_deliveries_event_idx ON webhook_deliveries (event_id);

CREATE TABLE event_log_entries (
  user_id  uuid   NOT NULL,
  position bigint NOT NULL,
  type     text   NOT NULL,
  event_id uuid   NOT NULL,
  PRIMARY KEY (user_id, position) INCLUDE (type, event_id)
);
COMMENT ON TABLE event_log_entries IS 'the positions of the events with recipients, for each of them';

-- One row, which is locked by whoever numbers events: a counter instead of a sequence, because the numbers of a sequence
-- become visible out of order, and are lost when a transaction is rolled back.
CREATE TABLE event_log_state (
  id            boolean PRIMARY KEY DEFAULT true CHECK (id),
  epoch         uuid   NOT NULL DEFAULT gen_random_uuid(),
  origin        text   NOT NULL,
  last_position bigint NOT NULL DEFAULT 0,
  last_event_id uuid
);
COMMENT ON COLUMN event_log_state.epoch IS 'part of every cursor; a new one makes all older cursors invalid';
COMMENT ON COLUMN event_log_state.origin IS 'what event_log_origin() returned when the epoch began';

-- Differs after a restore: a new cluster has another system identifier, recovery to a point in time and promotion of a
-- standby begin a timeline, a new database has another oid, and so has a table that was restored into an existing one.
CREATE FUNCTION event_log_origin() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
                   substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
                   (SELECT oid FROM pg_database WHERE datname = current_database()), 'event_log'::regclass::oid)
$$;

INSERT INTO event_log_state (origin) VALUES (event_log_origin());

-- Numbers up to `batch` committed events, and returns the state of the log. Numbering happens after the commit, so that an
-- event that becomes visible later also gets a later position. One process at a time does it. The others return what there
-- is, or wait for it and go on if they say so.
CREATE FUNCTION advance_event_log(batch integer, waits boolean) RETURNS SETOF event_log_state LANGUAGE plpgsql AS $$
DECLARE
  here text := event_log_origin();
BEGIN
  IF NOT EXISTS (SELECT FROM event_log_state WHERE origin = here) THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('event_log', 0));
    UPDATE event_log_state SET epoch = gen_random_uuid(), origin = here WHERE origin <> here;
  END IF;
  IF waits AND EXISTS (SELECT FROM event_log_queue) THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('event_log', 0));
  END IF;
  IF EXISTS (SELECT FROM event_log_queue) AND pg_try_advisory_xact_lock(hashtextextended('event_log', 0)) THEN
    -- A statement of its own, so that its snapshot contains what the previous holder of the lock has committed.
    WITH taken AS MATERIALIZED (
      DELETE FROM event_log_queue WHERE id IN (SELECT id FROM event_log_queue ORDER BY id LIMIT batch)
      RETURNING id, event_id
    ), events_taken AS MATERIALIZED (
      SELECT row_number() OVER (ORDER BY taken.id) AS number, e.id, e.type, e.recipients
      FROM taken JOIN events e ON e.id = taken.event_id
    ), counted AS (
      UPDATE event_log_state
         SET last_position = last_position + (SELECT count(*) FROM events_taken),
             last_event_id = coalesce((SELECT e.id FROM events_taken e ORDER BY e.number DESC LIMIT 1), last_event_id)
      RETURNING last_position - (SELECT count(*) FROM events_taken) AS base
    ), numbered AS (
      INSERT INTO event_log (position, event_id, type, recipients)
      SELECT base + number, e.id, e.type, e.recipients FROM events_taken e, counted
      RETURNING position, event_id, type, recipients
    )
    INSERT INTO event_log_entries (user_id, position, type, event_id)
    SELECT DISTINCT recipient, position, type, event_id FROM numbered, unnest(recipients) AS recipient;
  END IF;
  RETURN QUERY SELECT * FROM event_log_state;
END $$;
