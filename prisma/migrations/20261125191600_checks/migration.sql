-- Checks of a delivery: how it is judged, agreed before the award, and what each check came to.

ALTER TABLE tasks
  ADD COLUMN checks               jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN check_keys           jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN accept_after_minutes smallint,
  ADD COLUMN accepts_at           timestamptz(6),
  ADD COLUMN accepted_by          text,
  ADD CONSTRAINT tasks_accept_after_bounded CHECK (accept_after_minutes BETWEEN 0 AND 2880),
  -- Checks only ever pay earlier than silence does.
  ADD CONSTRAINT tasks_accepts_in_window CHECK (accepts_at IS NULL OR accept_after_minutes IS NOT NULL),
  ADD CONSTRAINT tasks_accepted_by_known CHECK (accepted_by IN ('buyer', 'clock', 'checks'));
COMMENT ON COLUMN tasks.check_keys IS 'the API key that reports, by the name of its check: only the buyer sees it';
COMMENT ON COLUMN tasks.accepts_at IS
  'of a delivered task whose required checks have passed: when they accept it, unless somebody moves it before';
COMMENT ON COLUMN tasks.accepted_by IS 'null for a task that was accepted before this column existed';

-- For the sweep that accepts: at the end of the window, or before it because of checks.
CREATE INDEX tasks_acceptance_due_idx ON tasks (coalesce(accepts_at, acceptance_deadline_at)) WHERE status = 'delivered';
DROP INDEX tasks_acceptance_deadline_idx;

-- What is judged is frozen at the award, with the brief.
DROP TRIGGER tasks_brief_frozen ON tasks;
CREATE TRIGGER tasks_brief_frozen
  BEFORE UPDATE OF title, description, acceptance_criteria, checks, accept_after_minutes ON tasks FOR EACH ROW
  WHEN (OLD.status <> 'open' AND (OLD.title, OLD.description, OLD.acceptance_criteria, OLD.checks, OLD.accept_after_minutes)
    IS DISTINCT FROM (NEW.title, NEW.description, NEW.acceptance_criteria, NEW.checks, NEW.accept_after_minutes))
  EXECUTE FUNCTION brief_refuse_change();

ALTER TABLE artifacts
  ADD COLUMN checks            jsonb,
  ADD COLUMN checking          boolean NOT NULL DEFAULT false,
  ADD COLUMN checking_until    timestamptz(6),
  ADD COLUMN changes_requested boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN artifacts.checks IS 'of a delivery: what the checks of its task came to; null without checks';
COMMENT ON COLUMN artifacts.checking IS 'whether built-in checks are pending';
COMMENT ON COLUMN artifacts.changes_requested IS 'of a delivery: the buyer has asked for changes to it, so checks never accept it';
CREATE INDEX artifacts_checking_idx ON artifacts (created_at, id) WHERE checking;
