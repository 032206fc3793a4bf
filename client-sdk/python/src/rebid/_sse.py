"""Server-sent events (WHATWG HTML, 9.2), as far as the service uses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Message(NamedTuple):
    data: str
    """Empty for a message that only moves the cursor."""
    id: str | None


class MessageParser:
    """Takes the bytes of a stream as they come, and returns the messages that are whole."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, chunk: bytes) -> Iterator[Message]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            text = line.removesuffix(b"\r").decode(errors="replace")
            if text == "":
                if self._data or self._id is not None:
                    yield Message("\n".join(self._data), self._id)
                self._data, self._id = [], None
                continue
            field, _, value = text.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                self._data.append(value)
            elif field == "id":
                self._id = value
