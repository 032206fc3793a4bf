"""Whether and when a request is repeated."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ._errors import RebidConnectionError, RebidError, RebidUploadError

Safety: TypeAlias = Literal["read", "keyed", "unkeyed"]
"""What a repeat would do: nothing new for a read and for a change with an `Idempotency-Key`; a second change without."""

_BASE_DELAY_SECONDS = 0.5
_MAX_DELAY_SECONDS = 8.0
# The service's rate limits have windows of a minute. Whoever has to wait for longer should know.
_MAX_RETRY_AFTER_SECONDS = 60
_RETRIED = {429, 500, 502, 503, 504}


def is_worth_retrying(error: BaseException, safety: Safety) -> bool:
    """Whether the same request, sent again, may succeed and cannot do anything twice."""
    if isinstance(error, RebidConnectionError):
        return safety != "unkeyed"
    if isinstance(error, RebidUploadError):
        return error.status >= 500 and safety != "unkeyed"
    if not isinstance(error, RebidError):
        return False
    if (error.retry_after or 0) > _MAX_RETRY_AFTER_SECONDS:
        return False
    # What exceeds a limit was not done. What failed in another way may have been.
    return error.status == 429 or (error.status in _RETRIED and safety != "unkeyed")


def retry_delay(retry: int, retry_after: int | None, chance: float) -> float:
    """Seconds: exponential, half of it by chance, so that many clients do not come back together."""
    backoff = min(_MAX_DELAY_SECONDS, _BASE_DELAY_SECONDS * 2.0 ** min(retry, 10)) * (0.5 + chance / 2)
    return backoff if retry_after is None else retry_after + backoff / 2
