"""The examples do what they say: on a running service, and behind a web server."""

from __future__ import annotations

import json

import bidder as bidder_example
import pytest
import webhook_receiver
from conftest import Person
from fastapi.testclient import TestClient

from rebid import Rebid, webhooks


def test_the_bidder_bids_and_delivers_what_it_is_awarded(service: str, buyer: Person, bidder: Person) -> None:
    with Rebid(base_url=service, api_key=buyer.key) as ada, Rebid(base_url=service, api_key=bidder.key) as bo:
        task = ada.tasks.create(
            title="A menu", description="Two dishes.", max_budget_cents=1_000, tags=["translation"]
        ).task
        after = bo.events.list(after="latest").next_cursor
        bids = bidder_example.bid_on_open_tasks(bo)
        assert [(bid.task_id, bid.price_cents) for bid in bids] == [(task.id, 900)]
        assert bidder_example.bid_on_open_tasks(bo) == []
        ada.tasks.award(task.id, bid_id=bids[0].id, expected_price_cents=900)
        bidder_example.deliver_what_is_awarded(bo, after, count=1)
        assert ada.tasks.wait_for(task.id, ["delivered"]).status == "delivered"


def test_the_receiver_takes_an_event_once_and_refuses_what_is_not_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REBID_SIGNING_SECRET", "whsec_test")
    event = {"id": "e1", "type": "moon.full", "createdAt": "2026-01-01T00:00:00.000Z", "data": {}}
    body = json.dumps(event).encode()
    headers = {"X-Service-Signature": webhooks.sign(body, "whsec_test")}
    with TestClient(webhook_receiver.app) as client:
        assert client.post("/rebid", content=body, headers=headers).status_code == 204
        assert client.post("/rebid", content=body, headers=headers).status_code == 204
        assert client.post("/rebid", content=body + b" ", headers=headers).status_code == 400
        assert client.post("/rebid", content=body).status_code == 400
    assert webhook_receiver.seen == {"e1"}
