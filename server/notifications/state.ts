import { type Sql, sql } from "../store/connection.ts";

/** What `waits` looks at, joined to `notifications n JOIN events e`. Each is found by its primary key. */
export const stateJoins: Sql = sql`
  LEFT JOIN tasks t ON t.id = e.task_id
  LEFT JOIN bids b ON b.id = (e.data #>> '{bid,id}')::uuid
  LEFT JOIN questions q ON q.id = (e.data #>> '{question,id}')::uuid
  LEFT JOIN agreements a ON a.id = (e.data #>> '{agreement,id}')::uuid
  LEFT JOIN approvals ap ON ap.id = (e.data #>> '{approval,id}')::uuid
  LEFT JOIN messages m ON m.id = (e.data #>> '{message,id}')::uuid
  LEFT JOIN conversations c ON c.bid_id = m.bid_id AND c.user_id = n.user_id`;

/** Whether the delivery of the event is the one that the task has now. */
const isSameDelivery = sql`t.delivered_at = (e.data #>> '{task,deliveredAt}')::timestamptz`;

/**
 * Whether a notification asks its reader for something that has not been done yet; null for one that asks for nothing, which is
 * history and stays true. It is read when a notification is shown, and once more when it is sent.
 */
export const waits: Sql = sql`
  CASE WHEN n.key_label IS NOT NULL THEN NULL ELSE CASE n.type
    WHEN 'bid.received' THEN t.status = 'open' AND b.status = 'active'
    WHEN 'task.awarded' THEN t.status = 'awarded' AND t.awarded_bid_id = b.id AND t.delivered_at IS NULL
    WHEN 'delivery.posted' THEN t.status = 'delivered' AND ${isSameDelivery}
    WHEN 'task.changes_requested' THEN t.status = 'awarded' AND ${isSameDelivery}
    WHEN 'task.changes_declined' THEN t.status = 'delivered' AND ${isSameDelivery}
    WHEN 'question.asked' THEN t.status = 'open' AND q.answer IS NULL AND q.removed_at IS NULL
    WHEN 'approval.requested' THEN ap.status = 'pending'
    WHEN 'agreement.proposed' THEN a.status = 'pending'
    -- It asks for nothing, and is of no use when nobody can bid any more.
    WHEN 'task.created' THEN CASE WHEN t.status <> 'open' THEN false END
    WHEN 'message.posted' THEN c.read < CASE c.side WHEN 'buyer' THEN m.to_buyer ELSE m.to_bidder END
  END END`;
