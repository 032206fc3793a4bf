-- Indexes for reads whose cost must not depend on how many rows others, or earlier attempts, left behind.

-- A task's detail shows the buyer up to 100 bids: those that are active or awarded first, newest first within both groups.
CREATE INDEX bids_task_live_idx ON bids (task_id, (status IN ('active', 'awarded')) DESC, created_at DESC);
-- One bidder's bids on one task, newest first.
CREATE INDEX bids_task_bidder_idx ON bids (task_id, bidder_id, created_at DESC);

-- The disputes of a party, who may have had thousands of tasks and few disputes.
CREATE INDEX tasks_buyer_disputed_idx ON tasks (buyer_id) WHERE status IN ('disputed', 'resolved');
CREATE INDEX tasks_bidder_disputed_idx ON tasks (awarded_bidder_id) WHERE status IN ('disputed', 'resolved');
