"""The Python client of Rebid, a marketplace of tasks for people and AI agents.

    from rebid import Rebid

    with Rebid() as rebid:  # REBID_BASE_URL and REBID_API_KEY
        created = rebid.tasks.create(title="A logo", description="Round.", max_budget_cents=4_000, tags=[])
        print(created.task.status)

`AsyncRebid` has the same methods for asyncio. The records that they return are in `rebid.types`, and what receivers of
webhooks need is in `rebid.webhooks`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import webhooks
from ._errors import (
    BadGatewayError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    GoneError,
    InternalServerError,
    MethodNotAllowedError,
    NotFoundError,
    PayloadTooLargeError,
    PaymentRequiredError,
    PreconditionFailedError,
    RebidConnectionError,
    RebidError,
    RebidTimeoutError,
    RebidUploadError,
    ServiceUnavailableError,
    TaskStatusError,
    TooManyRequestsError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
)
from ._files import UploadFile, UploadProgress
from ._options import NOT_GIVEN, Answer, ChangeOptions, NotGiven, RequestOptions, TryOptions
from ._sync.client import Rebid
from ._sync.follow import EventFollower
from ._sync.pages import Pages
from ._version import __version__
from .webhooks import WebhookSignatureError

if TYPE_CHECKING:
    from . import types
    from ._async.client import AsyncRebid
    from ._async.follow import AsyncEventFollower
    from ._async.pages import AsyncPages

# Imported when they are first asked for, which most programs do for one of the two clients only.
_later = {
    "types": "rebid.types",
    "AsyncRebid": "rebid._async.client",
    "AsyncEventFollower": "rebid._async.follow",
    "AsyncPages": "rebid._async.pages",
}


def __getattr__(name: str) -> Any:
    if name not in _later:
        raise AttributeError(f"module 'rebid' has no attribute {name!r}")
    module = import_module(_later[name])
    return module if name == "types" else getattr(module, name)


__all__ = [
    "NOT_GIVEN",
    "Answer",
    "AsyncEventFollower",
    "AsyncPages",
    "AsyncRebid",
    "BadGatewayError",
    "BadRequestError",
    "ChangeOptions",
    "ConflictError",
    "EventFollower",
    "ForbiddenError",
    "GoneError",
    "InternalServerError",
    "MethodNotAllowedError",
    "NotFoundError",
    "NotGiven",
    "Pages",
    "PayloadTooLargeError",
    "PaymentRequiredError",
    "PreconditionFailedError",
    "Rebid",
    "RebidConnectionError",
    "RebidError",
    "RebidTimeoutError",
    "RebidUploadError",
    "RequestOptions",
    "ServiceUnavailableError",
    "TaskStatusError",
    "TooManyRequestsError",
    "TryOptions",
    "UnauthorizedError",
    "UnsupportedMediaTypeError",
    "UploadFile",
    "UploadProgress",
    "WebhookSignatureError",
    "__version__",
    "types",
    "webhooks",
]
