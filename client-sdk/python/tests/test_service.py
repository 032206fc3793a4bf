"""The client on a running service: the main job, lists, events, uploads of every kind, and what it costs."""

from __future__ import annotations

import asyncio
import gc
import io
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import IO

import httpx
import pytest
from conftest import Person

import rebid
from rebid import AsyncRebid, BadRequestError, Rebid, TaskStatusError, UploadProgress, types

TEXT = b"# Lounas\n\nLohikeitto\n" * 10_000


def award(service: str, buyer: Person, bidder: Person) -> tuple[str, str]:
    """A task that is awarded to a bid; their ids."""
    with Rebid(base_url=service, api_key=buyer.key) as ada, Rebid(base_url=service, api_key=bidder.key) as bo:
        task = ada.tasks.create(title="Menu", description="Two dishes.", max_budget_cents=1_000, tags=[]).task
        bid = bo.bids.place(task.id, price_cents=1_000, eta_hours=2).bid
        ada.tasks.award(task.id, bid_id=bid.id, expected_price_cents=1_000)
        return task.id, bid.id


def test_a_task_goes_from_its_post_to_its_payment(service: str, buyer: Person, bidder: Person, tmp_path: Path) -> None:
    task_id, bid_id = award(service, buyer, bidder)
    file = tmp_path / "menu.md"
    file.write_bytes(TEXT)
    steps: list[UploadProgress] = []
    with Rebid(base_url=service, api_key=buyer.key) as ada, Rebid(base_url=service, api_key=bidder.key) as bo:
        delivery = bo.bids.upload_delivery(bid_id, file, on_progress=steps.append).delivery
        assert (delivery.file_name, delivery.bytes) == ("menu.md", len(TEXT))
        assert [steps[0].sent_bytes, steps[-1].sent_bytes] == [0, len(TEXT)]
        assert httpx.get(delivery.download_url).content == TEXT
        assert ada.tasks.wait_for(task_id, ["delivered"]).status == "delivered"
        accepted = ada.tasks.accept(task_id).task
        assert accepted.status == "accepted"
        assert isinstance(accepted.created_at, datetime) and accepted.created_at.tzinfo is not None
        with pytest.raises(TaskStatusError):
            ada.tasks.wait_for(task_id, ["disputed"])
        types_seen = [event.type for event in ada.events.list(types=["task.accepted", "delivery.posted"]).events]
        assert types_seen[-2:] == ["delivery.posted", "task.accepted"]


def test_a_brief_and_a_message_have_files(service: str, buyer: Person, bidder: Person) -> None:
    with Rebid(base_url=service, api_key=buyer.key) as ada, Rebid(base_url=service, api_key=bidder.key) as bo:
        task = ada.tasks.create(title="Menu", description="Two dishes.", max_budget_cents=1_000, tags=[]).task
        page = ada.tasks.upload_file(task.id, TEXT, file_name="page.md", mime_type="text/markdown", visibility="awarded")
        assert (page.file.file_name, page.file.bytes, page.file.visibility) == ("page.md", len(TEXT), "awarded")
        bid = bo.bids.place(task.id, price_cents=1_000, eta_hours=2).bid
        draft = bo.messages.upload_file(bid.id, TEXT, file_name="draft.md", mime_type="text/markdown").file
        bo.messages.send(bid.id, text="Like this?", file_ids=[draft.id])
        message = next(iter(ada.messages.list(bid.id)))
        assert message.text == "Like this?"
        assert httpx.get(message.files[0].download_url).content == TEXT
        ada.tasks.cancel(task.id)


@pytest.mark.parametrize(
    "open_file",
    [lambda: TEXT, lambda: io.BytesIO(TEXT), lambda: Unseekable(TEXT)],
    ids=["bytes", "a stream", "a stream that cannot seek"],
)
def test_every_kind_of_file_is_uploaded_whole(
    service: str, buyer: Person, bidder: Person, open_file: Callable[[], bytes | IO[bytes]]
) -> None:
    _, bid_id = award(service, buyer, bidder)

    async def upload() -> types.FinalizeSampleResponse:
        async with AsyncRebid(base_url=service, api_key=bidder.key) as bo:
            return await bo.bids.upload_sample(
                bid_id, open_file(), mime_type="text/plain", file_name="a.txt", size_bytes=len(TEXT)
            )

    assert asyncio.run(upload()).sample.bytes == len(TEXT)


class Unseekable(io.BytesIO):
    def seekable(self) -> bool:
        return False


def test_a_file_of_another_size_than_declared_is_not_sent_again(service: str, buyer: Person, bidder: Person) -> None:
    _, bid_id = award(service, buyer, bidder)
    with Rebid(base_url=service, api_key=bidder.key) as bo, pytest.raises(ValueError, match="declared"):
        bo.bids.upload_delivery(bid_id, Unseekable(TEXT), size_bytes=5)


