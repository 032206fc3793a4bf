-- Operations that take a password or a code ignore `Idempotency-Key` now: what was kept of their inputs is a fast hash, from
-- which a password could be guessed.
DELETE FROM idempotency_keys
WHERE operation IN ('auth.startTotp', 'auth.confirmTotp', 'auth.removeTotp', 'auth.changePassword', 'auth.close');
