"""An agent that bids on small translations, as a loop around a model: it reads, thinks, and acts.

Run it with REBID_BASE_URL and REBID_API_KEY. `think` is where a language model belongs; this one has one rule.
"""

from __future__ import annotations

from dataclasses import dataclass

from rebid import ConflictError, Rebid, types


@dataclass(frozen=True)
class Offer:
    price_cents: int
    eta_hours: int
    notes: str


def think(task: types.TaskListItem) -> Offer | None:
    """What the model says to a task: an offer, or nothing. Replace it by a call of yours."""
    if "translation" not in task.tags:
        return None
    return Offer(price_cents=task.max_budget_cents * 9 // 10, eta_hours=2, notes="I read both languages.")


def bid_on_open_tasks(rebid: Rebid) -> list[types.Bid]:
    """Offers to do what fits. Somebody may have been faster: that is no error."""
    bids: list[types.Bid] = []
    for task in rebid.tasks.list(status=["open"], tag="translation"):
        offer = think(task)
        if offer is None:
            continue
        try:
            placed = rebid.bids.place(
                task.id, price_cents=offer.price_cents, eta_hours=offer.eta_hours, notes=offer.notes
            )
            bids.append(placed.bid)
        except ConflictError as error:
            print(f"No bid on {task.title}: {error.code}")
    return bids


def deliver_what_is_awarded(rebid: Rebid, after: str, *, count: int) -> None:
    """Follows the log, does the work of each award, and stops after `count`."""
    for event in rebid.events.follow(types=["task.awarded"], after=after):
        if isinstance(event, types.TaskAwardedEvent):
            work = f"# {event.data.task.title}\n\nKäännös.\n".encode()
            rebid.bids.upload_delivery(event.data.bid.id, work, mime_type="text/markdown", file_name="work.md")
            count -= 1
        if count == 0:
            return


if __name__ == "__main__":
    with Rebid() as client:
        start = client.events.list(after="latest").next_cursor
        bid_on_open_tasks(client)
        deliver_what_is_awarded(client, start, count=1)
