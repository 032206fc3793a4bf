import hashlib
import hmac
import json
import re
import time


def verify(body: bytes, header: str, signing_secret: str) -> dict:
    """body is the raw body. Raises ValueError if the event is not from Rebid, or too old."""
    match = re.fullmatch(r"t=([0-9]+),v1=([0-9a-f]{64})", header)
    if match is None:
        raise ValueError("not a signature")
    t, v1 = match.groups()
    if abs(time.time() - int(t)) > 300:
        raise ValueError("too old")

    expected = hmac.new(signing_secret.encode(), f"{t}.".encode() + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, v1):
        raise ValueError("wrong signature")
    return json.loads(body)
