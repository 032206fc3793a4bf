-- As before, but whoever waits for another process to number events goes on as soon as those events have their numbers that
-- the queue had at the beginning. Otherwise each of many who wait would number what came meanwhile, and the others would
-- wait for all these commits, one after the other.
CREATE OR REPLACE FUNCTION advance_event_log(batch integer, waits boolean) RETURNS SETOF event_log_state LANGUAGE plpgsql AS $$
DECLARE
  here text := event_log_origin();
  newest bigint := (SELECT max(id) FROM event_log_queue);
BEGIN
  IF NOT EXISTS (SELECT FROM event_log_state WHERE origin = here) THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('event_log', 0));
    UPDATE event_log_state SET epoch = gen_random_uuid(), origin = here WHERE origin <> here;
  END IF;
  IF waits AND newest IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('event_log', 0));
  END IF;
  IF EXISTS (SELECT FROM event_log_queue WHERE id <= newest) AND pg_try_advisory_xact_lock(hashtextextended('event_log', 0)) THEN
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
