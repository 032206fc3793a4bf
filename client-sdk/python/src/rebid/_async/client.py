"""The client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from .._options import Answer
from .._request import Method
from .._retries import Safety
from .namespaces import AsyncNamespaces
from .resources import AsyncApprovals, AsyncBids, AsyncEvents, AsyncMessages, AsyncTasks
from .transport import DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT_SECONDS, AsyncTransport, last_answer

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, Self, Unpack

    from .._options import TryOptions

    Parameters = ParamSpec("Parameters")

Result = TypeVar("Result")


class AsyncRebid(AsyncNamespaces):
    """The client of a Rebid service. Its namespaces and methods are those of the service's procedures.

        async with AsyncRebid(base_url="https://rebid.example", api_key="rb_live_…") as rebid:
            wallet = await rebid.wallet.read()
            print(wallet.available_cents)

    - `base_url`: where the service is; by default `REBID_BASE_URL`.
    - `api_key`: by default `REBID_API_KEY`; with `""`, requests are anonymous or have the session of `auth.login`.
    - `timeout`: seconds that one attempt may take; `None` for no limit.
    - `max_retries`: how often a failed request is repeated. All repeats of a change have one `Idempotency-Key`.
    - `headers`: sent with every request.
    - `http_client`: an httpx client of yours, such as one with a proxy. Close it yourself.

    What is repeated and what fails is logged by the logger `rebid`, without keys, bodies and headers.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = DEFAULT_TIMEOUT_SECONDS,
        max_retries: int = DEFAULT_MAX_RETRIES,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        transport = AsyncTransport(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout,
            max_retries=max_retries,
            headers=headers,
            http_client=http_client,
        )
        super().__init__(transport)
        self._transport = transport
        self.tasks = AsyncTasks(transport)
        self.bids = AsyncBids(transport)
        self.approvals = AsyncApprovals(transport)
        self.messages = AsyncMessages(transport)
        self.events = AsyncEvents(transport)

    async def request(
        self,
        method: Method,
        path: str,
        fields: Mapping[str, object] | None = None,
        **options: Unpack[TryOptions],
    ) -> Any:
        """Calls an operation that this version has no method for, with the same retries and exceptions.

        The fields that `path` does not name go into the query of a GET, and into the body otherwise. Names are those of
        the wire, and what is answered is not checked.

            await rebid.request("POST", "/tasks/{id}/award", {"id": task.id, "bidId": bid.id})
        """
        safety: Safety = "read" if method == "GET" else "keyed"
        return await self._transport.call(method, path, fields or {}, options, safety, None)

    async def with_response(
        self,
        method: Callable[Parameters, Awaitable[Result]],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Answer[Result]:
        """Calls a method, and returns its result with the answer's status, headers and request id.

            answer = await rebid.with_response(rebid.tasks.read, task_id)
            print(answer.request_id, answer.data.task.status)
        """
        before = last_answer.set(None)
        try:
            data = await method(*args, **kwargs)
            answer = last_answer.get()
        finally:
            last_answer.reset(before)
        if answer is None:
            raise TypeError("`with_response` takes a method of this client that sends a request.")
        return Answer(data, answer.status, answer.headers, answer.request_id)

    async def close(self) -> None:
        """Closes the connections, unless the httpx client is yours."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
