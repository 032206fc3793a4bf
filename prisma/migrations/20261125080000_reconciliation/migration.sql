-- A database that was restored, or a standby that was promoted, may have lost commits that the payment processor has acted on.
-- Until both have been compared, no payout is sent: what the books have forgotten would be sent again.
CREATE TABLE reconciliation_state (
  id             boolean PRIMARY KEY DEFAULT true CHECK (id),
  origin         text,
  noticed_origin text,
  next_check_at  timestamptz(6) NOT NULL DEFAULT service_now()
);

-- Which history of which database this is. Differs after a restore: another cluster has another system identifier, recovery to
-- a point in time and promotion of a standby begin a timeline, and a dump that is restored creates the table anew.
CREATE FUNCTION database_origin() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
                   substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), 'reconciliation_state'::regclass::oid)
$$;

COMMENT ON TABLE reconciliation_state IS
  'whether the books have been compared with the payment processor since the database was last restored';
COMMENT ON COLUMN reconciliation_state.origin IS 'what database_origin() returned then; null pauses payouts until it is done again';
COMMENT ON COLUMN reconciliation_state.noticed_origin IS 'what it returned when a worker last saw that it had changed';

INSERT INTO reconciliation_state (origin) VALUES (database_origin());

-- True until the books are known to agree with the processor: also if nothing is known.
CREATE FUNCTION needs_reconciliation() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT EXISTS (SELECT FROM reconciliation_state WHERE origin = database_origin())
$$;
