-- A cursor holds wherever its event stands at its position, so followers of the log survive a failover: nothing is compared any
-- more with the cluster and timeline that the log came from.
CREATE OR REPLACE FUNCTION advance_event_log(batch integer, waits boolean) RETURNS SETOF event_log_state LANGUAGE plpgsql AS $$
DECLARE
  newest bigint := (SELECT max(id) FROM event_log_queue);
BEGIN
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

DROP FUNCTION event_log_origin();
ALTER TABLE event_log_state DROP COLUMN origin;
COMMENT ON COLUMN event_log_state.epoch IS 'read by the release before this migration, while both run; nothing else uses it';

-- Cursors are sealed from here on. Those without a seal go on working for events from before that; there are none where the log
-- is still empty. A day is for processes of the release before, which still issue them.
ALTER TABLE event_log_state ADD COLUMN unsealed_before uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
COMMENT ON COLUMN event_log_state.unsealed_before IS 'a cursor without a seal is one of ours only if its event has a smaller id';
UPDATE event_log_state
   SET unsealed_before = (lpad(to_hex((extract(epoch FROM service_now() + interval '1 day') * 1000)::bigint), 12, '0')
                          || '-7000-8000-000000000000')::uuid
 WHERE last_position > 0;
