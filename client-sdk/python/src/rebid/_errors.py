"""What a call can raise."""

from __future__ import annotations

import json
import math
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import ValidationError

from ._error_fields import ErrorFields
from ._records import records

if TYPE_CHECKING:
    from .types import ApiError, ErrorCode, InputIssue, TaskDetail


class RebidError(ErrorFields, Exception):
    """The service refused or failed to do what was asked.

    There is a subclass for each status. Each method's docstring has the codes that are its own; any call can also be
    refused with `invalid_input` (400), `payload_too_large` (413), `unsupported_media_type` (415), `rate_limited` (429),
    `internal_error` (500) or `unavailable` (503).

        try:
            rebid.tasks.create(title="A logo", description="Round.", max_budget_cents=4_000, tags=[])
        except PaymentRequiredError as error:
            print(error.code, error.needed_cents, error.available_cents)
    """

    status: int
    """The HTTP status."""
    code: ErrorCode | str
    """A stable code to program against; `unexpected_response` for an answer that is not the service's."""
    issues: list[InputIssue]
    """What is wrong with the input, field by field."""
    request_id: str | None
    """Quote it to report a problem."""
    retry_after: int | None
    """Seconds after which the same request may succeed."""
    body: Any
    """The body as it came: parsed if it was JSON, otherwise the text."""

    def __init__(self, status: int, headers: httpx.Headers, body: Any) -> None:
        known = _error_body(body) if status >= 400 else None
        super().__init__(_unexpected(status, headers, body) if known is None else _message(known))
        self._details = known
        self.status = status
        self.body = body
        self.code = "unexpected_response" if known is None else known.error
        self.issues = (known.issues if known else None) or []
        self.request_id = headers.get("X-Request-Id") or (known.request_id if known else None)
        self.retry_after = _retry_after(headers)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are pickled on their way out of a process of a pool.
        headers = {"X-Request-Id": self.request_id, "Retry-After": self.retry_after}
        kept = {name: str(value) for name, value in headers.items() if value is not None}
        return type(self), (self.status, httpx.Headers(kept), self.body)


class BadRequestError(RebidError):
    """400. The input is not valid, or not allowed here."""


class UnauthorizedError(RebidError):
    """401. There is no valid key or session."""


class PaymentRequiredError(RebidError):
    """402. The wallet has too little."""


class ForbiddenError(RebidError):
    """403. The caller may not do this."""


class NotFoundError(RebidError):
    """404. There is no such thing, or the caller may not see it."""


class MethodNotAllowedError(RebidError):
    """405. The path does not have this method."""


class ConflictError(RebidError):
    """409. The state of things does not allow it."""


class GoneError(RebidError):
    """410. It is no longer kept."""


class PreconditionFailedError(RebidError):
    """412. Something has to be done first."""


class PayloadTooLargeError(RebidError):
    """413. The body is too large."""


class UnsupportedMediaTypeError(RebidError):
    """415. The body is not JSON."""


class TooManyRequestsError(RebidError):
    """429. Too many requests; `retry_after` says when to come back."""


class InternalServerError(RebidError):
    """500. A bug of the service; quote the `request_id`."""


class BadGatewayError(RebidError):
    """502. The payment processor failed."""


class ServiceUnavailableError(RebidError):
    """503. The service cannot answer at the moment."""


class RebidConnectionError(Exception):
    """No answer arrived: the service cannot be reached, or the connection broke."""


class RebidTimeoutError(RebidConnectionError):
    """No answer arrived in time."""


class RebidUploadError(Exception):
    """The object store refused the bytes of an upload."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"The object store answered with status {status}: {body[:200]}")
        self.status = status
        self.body = body

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.status, self.body)


class TaskStatusError(Exception):
    """The task can no longer have any of the statuses that were waited for. `task` is what it is now."""

    def __init__(self, task: TaskDetail, statuses: tuple[str, ...]) -> None:
        super().__init__(f"The task is {task.status}, so it will not become {' or '.join(statuses)}.")
        self.task = task
        self._statuses = statuses

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task, self._statuses)


_classes: dict[int, type[RebidError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    402: PaymentRequiredError,
    403: ForbiddenError,
    404: NotFoundError,
    405: MethodNotAllowedError,
    409: ConflictError,
    410: GoneError,
    412: PreconditionFailedError,
    413: PayloadTooLargeError,
    415: UnsupportedMediaTypeError,
    429: TooManyRequestsError,
    500: InternalServerError,
    502: BadGatewayError,
    503: ServiceUnavailableError,
}


def error_of(status: int, headers: httpx.Headers, body: Any) -> RebidError:
    """The error of an answer, of the class of its status."""
    return _classes.get(status, RebidError)(status, headers, body)


def parsed(content: bytes) -> Any:
    """What a body says: JSON if it is, otherwise text."""
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")


def _error_body(body: Any) -> ApiError | None:
    """The body if it is one of the service's errors. Codes that are newer than this version are kept."""
    try:
        return records.ApiError.model_validate(body)
    except ValidationError:
        return None


def _message(body: ApiError) -> str:
    issues = body.issues or []
    first = [f"{issue.path}: {issue.message}" for issue in issues[:3]]
    return " ".join([body.message, *first, *(["…"] if len(issues) > len(first) else [])])


def _unexpected(status: int, headers: httpx.Headers, body: Any) -> str:
    """For an answer that is not the service's, such as a proxy's page."""
    if 300 <= status < 400:
        return f"The service redirects to {headers.get('Location')}: check `base_url`."
    text = body if isinstance(body, str) else json.dumps(body)
    return f"The service answered with status {status} and an unexpected body: {text[:200]}"


def _retry_after(headers: httpx.Headers) -> int | None:
    """`Retry-After` in seconds. It can also be a date (RFC 9110, 10.2.3)."""
    text = headers.get("Retry-After")
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return max(0, math.ceil(parsedate_to_datetime(text).timestamp() - time.time()))
    except ValueError:
        return None
