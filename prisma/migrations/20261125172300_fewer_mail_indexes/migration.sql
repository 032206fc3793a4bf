-- 50,000 digests are added at once, and each index is a fifth of their time. Ids are time-ordered, so pruning needs none of its own.
DROP INDEX notification_mails_created_idx;
ALTER TABLE notification_mails DROP CONSTRAINT notification_mails_once;
CREATE UNIQUE INDEX notification_mails_reminder_key ON notification_mails (user_id, task_id, due_at) WHERE purpose = 'reminder';
