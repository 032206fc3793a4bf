# Derived from _async/resources.py by `npm run sdk`.

"""What some namespaces have beside their procedures."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from .._errors import RebidError, RebidTimeoutError, RebidUploadError, TaskStatusError
from .._files import OnProgress, Source, UploadFile
from .._options import ChangeOptions, TryOptions
from .._statuses import next_statuses
from .follow import EventFollower
from .namespaces import ApprovalsApi, BidsApi, EventsApi, MessagesApi, TasksApi
from .transport import Transport, read_body

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._options import RequestOptions
    from ..types import (
        Approval,
        FinalizeDeliveryResponse,
        FinalizeMessageFileResponse,
        FinalizeSampleResponse,
        FinalizeTaskFileResponse,
        Dimensions,
        LogEventType,
        Task,
        TaskStatus,
        Visibility,
    )

# An upload may take long. Source: docs/contract.md "Uploads".
_UPLOAD_TIMEOUT_SECONDS = 3_600.0

# How long one request waits for an event. The task is read again after it, whether there was one or not.
_WAIT_SECONDS = 25


class Tasks(TasksApi):
    """The procedures of tasks, whole uploads of their files, and a way to wait for one."""

    def upload_file(
        self,
        id: str,
        file: UploadFile,
        *,
        visibility: Visibility | None = None,
        mime_type: str | None = None,
        file_name: str | None = None,
        size_bytes: int | None = None,
        on_progress: OnProgress | None = None,
        **options: Unpack[ChangeOptions],
    ) -> FinalizeTaskFileResponse:
        """Uploads a file for the brief of an open task of yours, as `bids.upload_sample` does for a sample.

        By default, whoever is signed in may download it.

            rebid.tasks.upload_file(task.id, "pages.pdf", visibility="awarded")
        """
        source = Source(file, mime_type, file_name, size_bytes)
        target = self.file_init(
            id,
            mime_type=source.mime_type,
            bytes=source.size_bytes,
            file_name=source.name,
            visibility=visibility,
            **_step(options, "init"),
        )
        put_file(self._transport, target.upload_url, source, options, on_progress)
        return self.file_finalize(id, storage_key=target.storage_key, **_step(options, "finalize"))

    def wait_for(
        self,
        id: str,
        statuses: Sequence[TaskStatus],
        *,
        give_up_after: float | None = None,
        **options: Unpack[RequestOptions],
    ) -> Task:
        """Waits until a task has one of these statuses, and returns it.

        Needs credentials. Waits for as long as it takes, or for `give_up_after` seconds, after which it raises
        `RebidTimeoutError`. Raises `TaskStatusError` if the task can no longer have any of the statuses. Name every
        status that you want to know of: a task that is accepted right after its delivery is no longer `delivered`.

            task = rebid.tasks.wait_for(task.id, ["delivered", "accepted"])
        """
        wanted = _names(statuses)
        ends_at = None if give_up_after is None else time.monotonic() + give_up_after
        events = EventsApi(self._transport)
        # The cursor is from before the first look, so that nothing falls between the two.
        after = (events.list(after="latest", **options)).next_cursor
        while True:
            task = (self.read(id, **options)).task
            if task.status in wanted:
                return cast("Task", task)  # the log has let us in, so we are signed in and see all of it
            if not _can_become(task.status, wanted):
                raise TaskStatusError(task, wanted)
            concerns = False
            while not concerns:
                wait = _WAIT_SECONDS if ends_at is None else min(_WAIT_SECONDS, int(ends_at - time.monotonic()))
                if wait < 0:
                    raise RebidTimeoutError(f"The task is {task.status} after {give_up_after} seconds.")
                page = events.list(after=after, wait=wait, **options)
                after = page.next_cursor
                concerns = not page.events or any(_task_id(event) == id for event in page.events)
                if wait == 0 and not page.events:
                    raise RebidTimeoutError(f"The task is {task.status} after {give_up_after} seconds.")


class Approvals(ApprovalsApi):
    """The procedures of approvals, and a way to wait for a person's answer."""

    def wait(
        self,
        error: BaseException | str,
        *,
        give_up_after: float | None = None,
        **options: Unpack[RequestOptions],
    ) -> Approval:
        """Waits until a person has answered, and returns the approval.

        It is `approved` with its `result`, `declined` with a `reason`, `failed` with an `error`, or over for another
        reason. Takes the error with which a request was refused, or an approval's id; raises again any error that is
        not `approval_required`. Waits for as long as it takes, at most 72 hours, or for `give_up_after` seconds, after
        which it raises `RebidTimeoutError`.

            try:
                rebid.tasks.award(id, bid_id=bid_id, expected_price_cents=price, idempotency_key=key)
            except RebidError as error:
                approval = rebid.approvals.wait(error)
        """
        id = _approval_id(error)
        ends_at = None if give_up_after is None else time.monotonic() + give_up_after
        events = EventsApi(self._transport)
        # The cursor is from before the first look, so that nothing falls between the two.
        after = (events.list(after="latest", **options)).next_cursor
        while True:
            approval = (self.read(id, **options)).approval
            if approval.status != "pending":
                return approval
            wait = _WAIT_SECONDS if ends_at is None else min(_WAIT_SECONDS, int(ends_at - time.monotonic()))
            if wait < 0:
                raise RebidTimeoutError(f"The approval is pending after {give_up_after} seconds.")
            page = events.list(after=after, wait=wait, types=["approval.decided"], **options)
            after = page.next_cursor
            if wait == 0:
                raise RebidTimeoutError(f"The approval is pending after {give_up_after} seconds.")


