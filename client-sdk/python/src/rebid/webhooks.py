"""What a receiver of webhooks needs.

    from rebid import webhooks

    @app.post("/rebid")
    async def receive(request: Request) -> Response:
        try:
            event = webhooks.verify(await request.body(), request.headers.get("X-Service-Signature"), SECRET)
        except webhooks.WebhookSignatureError:
            return Response(status_code=400)
        if isinstance(event, types.TaskAwardedEvent):
            print(event.data.task.title)
        return Response(status_code=204)
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from typing import TYPE_CHECKING

from ._records import records

if TYPE_CHECKING:
    from .types import LogEvent

__all__ = ["WebhookSignatureError", "sign", "verify"]


class WebhookSignatureError(Exception):
    """The body is not an event from Rebid, or is too old. Answer with 400 and do nothing."""


def verify(
    body: str | bytes, header: str | None, secret: str, *, tolerance: float = 300, now: float | None = None
) -> LogEvent:
    """Returns the event in a webhook's body if its signature is right; raises `WebhookSignatureError` otherwise.

    `body` is the raw body: one that was parsed and printed again has other bytes. `header` is the header
    `X-Service-Signature`, and `secret` the `signing_secret` of the endpoint, `whsec_…`. The signature's time may be
    `tolerance` seconds from `now`, a Unix time.
    """
    content = _bytes(body)
    key = _key(secret)
    signed_at, signatures = _parsed(header)
    if not abs((time.time() if now is None else now) - signed_at) <= tolerance:
        raise WebhookSignatureError("The signature's time is too far from now. Is the clock right?")
    right = _signature(key, signed_at, content)
    # All are compared, so that the time tells nothing: there are several while a secret is being replaced.
    if not any([hmac.compare_digest(right, signature) for signature in signatures]):
        raise WebhookSignatureError("The signature is wrong: another secret, or not the body that was sent.")
    return records.parse_event(content)


def sign(body: str | bytes, secret: str, *, now: float | None = None) -> str:
    """Returns the header `X-Service-Signature` that Rebid would send with this body, for tests of a receiver.

    header = webhooks.sign(body, "whsec_test")
    """
    signed_at = int(time.time() if now is None else now)
    return f"t={signed_at},v1={_signature(_key(secret), signed_at, _bytes(body))}"


def _parsed(header: str | None) -> tuple[int, list[str]]:
    """One time, and one or more signatures. Other parts are for other versions."""
    parts = [part.strip().partition("=") for part in (header or "").split(",")]
    times = [value for name, _, value in parts if name == "t"]
    signatures = [value for name, _, value in parts if name == "v1" and re.fullmatch(r"[0-9a-f]{64}", value)]
    if len(times) != 1 or not re.fullmatch(r"[0-9]{1,12}", times[0]) or not signatures:
        raise WebhookSignatureError("The header X-Service-Signature is missing, or is not `t=…,v1=…`.")
    return int(times[0]), signatures


def _signature(key: bytes, signed_at: int, body: bytes) -> str:
    return hmac.new(key, f"{signed_at}.".encode() + body, hashlib.sha256).hexdigest()


def _key(secret: str) -> bytes:
    if not isinstance(secret, str) or secret == "":
        raise TypeError("The signing secret is missing.")
    return secret.encode()


def _bytes(body: str | bytes) -> bytes:
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    raise TypeError("The body must be the raw one, as text or bytes: verify it before any JSON parser reads it.")