def test_lists_are_walked_page_by_page(service: str, buyer: Person) -> None:
    with Rebid(base_url=service, api_key=buyer.key) as ada:
        for count in range(3):
            ada.tasks.create(title=f"Task {count}", description="A.", max_budget_cents=100, tags=["pages"])
        tasks = ada.tasks.list(tag="pages", limit=2)
        assert [task.title for task in tasks] == ["Task 2", "Task 1", "Task 0"]
        first = tasks.page()
        assert len(first.tasks) == 2 and isinstance(first.next_cursor, str)
        assert [len(page.tasks) for page in tasks.pages()] == [2, 1]
        assert len(ada.tasks.list(tag="pages").to_list(limit=1)) == 1


def test_asyncio_walks_lists_and_follows_events(service: str, buyer: Person) -> None:
    async def walk() -> None:
        async with AsyncRebid(base_url=service, api_key=buyer.key) as ada:
            after = (await ada.events.list(after="latest")).next_cursor
            created = await ada.tasks.create(title="Watched", description="A.", max_budget_cents=100, tags=["watch"])
            assert [task.id async for task in ada.tasks.list(tag="watch")] == [created.task.id]
            await ada.tasks.cancel(created.task.id)
            async for event in ada.events.follow(types=["task.cancelled"], after=after):
                assert isinstance(event, types.TaskCancelledEvent)
                assert event.data.task.title == "Watched"
                break

    asyncio.run(walk())


def test_null_clears_a_field_and_nothing_leaves_it(service: str, buyer: Person) -> None:
    with Rebid(base_url=service, api_key=buyer.key) as ada:
        task = ada.tasks.create(
            title="A", description="B", acceptance_criteria="C", max_budget_cents=100, tags=[]
        ).task
        assert ada.tasks.update(task.id, title="D").task.acceptance_criteria == "C"
        assert ada.tasks.update(task.id, acceptance_criteria=None).task.acceptance_criteria is None


def test_what_has_no_method_is_called_by_its_path(service: str, buyer: Person) -> None:
    with Rebid(base_url=service, api_key=buyer.key) as ada:
        assert ada.request("GET", "/tasks", {"limit": 1, "status": ["open", "awarded"]})["tasks"] is not None
        answer = ada.with_response(ada.wallet.read)
        assert answer.status == 200 and answer.request_id and answer.data.available_cents > 0


def test_an_error_says_what_is_wrong_and_outlives_a_process(service: str, buyer: Person) -> None:
    with Rebid(base_url=service, api_key=buyer.key) as ada, pytest.raises(BadRequestError) as caught:
        ada.tasks.create(title="", description="A.", max_budget_cents=100, tags=[])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.code, copy.issues[0].path, copy.request_id) == ("invalid_input", "title", caught.value.request_id)


def test_a_key_that_is_no_header_is_refused_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError) as caught:
        Rebid(base_url="http://127.0.0.1", api_key="rb_live_secret\n")
    assert "secret" not in str(caught.value)
    monkeypatch.delenv("REBID_BASE_URL", raising=False)
    with pytest.raises(ValueError, match="REBID_BASE_URL"):
        Rebid()


def test_the_environment_says_where_and_who(service: str, buyer: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REBID_BASE_URL", service + "/")
    monkeypatch.setenv("REBID_API_KEY", buyer.key)
    with Rebid() as ada:
        assert ada.auth.me().user.id == buyer.id


def test_ten_thousand_calls_take_no_memory() -> None:
    answer = httpx.Response(200, json={"availableCents": 1, "heldCents": 2})
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, content=answer.content))
    with httpx.Client(transport=transport) as http_client:
        client = Rebid(base_url="http://rebid.test", api_key="rb_live_TEST", http_client=http_client)
        for _ in range(500):
            client.wallet.read()
        gc.collect()
        tracemalloc.start()
        before, _peak = tracemalloc.get_traced_memory()
        for _ in range(10_000):
            client.wallet.read()
        gc.collect()
        after, _peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert after - before < 100_000


def test_the_import_takes_little_more_than_that_of_its_dependencies() -> None:
    program = """
import time
started = time.process_time()
import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError
class Wallet(BaseModel): cents: int
theirs = time.process_time() - started
import rebid
print((time.process_time() - started) / theirs)
"""
    ratios = [float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(5)]
    assert min(ratios) < 1.5


def test_every_name_that_is_public_is_there() -> None:
    assert [name for name in rebid.__all__ if not hasattr(rebid, name)] == []
