"""The event log as it grows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

import httpx
from pydantic import ValidationError

from .._errors import RebidConnectionError, RebidError, error_of, parsed
from .._options import TryOptions
from .._retries import is_worth_retrying, retry_delay
from .._records import records
from .._sse import MessageParser
from .transport import AsyncTransport, read_body

if TYPE_CHECKING:
    from ..types import LogEvent

# A quiet stream has a comment every 15 seconds. Without one for so long, the connection is dead.
_IDLE_SECONDS = 45.0


class AsyncEventFollower:
    """Walk it with `async for`; it never ends by itself. Store `cursor` once an event is dealt with."""

    cursor: str | None
    """Goes on behind the event that was returned last, as `after` of another call."""

    def __init__(
        self,
        transport: AsyncTransport,
        types: Sequence[str] | None,
        after: str | None,
        options: Mapping[str, object],
    ) -> None:
        self.cursor = after
        self._transport = transport
        self._types = types
        self._options = cast(TryOptions, options)

    async def __aiter__(self) -> AsyncIterator[LogEvent]:
        transport = self._transport
        failures = 0
        has_connected = False
        retries_left = self._options.get("max_retries", transport._max_retries)
        while True:
            retry_after: int | None = None
            try:
                headers = {**transport.headers(self._options), "Accept": "text/event-stream"}
                async with transport.open("GET", self._url(), headers, None, _IDLE_SECONDS) as response:
                    await _check(response)
                    has_connected = True
                    parser = MessageParser()
                    async for chunk in response.aiter_bytes():
                        for message in parser.feed(chunk):
                            failures = 0
                            if message.data != "":
                                event = _event_of(message.data)
                                self.cursor = message.id or self.cursor
                                yield event
                            else:
                                self.cursor = message.id or self.cursor
            except (RebidError, RebidConnectionError) as error:
                # The first connection is like any call: it gives up after the client's retries.
                if not is_worth_retrying(error, "read") or (not has_connected and failures >= retries_left):
                    raise
                retry_after = error.retry_after if isinstance(error, RebidError) else None
            await transport.sleep(retry_delay(failures, retry_after, transport.random()))
            failures += 1

    def _url(self) -> str:
        query = {"types": ",".join(self._types) if self._types else None, "after": self.cursor}
        text = urlencode({name: value for name, value in query.items() if value is not None})
        return self._transport.url("/events/stream" + (f"?{text}" if text else ""))


async def _check(response: httpx.Response) -> None:
    if response.status_code != 200:
        content = await read_body(response, _IDLE_SECONDS)
        raise error_of(response.status_code, response.headers, parsed(content))


def _event_of(data: str) -> LogEvent:
    try:
        return records.parse_event(data)
    except ValidationError as error:
        raise RebidConnectionError("The event stream is garbled.") from error
