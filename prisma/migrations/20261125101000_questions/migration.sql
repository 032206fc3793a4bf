-- Questions about open tasks, and the buyer's answers.

CREATE TABLE questions (
  id               uuid PRIMARY KEY DEFAULT uuid_v7(),
  task_id          uuid NOT NULL REFERENCES tasks (id),
  asker_id         uuid NOT NULL REFERENCES users (id),
  text             text CHECK (char_length(text) BETWEEN 1 AND 2000),
  answer           text CHECK (char_length(answer) BETWEEN 1 AND 5000),
  answered_at      timestamptz(6),
  answer_edited_at timestamptz(6),
  removed_at       timestamptz(6),
  created_at       timestamptz(6) NOT NULL DEFAULT service_now(),
  CONSTRAINT questions_feed_key UNIQUE (task_id, created_at),
  CONSTRAINT questions_answer CHECK ((answer IS NULL) = (answered_at IS NULL) AND (answer IS NOT NULL OR answer_edited_at IS NULL)),
  CONSTRAINT questions_removed CHECK ((text IS NULL) = (removed_at IS NOT NULL) AND (removed_at IS NULL OR answer IS NULL))
);
COMMENT ON TABLE questions IS 'a moderator who removes one erases its words and those of the answer';
CREATE INDEX questions_asker_idx ON questions (asker_id, created_at);
CREATE INDEX questions_unanswered_idx ON questions (task_id, asker_id) WHERE answer IS NULL AND removed_at IS NULL;

ALTER TABLE tasks ADD COLUMN question_count integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN tasks.question_count IS 'without those that a moderator has removed; written behind the task''s lock';

ALTER TABLE moderation_actions
  ADD COLUMN question_id uuid REFERENCES questions (id),
  DROP CONSTRAINT moderation_actions_action_known,
  ADD CONSTRAINT moderation_actions_action_known CHECK (action IN (
    'resolve_dispute', 'suspend_user', 'reinstate_user', 'add_moderator', 'remove_moderator', 'remove_second_factor',
    'remove_question')),
  ADD CONSTRAINT moderation_actions_question CHECK ((action = 'remove_question') = (question_id IS NOT NULL));
