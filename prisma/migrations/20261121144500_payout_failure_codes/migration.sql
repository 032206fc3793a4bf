-- Why a payout failed is kept as the processor's code. The words for its owner are ours, and made when it is read.
ALTER TABLE payouts ADD COLUMN failure_code text;
UPDATE payouts SET failure_code = 'unknown' WHERE failure_message IS NOT NULL;
ALTER TABLE payouts DROP COLUMN failure_message;
