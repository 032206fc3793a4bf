"""The list of behaviours that the clients of both languages have in common, with and without asyncio."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import Person

import rebid
from rebid import AsyncRebid, Rebid, webhooks

behaviours: list[dict[str, Any]] = json.loads(Path(os.environ["TEST_BEHAVIOURS"]).read_text())


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


def options_of(behaviour: dict[str, Any]) -> dict[str, Any]:
    options = {snake(name): value for name, value in behaviour.get("options", {}).items()}
    if "timeout_ms" in options:
        options["timeout"] = options.pop("timeout_ms") / 1000
    return options


async def settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


async def run(client: Any, behaviour: dict[str, Any]) -> Any:
    if verify := behaviour.get("verify"):
        return webhooks.verify(verify["body"], verify["header"], verify["secret"], now=verify["nowSeconds"])
    if upload := behaviour.get("upload"):
        return await settled(
            client.bids.upload_delivery(
                upload["bidId"],
                upload["content"].encode(),
                mime_type=upload["mimeType"],
                file_name=upload["fileName"],
            )
        )
    if follow := behaviour.get("follow"):
        follower = client.events.follow(after=follow["after"])
        ids: list[str] = []
        if isinstance(client, AsyncRebid):
            async for event in follower:
                ids.append(event.id)
                if len(ids) == follow["take"]:
                    break
        else:
            for event in follower:
                ids.append(event.id)
                if len(ids) == follow["take"]:
                    break
        return {"ids": ids, "cursor": follower.cursor}
    namespace, _, verb = behaviour["call"].partition(".")
    method = getattr(getattr(client, namespace), snake(verb))
    fields = {snake(name): value for name, value in behaviour.get("input", {}).items()}
    return await settled(client.with_response(method, **fields, **options_of(behaviour)))


def assert_matches(found: Any, expected: Any) -> None:
    """Everything that is expected is there; there may be more."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert_matches(found[name], value)
    else:
        assert found == expected


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.model_dump(mode="json", by_alias=True) if hasattr(value, "model_dump") else value


def check_requests(behaviour: dict[str, Any], requests: list[dict[str, Any]]) -> None:
    assert len(requests) == behaviour.get("requests", 0)
    keys = {request["headers"].get("idempotency-key") for request in requests}
    match behaviour.get("keys"):
        case None:
            pass
        case "none":
            assert keys == {None}
        case "one":
            assert len(keys) == 1 and re.fullmatch(r"[0-9a-f]{32}", keys.pop())
        case key:
            assert keys == {key}
    if "paths" in behaviour:
        assert [f"{request['method']} {request['path']}" for request in requests] == behaviour["paths"]
    if "bodies" in behaviour:
        bodies = [request["body"] for request in requests]
        assert [json.loads(body) if body.startswith("{") else body for body in bodies] == behaviour["bodies"]
    if "authorized" in behaviour:
        assert ["authorization" in request["headers"] for request in requests] == behaviour["authorized"]


async def check(client: Any, pauses: list[float], behaviour: dict[str, Any], proxy: str) -> None:
    httpx.post(f"{proxy}/__script", json=behaviour.get("steps", []))
    if fails := behaviour.get("fails"):
        with pytest.raises(getattr(rebid, fails["class"])) as caught:
            await run(client, behaviour)
        assert type(caught.value).__name__ == fails["class"]
        for name, value in fails.items():
            if name == "message":
                assert str(caught.value) == value
            elif name != "class":
                assert_matches(plain(getattr(caught.value, snake(name))), value)
    else:
        outcome = await run(client, behaviour)
        if "events" in behaviour:
            assert outcome == {"ids": behaviour["events"], "cursor": behaviour["cursor"]}
        if "result" in behaviour:
            assert_matches(plain(outcome.data if "call" in behaviour else outcome), behaviour["result"])
        for name, value in behaviour.get("answerHeaders", {}).items():
            assert outcome.headers[name] == value
    check_requests(behaviour, httpx.get(f"{proxy}/__requests").json())
    if "pausesMs" in behaviour:
        # TypeScript rounds to whole milliseconds.
        assert [round(pause * 1000 + 0.01) for pause in pauses] == behaviour["pausesMs"]
    if behaviour.get("signs"):
        verify = behaviour["verify"]
        signed_at = int(re.findall(r"\d+", verify["header"])[0])
        assert webhooks.sign(verify["body"], verify["secret"], now=signed_at) == verify["header"]


@pytest.mark.parametrize("behaviour", behaviours, ids=lambda behaviour: behaviour["name"])
def test_in_python(behaviour: dict[str, Any], proxy: str, buyer: Person) -> None:
    pauses: list[float] = []
    with Rebid(base_url=proxy, api_key=buyer.key) as client:
        client._transport.sleep = pauses.append
        client._transport.random = lambda: 0.5
        asyncio.run(check(client, pauses, behaviour, proxy))


@pytest.mark.parametrize("behaviour", behaviours, ids=lambda behaviour: behaviour["name"])
def test_in_python_with_asyncio(behaviour: dict[str, Any], proxy: str, buyer: Person) -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def checked() -> None:
        async with AsyncRebid(base_url=proxy, api_key=buyer.key) as client:
            client._transport.sleep = pause
            client._transport.random = lambda: 0.5
            await check(client, pauses, behaviour, proxy)

    asyncio.run(checked())
