"""Where a request goes, before anything is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

from ._model import to_wire

Method: TypeAlias = Literal["GET", "POST", "PATCH", "DELETE"]


def base_url_of(text: str) -> str:
    """The address in front of every path, without a slash at its end."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("`base_url` must be an address, such as https://rebid.example.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("`base_url` must have no user, password, query or fragment.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


class Target(NamedTuple):
    path: str
    """Relative to the base URL, with the query."""
    body: bytes | None


def target_of(method: Method, template: str, fields: Mapping[str, object]) -> Target:
    """Spreads an input over path, query and body.

    Raises `ValueError` for an id that would lead to another path: what comes from elsewhere may be anything.
    """
    # Behind the address of the service, `@example.com` would be another host.
    if not template.startswith("/"):
        raise ValueError(f"The path must begin with a slash, not {template!r}.")
    rest: dict[str, Any] = to_wire(fields)

    def parameter(match: re.Match[str]) -> str:
        value = rest.pop(match[1], None)
        if not isinstance(value, str) or value in ("", ".", ".."):
            raise ValueError(f"`{match[1]}` must be an id, not {value!r}.")
        return quote(_without_surrogates(value), safe="")

    path = re.sub(r"\{(\w+)\}", parameter, template)
    if not rest:
        return Target(path, None)
    if method != "GET":
        return Target(path, json.dumps(rest, allow_nan=False).encode())
    query = urlencode({name: _query_text(value) for name, value in rest.items()})
    return Target(f"{path}?{query}", None)


def _query_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(_query_text, value))
    return _without_surrogates(str(value))


def _without_surrogates(text: str) -> str:
    """Half of a surrogate pair cannot be encoded; the service refuses what it is replaced by."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)
