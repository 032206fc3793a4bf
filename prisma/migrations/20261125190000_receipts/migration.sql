-- Receipts: one for each task that was paid for, each credited top-up and each payout that the bank has. A trigger notes what there
-- is to be numbered, with the names of that moment, in the transaction of the payment; one at a time, `number_receipts` then gives out
-- the numbers. A counter in every payment would make them wait for each other.
CREATE TABLE receipts (
  id         uuid PRIMARY KEY DEFAULT uuid_v7(),
  task_id    uuid REFERENCES tasks (id),
  topup_id   uuid REFERENCES topups (id),
  payout_id  uuid REFERENCES payouts (id),
  payer_id   uuid REFERENCES users (id),
  payer_name text,
  payee_id   uuid REFERENCES users (id),
  payee_name text,
  noted_by   xid8 NOT NULL DEFAULT pg_current_xact_id(),
  paid_at    timestamptz(6),
  operator   jsonb,
  year       integer,
  number     integer,
  CONSTRAINT receipts_one_subject CHECK (num_nonnulls(task_id, topup_id, payout_id) = 1),
  CONSTRAINT receipts_numbered_whole CHECK (num_nonnulls(paid_at, operator, year, number) IN (0, 4)),
  CONSTRAINT receipts_task_key UNIQUE (task_id),
  CONSTRAINT receipts_topup_key UNIQUE (topup_id),
  CONSTRAINT receipts_payout_key UNIQUE (payout_id),
  CONSTRAINT receipts_number_key UNIQUE (year, number)
);
COMMENT ON COLUMN receipts.noted_by IS 'the transaction of the payment: receipts are numbered when no earlier one is under way';
COMMENT ON COLUMN receipts.operator IS 'who ran the service, as the receipt says it for good';
CREATE INDEX receipts_unnumbered_idx ON receipts (id) WHERE number IS NULL;

-- A numbered receipt stays as it is, and nothing is deleted but a note of a task that turned out to be unpaid.
CREATE FUNCTION receipts_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'TRUNCATE' AND OLD.number IS NULL THEN
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  END IF;
  RAISE EXCEPTION 'receipts are append-only: % is refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER receipts_append_only BEFORE UPDATE OR DELETE ON receipts FOR EACH ROW EXECUTE FUNCTION receipts_refuse_change();
CREATE TRIGGER receipts_not_truncated BEFORE TRUNCATE ON receipts FOR EACH STATEMENT EXECUTE FUNCTION receipts_refuse_change();
ALTER TABLE receipts ENABLE ALWAYS TRIGGER receipts_append_only;
ALTER TABLE receipts ENABLE ALWAYS TRIGGER receipts_not_truncated;

-- Notes that a subject has been paid, with the names of now.
CREATE FUNCTION note_receipt_of_task(p_task uuid) RETURNS void LANGUAGE sql AS $$
  INSERT INTO receipts (task_id, payer_id, payer_name, payee_id, payee_name)
  SELECT t.id, buyer.id, buyer.display_name, bidder.id, bidder.display_name
  FROM tasks t JOIN users buyer ON buyer.id = t.buyer_id JOIN users bidder ON bidder.id = t.awarded_bidder_id
  WHERE t.id = p_task
  ON CONFLICT DO NOTHING
$$;
CREATE FUNCTION note_receipt_of_topup(p_topup uuid) RETURNS void LANGUAGE sql AS $$
  INSERT INTO receipts (topup_id, payer_id, payer_name)
  SELECT t.id, u.id, u.display_name FROM topups t JOIN users u ON u.id = t.user_id WHERE t.id = p_topup
  ON CONFLICT DO NOTHING
$$;
CREATE FUNCTION note_receipt_of_payout(p_payout uuid) RETURNS void LANGUAGE sql AS $$
  INSERT INTO receipts (payout_id, payee_id, payee_name)
  SELECT p.id, u.id, u.display_name FROM payouts p JOIN users u ON u.id = p.user_id WHERE p.id = p_payout
  ON CONFLICT DO NOTHING
$$;

CREATE FUNCTION note_receipt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  CASE TG_TABLE_NAME
    WHEN 'tasks' THEN PERFORM note_receipt_of_task(NEW.id);
    WHEN 'topups' THEN PERFORM note_receipt_of_topup(NEW.id);
    WHEN 'payouts' THEN PERFORM note_receipt_of_payout(NEW.id);
  END CASE;
  RETURN NULL;
END $$;
CREATE TRIGGER tasks_paid AFTER UPDATE OF status ON tasks FOR EACH ROW
  WHEN (NEW.status IN ('accepted', 'resolved') AND OLD.status <> NEW.status) EXECUTE FUNCTION note_receipt();
CREATE TRIGGER topups_paid AFTER UPDATE OF status ON topups FOR EACH ROW
  WHEN (NEW.status = 'paid' AND OLD.status <> NEW.status) EXECUTE FUNCTION note_receipt();
CREATE TRIGGER payouts_paid AFTER UPDATE OF state ON payouts FOR EACH ROW
  WHEN (NEW.state = 'paid' AND OLD.state <> NEW.state) EXECUTE FUNCTION note_receipt();

-- When a subject was paid; null if it was not. A payout was when its bank had it, everything else when the ledger's entry was made.
CREATE FUNCTION receipt_paid_at(r receipts) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN r.task_id IS NOT NULL THEN (
      SELECT e.created_at FROM tasks t JOIN ledger_entries e ON e.user_id = t.buyer_id AND e.kind = 'task_payment'
      JOIN ledger_transfers x ON x.id = e.transfer_id
      WHERE t.id = r.task_id AND x.task_id = t.id AND e.created_at >= t.closed_at - interval '1 hour'
      ORDER BY e.created_at LIMIT 1)
    WHEN r.topup_id IS NOT NULL THEN (
      SELECT e.created_at FROM topups t JOIN ledger_transfers x ON x.external_ref = t.payment_intent_id
      JOIN ledger_entries e ON e.transfer_id = x.id AND e.kind = 'topup' AND e.bucket <> 'outside'
      WHERE t.id = r.topup_id LIMIT 1)
    ELSE (SELECT paid_at FROM payouts WHERE id = r.payout_id)
  END
$$;

-- Numbers what is noted, in the order in which it was paid, each year of a zone from 1 on and without a gap: whoever does so waits for
-- another who is doing it. What a transaction that is still under way may precede waits for that. Returns how many were numbered.
CREATE FUNCTION number_receipts(p_zone text, p_operator jsonb, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  numbered integer;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('receipts', 0));
  WITH noted AS MATERIALIZED (
    SELECT r.id, receipt_paid_at(r) AS paid_at FROM receipts r
    WHERE r.number IS NULL AND r.noted_by < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY r.id LIMIT p_limit
  ), unpaid AS (
    -- A dispute that gave everything back.
    DELETE FROM receipts WHERE id IN (SELECT id FROM noted WHERE paid_at IS NULL)
  ), placed AS (
    SELECT id, paid_at, extract(year FROM paid_at AT TIME ZONE p_zone)::integer AS year,
           row_number() OVER (PARTITION BY extract(year FROM paid_at AT TIME ZONE p_zone) ORDER BY paid_at, id) AS place
    FROM noted WHERE paid_at IS NOT NULL
  )
  UPDATE receipts r SET paid_at = p.paid_at, operator = p_operator, year = p.year,
         number = p.place + coalesce((SELECT max(number) FROM receipts last WHERE last.year = p.year), 0)
  FROM placed p WHERE r.id = p.id;
  GET DIAGNOSTICS numbered = ROW_COUNT;
  RETURN numbered;
END $$;
