-- How old the key of the call that makes an account is: the processor forgets keys, and would then make a second one.
ALTER TABLE payout_accounts ADD COLUMN key_created_at timestamptz(6);
UPDATE payout_accounts SET key_created_at = created_at;
ALTER TABLE payout_accounts
  ALTER COLUMN key_created_at SET NOT NULL, ALTER COLUMN key_created_at SET DEFAULT clock_timestamp();
