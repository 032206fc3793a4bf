ALTER TABLE tasks ADD COLUMN content_edited_at timestamptz(6);
COMMENT ON COLUMN tasks.content_edited_at IS
  'when title, description or acceptance criteria last changed; a bid placed before that shows it';
