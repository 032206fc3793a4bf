"""The examples do what they say: on a running service, and behind a web server."""

from __future__ import annotations

import json

import bidder as bidder_example
import pytest
import verifier as verifier_example
import webhook_receiver
from conftest import Person
from fastapi.testclient import TestClient

from rebid import Rebid, types, webhooks


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


ADDER = b"print(sum(map(float, input().split())).__format__('g'))\n"


def test_the_verifier_runs_what_is_delivered_and_reports_it(
    service: str, buyer: Person, bidder: Person
) -> None:
    verifier = buyer.verifier
    with (
        Rebid(base_url=service, api_key=buyer.key) as ada,
        Rebid(base_url=service, api_key=bidder.key) as bo,
        Rebid(base_url=service, api_key=verifier.key) as judge,
    ):
        after = judge.events.list(after="latest").next_cursor
        for program in [ADDER, b"print(5)\n", b"raise SystemExit(1)\n"]:
            task = ada.tasks.create(
                title="An adder",
                description="Adds two numbers.",
                max_budget_cents=100,
                tags=[],
                checks=[types.NewExternalCheck(name="Tests", required=True, kind="external", key_id=verifier.id)],
                accept_on_checks=types.NewAcceptOnChecks(after_minutes=0),
            ).task
            bid = bo.bids.place(task.id, price_cents=100, eta_hours=1).bid
            ada.tasks.award(task.id, bid_id=bid.id, expected_price_cents=100)
            bo.bids.upload_delivery(bid.id, program, mime_type="text/x-python")
            if program is ADDER:
                assert [each.conclusion for each in verifier_example.follow(judge, after, count=1)] == ["passed"]
                accepted = bo.tasks.wait_for(task.id, ["accepted"])
                assert accepted.accepted_by == "checks"
                after = judge.events.list(after="latest").next_cursor
        verdicts = verifier_example.follow(judge, after, count=2)
        assert [each.conclusion for each in verdicts] == ["failed", "failed"]
        assert [each.summary for each in verdicts] == [
            "Test 2 of 3: the program printed '5' in place of '0'.",
            "Test 1 of 3: the program ended with an error.",
        ]


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
