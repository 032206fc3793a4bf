-- A payout whose money is on the connected account, but not yet available there, waits in a state of its own.
ALTER TABLE payouts
  DROP CONSTRAINT payouts_state_known,
  ADD CONSTRAINT payouts_state_known
    CHECK (state IN ('created', 'unfunded', 'transferred', 'settling', 'sent', 'paid', 'returning', 'failed'));
