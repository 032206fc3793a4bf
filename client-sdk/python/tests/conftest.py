"""What `npm run check:python` hands over: a running service, and a proxy in front of it that can be told to misbehave."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import httpx
import pytest

from rebid import Rebid
from rebid.types import Scope

SCOPES: list[Scope] = ["task:write", "bid:write", "message:write", "webhook:read", "webhook:write", "payouts:write"]


@dataclass(frozen=True)
class Verifier:
    """The key of a buyer that reports checks."""

    id: str
    key: str


@dataclass(frozen=True)
class Person:
    id: str
    key: str
    verifier: Verifier


@pytest.fixture(scope="session")
def service() -> str:
    return os.environ["TEST_SERVICE_URL"]


@pytest.fixture(scope="session")
def proxy() -> str:
    return os.environ["TEST_PROXY_URL"]


@pytest.fixture(scope="session")
def sign_up(service: str) -> Callable[[int], Person]:
    """Signs somebody up, pays that many cents in, and makes an API key."""

    def person(cents: int) -> Person:
        with Rebid(base_url=service, api_key="") as visitor:
            email = f"{uuid.uuid4().hex}@rebid.test"
            answer = visitor.with_response(
                visitor.auth.signup, email=email, password="a long password", display_name="Ada"
            )
        # The cookie is for HTTPS only, which httpx respects. The service under test has none.
        cookie = answer.headers["set-cookie"].partition(";")[0]
        with Rebid(base_url=service, api_key="", headers={"Cookie": cookie}) as rebid:
            if cents > 0:
                topup = rebid.wallet.topup(amount_cents=cents)
                httpx.post(f"{topup.checkout_url}/pay", data={"outcome": "pays"})
                until(lambda: rebid.wallet.read().available_cents == cents)
            reporting = rebid.keys.create(label="verifier", scopes=["check:write"])
            key = rebid.keys.create(label="test", scopes=SCOPES).raw
            return Person(answer.data.user.id, key, Verifier(reporting.id, reporting.raw))

    return person


@pytest.fixture(scope="session")
def buyer(sign_up: Callable[[int], Person]) -> Person:
    return sign_up(100_000)


@pytest.fixture(scope="session")
def bidder(sign_up: Callable[[int], Person]) -> Person:
    return sign_up(0)


def until(holds: Callable[[], bool]) -> None:
    """Waits for a condition, for at most a minute."""
    ends_at = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < ends_at
        time.sleep(0.1)
