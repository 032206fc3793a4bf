-- The spam guard counts a buyer's tasks with the same text. See server/market/tasks/spamGuard.ts, which computes the hash.
ALTER TABLE tasks ADD COLUMN posted_text_hash bigint;
COMMENT ON COLUMN tasks.posted_text_hash IS
  'of title and description as they were posted and as people see them; later changes do not affect it; null in tasks from before it existed';
CREATE INDEX tasks_repeats_idx ON tasks (buyer_id, posted_text_hash, created_at DESC);
