/** A task as the service shows it to anyone who is signed in. */
export const shownColumns = `
  t.id, t.title, t.max_budget_cents AS "maxBudgetCents", t.tags, t.status, t.created_at AS "createdAt",
  t.bid_count AS "bidCount", t.description, t.acceptance_criteria AS "acceptanceCriteria",
  json_build_object('id', buyer.id, 'displayName', buyer.display_name) AS buyer,
  t.awarded_bid_id AS "awardedBidId", t.awarded_at AS "awardedAt", t.delivery_due_at AS "deliveryDueAt",
  t.delivered_at AS "deliveredAt", t.acceptance_deadline_at AS "acceptanceDeadlineAt",
  t.revisions, t.revisions_used AS "revisionsUsed", t.checks, t.accept_on_checks AS "acceptOnChecks",
  t.accepted_at AS "acceptedAt", t.closed_at AS "closedAt", t.closed_because AS "closedBecause", t.updated_at AS "updatedAt"`;

/** A task as its two sides see it. */
export const taskColumns = `${shownColumns}, t.changes, t.accepts_at AS "acceptsAt", t.accepted_by AS "acceptedBy"`;

/** A bid, with its bidder. */
export const bidColumns = `
  b.id, b.task_id AS "taskId", json_build_object('id', bidder.id, 'displayName', bidder.display_name) AS bidder,
  b.price_cents AS "priceCents", b.eta_hours::float8 AS "etaHours", b.notes, b.status, b.created_at AS "createdAt",
  b.updated_at AS "updatedAt", NULL AS "taskEditedAt"`;
