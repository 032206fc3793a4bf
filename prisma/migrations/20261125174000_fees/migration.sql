-- The platform's fee: its schedules, what a bid freezes of them, and the bucket that receives it.

-- ---------------------------------------------------------------- schedules

-- What the platform takes of a price from `starts_at` on, until the next schedule starts. Of several with the same start, the
-- newest counts: a schedule cannot be changed, but one that has not started can be replaced.
CREATE TABLE fee_schedules (
  id               uuid PRIMARY KEY DEFAULT uuid_v7(),
  starts_at        timestamptz(6) NOT NULL,
  basis_points     integer NOT NULL,
  min_cents        integer NOT NULL DEFAULT 0,
  max_cents        integer,
  tax_basis_points integer NOT NULL DEFAULT 0,
  created_at       timestamptz(6) NOT NULL DEFAULT service_now(),
  CONSTRAINT fee_schedules_never_past CHECK (starts_at >= created_at),
  CONSTRAINT fee_schedules_basis_points_known CHECK (basis_points BETWEEN 0 AND 5000),
  CONSTRAINT fee_schedules_tax_known CHECK (tax_basis_points BETWEEN 0 AND 10000),
  CONSTRAINT fee_schedules_limits_in_order CHECK (min_cents >= 0 AND max_cents >= min_cents)
);
COMMENT ON COLUMN fee_schedules.basis_points IS 'hundredths of a percent of the price';
COMMENT ON COLUMN fee_schedules.tax_basis_points IS 'the fee includes its tax, at this rate';

-- A bid stores the schedule that is current when its price is set. `fee_schedule_now` holds a shared lock until the bid commits,
-- and a new schedule waits for the exclusive one before it gets its time. So no bid is priced by a schedule that another one had
-- already replaced, and the audit can tell from the times alone which schedule a bid must have.
CREATE FUNCTION fee_schedule_begin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('fee schedules', 0));
  NEW.created_at := service_now();
  NEW.starts_at := coalesce(NEW.starts_at, NEW.created_at);
  RETURN NEW;
END $$;
CREATE TRIGGER fee_schedules_begin BEFORE INSERT ON fee_schedules FOR EACH ROW EXECUTE FUNCTION fee_schedule_begin();

-- Returns the time, and the schedule that is current then, if there is one. It is VOLATILE, so that its second statement sees what
-- was committed while the first one waited.
CREATE FUNCTION fee_schedule_now() RETURNS TABLE (at timestamptz, schedule fee_schedules) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('fee schedules', 0));
  at := service_now();
  SELECT * INTO schedule FROM fee_schedules s WHERE s.starts_at <= at ORDER BY s.starts_at DESC, s.created_at DESC LIMIT 1;
  RETURN NEXT;
END $$;

CREATE TRIGGER fee_schedules_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON fee_schedules
  FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
ALTER TABLE fee_schedules ENABLE ALWAYS TRIGGER fee_schedules_append_only;

-- ---------------------------------------------------------------- bids

ALTER TABLE bids
  ADD COLUMN priced_at       timestamptz(6),
  ADD COLUMN fee_schedule_id uuid REFERENCES fee_schedules (id),
  ADD COLUMN fee_cents       integer,
  ADD CONSTRAINT bids_fee_complete CHECK (
    (fee_schedule_id IS NULL) = (fee_cents IS NULL)
    AND (fee_schedule_id IS NULL OR priced_at IS NOT NULL)
    AND fee_cents BETWEEN 0 AND price_cents
  );
COMMENT ON COLUMN bids.priced_at IS 'when the price was set, and with it the fee; null for bids from before there were fees';
COMMENT ON COLUMN bids.fee_cents IS 'what the platform takes of the whole price, by the schedule that was current at priced_at';

-- ---------------------------------------------------------------- the ledger

-- NOT VALID: what the former constraints allowed, these allow too, so the entries need not be read.
ALTER DOMAIN ledger_kind DROP CONSTRAINT ledger_entries_kind_known;
ALTER DOMAIN ledger_kind ADD CONSTRAINT ledger_entries_kind_known CHECK (VALUE IN (
  'topup', 'hold', 'hold_release', 'task_payment', 'task_earning', 'dispute_refund', 'payout', 'payout_reversal',
  'topup_refund', 'chargeback', 'adjustment', 'platform_fee', 'fee_withdrawal')) NOT VALID;
ALTER DOMAIN ledger_bucket DROP CONSTRAINT ledger_entries_bucket_known;
ALTER DOMAIN ledger_bucket ADD CONSTRAINT ledger_entries_bucket_known CHECK (VALUE IN (
  'available', 'held', 'debt', 'outside', 'platform')) NOT VALID;

-- The bucket `platform` is what the platform has earned. Like `outside`, it has no user and no wallet: a row that every payment
-- updated would make them wait for each other. Its balance is the sum of its entries. Fees go in, withdrawals go out.
ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_outside_has_no_user;
ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_outside_has_no_user CHECK (
  (bucket IN ('outside', 'platform')) = (user_id IS NULL)
  AND (user_id IS NULL) = (version IS NULL)
  AND (user_id IS NULL) = (balance_after_cents IS NULL)
  AND (bucket <> 'platform' OR kind = CASE WHEN amount_cents > 0 THEN 'platform_fee' ELSE 'fee_withdrawal' END)
) NOT VALID;
CREATE INDEX ledger_entries_platform_idx ON ledger_entries (created_at) INCLUDE (amount_cents) WHERE bucket = 'platform';

-- Moves fees out, to whoever runs the service. Returns the transfer's id, or null if p_external_ref was booked before. One
-- withdrawal at a time, so that together they never take more than there is.
CREATE FUNCTION ledger_withdraw_fees(p_amount bigint, p_external_ref text) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  transfer uuid;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('fee withdrawals', 0));
  transfer := ledger_claim_reference(p_external_ref, concat_ws(' ', 'fee_withdrawal', p_amount));
  IF transfer IS NULL THEN
    RETURN NULL;
  END IF;
  IF p_amount > (SELECT coalesce(sum(amount_cents), 0) FROM ledger_entries WHERE bucket = 'platform') THEN
    RAISE EXCEPTION 'the platform has less than % cents', p_amount
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_platform_not_negative';
  END IF;
  INSERT INTO ledger_entries (transfer_id, user_id, kind, bucket, amount_cents)
  VALUES (transfer, NULL, 'fee_withdrawal', 'platform', -p_amount), (transfer, NULL, 'fee_withdrawal', 'outside', p_amount);
  RETURN transfer;
END $$;