def _approval_id(error: BaseException | str) -> str:
    if isinstance(error, str):
        return error
    if isinstance(error, RebidError) and error.code == "approval_required" and error.approval is not None:
        if error.approval.id is not None:
            return error.approval.id
    raise error


class Events(EventsApi):
    """The event log, page by page or as it grows."""

    def follow(
        self,
        *,
        types: Sequence[LogEventType] | None = None,
        after: str | None = None,
        **options: Unpack[RequestOptions],
    ) -> EventFollower:
        """Follows the log: what happened since `after`, and then each event as it happens, in order and each once.

        Without `after`, it begins with the oldest event that is kept; with `latest`, now. When the connection breaks or
        the service restarts, it goes on behind the last event, for as long as it takes. Raises `GoneError` if the events
        behind `after` are no longer kept, and `UnauthorizedError` when the key or session has ended.

            for event in rebid.events.follow(after=stored_cursor):
                if isinstance(event, types.TaskAwardedEvent):
                    print(event.data.task.title)
        """
        return EventFollower(self._transport, types, after, options)


class Bids(BidsApi):
    """The procedures of bids, and whole uploads."""

    def upload_sample(
        self,
        id: str,
        file: UploadFile,
        *,
        mime_type: str | None = None,
        file_name: str | None = None,
        size_bytes: int | None = None,
        dimensions: Dimensions | None = None,
        duration_sec: float | None = None,
        on_progress: OnProgress | None = None,
        **options: Unpack[ChangeOptions],
    ) -> FinalizeSampleResponse:
        """Uploads a sample for an awarded bid of yours: declares it, sends the bytes, and finalises it.

        `file` is a path, bytes, or a stream; one that cannot seek needs `size_bytes` and is sent once. Each step is
        repeated when it fails. Raises `RebidUploadError` if the object store refuses the bytes.

            rebid.bids.upload_sample(bid.id, "logo.png", on_progress=lambda p: print(p.sent_bytes))
        """
        source = Source(file, mime_type, file_name, size_bytes)
        target = self.sample_init(
            id,
            mime_type=source.mime_type,
            bytes=source.size_bytes,
            file_name=source.name,
            dimensions=dimensions,
            duration_sec=duration_sec,
            **_step(options, "init"),
        )
        put_file(self._transport, target.upload_url, source, options, on_progress)
        return self.sample_finalize(id, storage_key=target.storage_key, **_step(options, "finalize"))

    def upload_delivery(
        self,
        id: str,
        file: UploadFile,
        *,
        mime_type: str | None = None,
        file_name: str | None = None,
        size_bytes: int | None = None,
        on_progress: OnProgress | None = None,
        **options: Unpack[ChangeOptions],
    ) -> FinalizeDeliveryResponse:
        """Uploads the delivery of an awarded bid of yours, as `upload_sample` does. The task is then `delivered`.

            rebid.bids.upload_delivery(bid.id, b"the report", mime_type="text/plain", file_name="report.txt")
        """
        source = Source(file, mime_type, file_name, size_bytes)
        target = self.delivery_init(
            id,
            mime_type=source.mime_type,
            bytes=source.size_bytes,
            file_name=source.name,
            **_step(options, "init"),
        )
        put_file(self._transport, target.upload_url, source, options, on_progress)
        return self.delivery_finalize(id, storage_key=target.storage_key, **_step(options, "finalize"))


