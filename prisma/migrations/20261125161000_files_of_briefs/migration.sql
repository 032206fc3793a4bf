-- Files of briefs are uploads too: they belong to a task and their owner, not to a bid.

ALTER TABLE uploads
  ALTER COLUMN bid_id DROP NOT NULL,
  ADD COLUMN task_id uuid REFERENCES tasks (id),
  ADD COLUMN owner_id uuid REFERENCES users (id),
  ADD COLUMN visibility text,
  DROP CONSTRAINT uploads_kind_known,
  ADD CONSTRAINT uploads_kind_known CHECK (kind IN ('sample', 'delivery', 'brief', 'message')),
  ADD CONSTRAINT uploads_subject CHECK ((bid_id IS NULL) = (kind = 'brief') AND (task_id IS NOT NULL) = (kind = 'brief')),
  ADD CONSTRAINT uploads_owner CHECK (owner_id IS NOT NULL OR kind IN ('sample', 'delivery')),
  ADD CONSTRAINT uploads_visibility CHECK ((visibility IS NOT NULL) = (kind = 'brief') AND visibility IN ('public', 'awarded'));
COMMENT ON COLUMN uploads.task_id IS 'of a file of a brief; the others have a bid';

ALTER TABLE artifacts
  ALTER COLUMN bid_id DROP NOT NULL,
  ADD COLUMN owner_id uuid REFERENCES users (id),
  ADD CONSTRAINT artifacts_kind_known CHECK (kind IN ('sample', 'delivery', 'brief')),
  ADD CONSTRAINT artifacts_subject CHECK ((bid_id IS NULL) = (kind = 'brief'));
COMMENT ON COLUMN artifacts.owner_id IS 'who uploaded it; null for samples and deliveries from before this column';
CREATE INDEX artifacts_owner_idx ON artifacts (owner_id, created_at);

ALTER TABLE tasks ADD COLUMN file_count integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN tasks.file_count IS 'files of its brief; written behind the task''s lock';

-- What a user has in files of briefs and messages, so that the limits on it cost the same however many there are.
CREATE TABLE file_totals (
  user_id uuid PRIMARY KEY REFERENCES users (id),
  bytes   bigint NOT NULL,
  open    integer NOT NULL,
  CONSTRAINT file_totals_not_negative CHECK (bytes >= 0 AND open >= 0)
);
COMMENT ON TABLE file_totals IS 'kept by a trigger on uploads, whose row lock makes the limits exact';
COMMENT ON COLUMN file_totals.bytes IS 'of all uploads that are not refused, finished or not';
COMMENT ON COLUMN file_totals.open IS 'uploads that are neither finished nor refused';

CREATE FUNCTION uploads_total() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  owner uuid := coalesce(NEW.owner_id, OLD.owner_id);
  more_bytes bigint := 0;
  more_open integer := 0;
BEGIN
  IF coalesce(NEW.kind, OLD.kind) NOT IN ('brief', 'message') THEN
    RETURN NULL;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.refusal IS NULL THEN
    more_bytes := NEW.bytes;
    more_open := (NOT NEW.finished)::integer;
  END IF;
  IF TG_OP <> 'INSERT' AND OLD.refusal IS NULL THEN
    more_bytes := more_bytes - OLD.bytes;
    more_open := more_open - (NOT OLD.finished)::integer;
  END IF;
  IF more_bytes = 0 AND more_open = 0 THEN
    RETURN NULL;
  END IF;
  INSERT INTO file_totals (user_id, bytes, open) VALUES (owner, 0, 0) ON CONFLICT DO NOTHING;
  UPDATE file_totals SET bytes = bytes + more_bytes, open = open + more_open WHERE user_id = owner;
  RETURN NULL;
END $$;
CREATE TRIGGER uploads_total AFTER INSERT OR DELETE OR UPDATE OF finished, refusal ON uploads
  FOR EACH ROW EXECUTE FUNCTION uploads_total();

-- At the award a brief is frozen: its texts and files stay as they are for good.
CREATE FUNCTION brief_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the brief of a task that is no longer open is frozen' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER tasks_brief_frozen BEFORE UPDATE OF title, description, acceptance_criteria ON tasks FOR EACH ROW
  WHEN (OLD.status <> 'open' AND (OLD.title, OLD.description, OLD.acceptance_criteria)
    IS DISTINCT FROM (NEW.title, NEW.description, NEW.acceptance_criteria))
  EXECUTE FUNCTION brief_refuse_change();

CREATE FUNCTION brief_files_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM tasks WHERE id = coalesce(NEW.task_id, OLD.task_id) AND status = 'open') THEN
    RAISE EXCEPTION 'the brief of a task that is no longer open is frozen' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER artifacts_brief_frozen BEFORE INSERT OR UPDATE ON artifacts
  FOR EACH ROW WHEN (NEW.kind = 'brief') EXECUTE FUNCTION brief_files_refuse_change();
CREATE TRIGGER artifacts_brief_kept BEFORE DELETE ON artifacts
  FOR EACH ROW WHEN (OLD.kind = 'brief') EXECUTE FUNCTION brief_files_refuse_change();
