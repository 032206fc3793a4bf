-- A wallet's buckets equal the sums of its entries. By induction: each change of a wallet is told by the entries of just
-- the versions that it adds, so a balance that was written by hand, or a movement that forgot an entry, cannot be
-- committed. Judged at commit, over the one or two entries of the change, which an index finds.
CREATE FUNCTION ledger_check_wallet() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  told record;
BEGIN
  -- OLD is null for a new wallet, which begins at version 0 with nothing.
  SELECT count(*) AS versions,
         coalesce(sum(amount_cents) FILTER (WHERE bucket = 'available'), 0) AS available_cents,
         coalesce(sum(amount_cents) FILTER (WHERE bucket = 'held'), 0) AS held_cents,
         coalesce(-sum(amount_cents) FILTER (WHERE bucket = 'debt'), 0) AS debt_cents
    INTO told
    FROM ledger_entries
   WHERE user_id = NEW.user_id AND version > coalesce(OLD.version, 0) AND version <= NEW.version;
  IF coalesce(OLD.user_id, NEW.user_id) <> NEW.user_id
     OR NEW.version - coalesce(OLD.version, 0) <> told.versions
     OR NEW.available_cents - coalesce(OLD.available_cents, 0) <> told.available_cents
     OR NEW.held_cents - coalesce(OLD.held_cents, 0) <> told.held_cents
     OR NEW.debt_cents - coalesce(OLD.debt_cents, 0) <> told.debt_cents THEN
    RAISE EXCEPTION 'the entries of user % do not tell this change of the wallet', NEW.user_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'wallets_equal_entries';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER wallets_equal_entries AFTER INSERT OR UPDATE ON wallets
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_check_wallet();
ALTER TABLE wallets ENABLE ALWAYS TRIGGER wallets_equal_entries;