class Messages(MessagesApi):
    """The procedures of conversations, and whole uploads of their files."""

    def upload_file(
        self,
        id: str,
        file: UploadFile,
        *,
        mime_type: str | None = None,
        file_name: str | None = None,
        size_bytes: int | None = None,
        on_progress: OnProgress | None = None,
        **options: Unpack[ChangeOptions],
    ) -> FinalizeMessageFileResponse:
        """Uploads a file for a message about a bid. Nobody else sees it until you send it, within 24 hours.

            file = (rebid.messages.upload_file(bid.id, "draft.pdf")).file
            rebid.messages.send(bid.id, file_ids=[file.id])
        """
        source = Source(file, mime_type, file_name, size_bytes)
        target = self.file_init(
            id,
            mime_type=source.mime_type,
            bytes=source.size_bytes,
            file_name=source.name,
            **_step(options, "init"),
        )
        put_file(self._transport, target.upload_url, source, options, on_progress)
        return self.file_finalize(id, storage_key=target.storage_key, **_step(options, "finalize"))


def put_file(
    transport: Transport,
    url: str,
    source: Source,
    options: ChangeOptions,
    on_progress: OnProgress | None,
) -> None:
    """Sends the bytes to the object store. Only a piece of the file is in memory at a time."""
    headers = {"Content-Type": source.mime_type, "Content-Length": str(source.size_bytes)}

    def pieces() -> Iterator[bytes]:
        for chunk in source.chunks(on_progress):
            yield chunk

    def attempt() -> None:
        try:
            timeout = _UPLOAD_TIMEOUT_SECONDS
            with transport.open("PUT", url, headers, pieces(), timeout, is_foreign=True) as response:
                body = read_body(response, timeout)
                if not response.is_success:
                    raise RebidUploadError(response.status_code, body.decode(errors="replace"))
        except Exception:
            if source.failure is not None:
                raise source.failure from None
            raise

    chosen = cast(TryOptions, dict(options))
    if not source.can_repeat:
        chosen["max_retries"] = 0
    transport.with_retries("PUT the file", chosen, "keyed", attempt)


def _step(options: ChangeOptions, step: str) -> ChangeOptions:
    """A call that uploads is several requests, each with a key of its own."""
    own = options.copy()
    if "idempotency_key" in own:
        own["idempotency_key"] = f"{own['idempotency_key']}:{step}"
    return own


def _names(statuses: Sequence[str]) -> tuple[str, ...]:
    if isinstance(statuses, str) or not statuses:
        raise TypeError("`statuses` must be a list with at least one status.")
    return tuple(statuses)


def _task_id(event: object) -> str | None:
    """The task that an event is about, whether this version knows its type or not."""
    data = getattr(event, "data", None)
    task = data.get("task") if isinstance(data, Mapping) else getattr(data, "task", None)
    found = task.get("id") if isinstance(task, Mapping) else getattr(task, "id", None)
    return found if isinstance(found, str) else None


def _can_become(status: str, statuses: tuple[str, ...], seen: tuple[str, ...] = ()) -> bool:
    """Whether a task with this status can still come to have one of the others. A new status may become anything."""
    if status not in next_statuses:
        return True
    return any(
        following in statuses or (following not in seen and _can_become(following, statuses, (*seen, following)))
        for following in next_statuses[status]
    )
