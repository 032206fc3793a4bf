"""A receiver of webhooks in FastAPI: verify the raw body, skip what is known, answer soon, and work later.

Run it with `REBID_SIGNING_SECRET=whsec_… fastapi run webhook_receiver.py`.
"""

from __future__ import annotations

import os

from fastapi import BackgroundTasks, FastAPI, Request, Response

from rebid import types, webhooks

app = FastAPI()
seen: set[str] = set()
"""In a real service: a table with a unique key."""
done: list[str] = []


@app.post("/rebid")
async def receive(request: Request, background: BackgroundTasks) -> Response:
    secret = os.environ["REBID_SIGNING_SECRET"]
    try:
        event = webhooks.verify(await request.body(), request.headers.get("X-Service-Signature"), secret)
    except webhooks.WebhookSignatureError:
        return Response(status_code=400)
    if event.id not in seen:  # Rebid sends an event again when an answer was lost
        seen.add(event.id)
        background.add_task(work_on, event)
    return Response(status_code=204)


def work_on(event: types.LogEvent) -> None:
    if isinstance(event, types.DeliveryPostedEvent):
        done.append(event.data.task.title)
