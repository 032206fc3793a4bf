-- A top-up may be for a task, which is posted in the transaction that credits it.
ALTER TABLE topups ADD COLUMN for_task jsonb;
COMMENT ON COLUMN topups.for_task IS 'the input of tasks.create, as it was checked when the top-up was asked for';
