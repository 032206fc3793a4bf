"""Sends requests, repeats what may be repeated, and turns refusals into exceptions."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import random
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

import httpx
from pydantic import TypeAdapter, ValidationError

from .._errors import RebidConnectionError, RebidError, RebidTimeoutError, RebidUploadError, error_of, parsed
from .._options import Answer, TryOptions
from .._request import Method, base_url_of, target_of
from .._retries import Safety, is_worth_retrying, retry_delay
from .._version import __version__

DEFAULT_TIMEOUT_SECONDS = 60.0
DEFAULT_MAX_RETRIES = 2
_USER_AGENT = f"rebid-python/{__version__} python/{platform.python_version()}"

_log = logging.getLogger("rebid")
Result = TypeVar("Result")
last_answer: ContextVar[Answer[Any] | None] = ContextVar("last_answer", default=None)
"""What the call that runs in this context was answered last, for `with_response`."""


class AsyncTransport:
    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None,
        timeout: float | None,
        max_retries: int,
        headers: Mapping[str, str] | None,
        http_client: httpx.AsyncClient | None,
    ) -> None:
        address = base_url or os.environ.get("REBID_BASE_URL")
        if not address:
            raise ValueError("Pass `base_url`, or set REBID_BASE_URL.")
        key = os.environ.get("REBID_API_KEY") if api_key is None else api_key
        # httpx' own message about a bad header would contain the key.
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            raise ValueError("`api_key` must be visible ASCII characters, such as rb_live_….")
        self._base_url = base_url_of(address)
        self._key = key
        self._timeout = timeout
        self._max_retries = max_retries
        self._headers = dict(headers or {})
        _check(timeout, max_retries)
        self._http = http_client or httpx.AsyncClient(timeout=None)
        self._owns_http = http_client is None
        # Tests replace these.
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self.random: Callable[[], float] = random.random

    async def close(self) -> None:
        if self._owns_http:
            await self._http.aclose()

    async def call(
        self,
        method: Method,
        path: str,
        fields: Mapping[str, object],
        options: Mapping[str, object],
        safety: Safety,
        result: type[Result] | TypeAdapter[Result] | None,
        *,
        wait_seconds: float = 0,
    ) -> Result:
        """Sends one request with all its retries; `wait_seconds` come on top of the time-out."""
        chosen = cast(TryOptions, options)
        target = target_of(method, path, fields)
        headers = self.headers(chosen)
        if target.body is not None:
            headers["Content-Type"] = "application/json"
        is_tried = chosen.get("dry_run", False)
        if is_tried:
            headers["Dry-Run"] = "true"
        key = chosen.get("idempotency_key") or (secrets.token_hex(16) if safety == "keyed" and not is_tried else None)
        if key is not None:
            headers["Idempotency-Key"] = key
        timeout = self.timeout_of(chosen)
        within = None if timeout is None else timeout + wait_seconds

        async def attempt() -> Answer[Any]:
            url = self._base_url + target.path
            async with self.open(method, url, headers, target.body, within) as response:
                return await _answer_of(response, within, result)

        answer = await self.with_retries(f"{method} {path}", chosen, safety, attempt)
        last_answer.set(answer)
        return cast(Result, answer.data)

    def headers(self, options: TryOptions) -> dict[str, str]:
        """The headers of every request to the service."""
        given = httpx.Headers({"Accept": "application/json", "User-Agent": _USER_AGENT})
        given.update(self._headers)
        given.update(options.get("headers") or {})
        if self._key:
            given["Authorization"] = f"Bearer {self._key}"
        return dict(given)

    def timeout_of(self, options: TryOptions) -> float | None:
        return options["timeout"] if "timeout" in options else self._timeout

    def url(self, path: str) -> str:
        return self._base_url + path

    async def with_retries(
        self, operation: str, options: TryOptions, safety: Safety, work: Callable[[], Awaitable[Result]]
    ) -> Result:
        """Runs `work` until it succeeds or a repeat is not worth it."""
        max_retries = options.get("max_retries", self._max_retries)
        _check(self.timeout_of(options), max_retries)
        retry = 0
        while True:
            try:
                return await work()
            except (RebidError, RebidConnectionError, RebidUploadError) as error:
                if retry >= max_retries or not is_worth_retrying(error, safety):
                    _log.debug("%s failed after %d attempts: %s", operation, retry + 1, type(error).__name__)
                    raise
                after = error.retry_after if isinstance(error, RebidError) else None
                delay = retry_delay(retry, after, self.random())
                _log.warning("%s is repeated in %.3f s: %s", operation, delay, type(error).__name__)
            await self.sleep(delay)
            retry += 1

    @asynccontextmanager
    async def open(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | AsyncIterator[bytes] | None,
        timeout: float | None,
        *,
        is_foreign: bool = False,
    ) -> AsyncIterator[httpx.Response]:
        """Sends one request; its response is read inside the block. A foreign address gets no key and no cookie."""
        request = self._http.build_request(method, url, headers=dict(headers), content=content, timeout=timeout)
        if is_foreign:
            for name in ("Authorization", "Cookie"):
                request.headers.pop(name, None)
        try:
            # A redirected POST would arrive as a GET, without its body. The client's own `auth` would replace the key.
            response = await self._http.send(request, stream=True, follow_redirects=False, auth=None)
            try:
                yield response
            finally:
                await response.aclose()
        except httpx.TimeoutException as error:
            raise RebidTimeoutError(f"No answer arrived within {timeout} seconds.") from error
        except (httpx.RequestError, httpx.StreamError) as error:
            raise RebidConnectionError("The service cannot be reached, or the connection broke.") from error


async def _answer_of(
    response: httpx.Response, timeout: float | None, result: type[Any] | TypeAdapter[Any] | None
) -> Answer[Any]:
    status, headers = response.status_code, response.headers
    content = await read_body(response, timeout)
    if not response.is_success:
        raise error_of(status, headers, parsed(content))
    request_id = headers.get("X-Request-Id")
    if status == 204:
        return Answer(None, status, headers, request_id)
    data = parsed(content)
    # A page of something between the service and us.
    if not isinstance(data, (dict, list)):
        raise error_of(status, headers, data)
    if result is None:
        return Answer(data, status, headers, request_id)
    try:
        adapter = result if isinstance(result, TypeAdapter) else _adapter(result)
        return Answer(adapter.validate_python(data), status, headers, request_id)
    except ValidationError as error:
        raise error_of(status, headers, data) from error


_adapters: dict[type[Any], TypeAdapter[Any]] = {}


def _adapter(result: type[Any]) -> TypeAdapter[Any]:
    if result not in _adapters:
        _adapters[result] = TypeAdapter(result)
    return _adapters[result]


async def read_body(response: httpx.Response, timeout: float | None) -> bytes:
    """The whole body. httpx' time-out begins anew with each piece, so a slow sender would never be too late."""
    ends_at = None if timeout is None else time.monotonic() + timeout
    pieces: list[bytes] = []
    async for piece in response.aiter_bytes():
        pieces.append(piece)
        if ends_at is not None and time.monotonic() > ends_at:
            raise RebidTimeoutError(f"No whole answer arrived within {timeout} seconds.")
    return b"".join(pieces)


def _check(timeout: float | None, max_retries: int) -> None:
    """With NaN, a request would end at once or be repeated for ever."""
    if timeout is not None and not timeout > 0:
        raise ValueError("`timeout` must be a number of seconds greater than 0, or None.")
    if not max_retries >= 0:
        raise ValueError("`max_retries` must be 0 or a greater number.")
