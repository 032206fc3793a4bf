"""What can be chosen for a call, and what comes back beside its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, Literal, TypeAlias, TypedDict, TypeVar

import httpx


class _Sentinel(Enum):
    NOT_GIVEN = "NOT_GIVEN"

    def __repr__(self) -> str:
        return self.value


NOT_GIVEN: Final = _Sentinel.NOT_GIVEN
"""The default of a parameter for which `None` has a meaning of its own: `None` clears the field, this leaves it."""

NotGiven: TypeAlias = Literal[_Sentinel.NOT_GIVEN]


class RequestOptions(TypedDict, total=False):
    """What can be chosen for any call."""

    timeout: float | None
    """How many seconds one attempt may take; `None` for no limit. By default the client's."""
    max_retries: int
    """How often a failed request is repeated. By default the client's."""
    headers: Mapping[str, str]


class ChangeOptions(RequestOptions, total=False):
    """What can be chosen for a call that changes something."""

    idempotency_key: str
    """A repeat with the same key within 24 hours does nothing and gets the first answer.

    By default, each call has a key of its own, which its retries keep. Choose one to be safe across restarts of your
    program too: `rebid.tasks.create(title=…, idempotency_key=f"order-{order.id}")`.
    """


class TryOptions(ChangeOptions, total=False):
    """What can be chosen for a change that can be tried."""

    dry_run: bool
    """Everything is done and then undone: the answer or the refusal is the real one, and nothing has changed."""


Result = TypeVar("Result")


@dataclass(frozen=True)
class Answer(Generic[Result]):
    """The result of a call with its HTTP metadata, as `with_response` returns it."""

    data: Result
    status: int
    headers: httpx.Headers
    request_id: str | None
    """Quote it to report a problem."""
