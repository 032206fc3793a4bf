-- Finds a task's payment by its task: among the entries of its buyer, a receipt read all of the last hour.
CREATE INDEX ledger_transfers_task_idx ON ledger_transfers (task_id) WHERE task_id IS NOT NULL;

CREATE OR REPLACE FUNCTION receipt_paid_at(r receipts) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN r.task_id IS NOT NULL THEN (
      SELECT e.created_at FROM ledger_transfers x JOIN ledger_entries e ON e.transfer_id = x.id AND e.kind = 'task_payment'
      WHERE x.task_id = r.task_id ORDER BY e.created_at LIMIT 1)
    WHEN r.topup_id IS NOT NULL THEN (
      SELECT e.created_at FROM topups t JOIN ledger_transfers x ON x.external_ref = t.payment_intent_id
      JOIN ledger_entries e ON e.transfer_id = x.id AND e.kind = 'topup' AND e.bucket <> 'outside'
      WHERE t.id = r.topup_id LIMIT 1)
    ELSE (SELECT paid_at FROM payouts WHERE id = r.payout_id)
  END
$$;
