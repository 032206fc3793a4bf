"""Lists that are read page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Generic, TypeVar, cast

Item = TypeVar("Item")
Page = TypeVar("Page")

_MAX_PAGE_SIZE = 100


class AsyncPages(Generic[Item, Page]):
    """A list that is read page by page while it is walked.

        async for task in rebid.tasks.list(tag="design"):
            print(task.title)
    """

    def __init__(
        self, read: Callable[[Mapping[str, object]], Awaitable[Page]], fields: Mapping[str, object], items: str
    ) -> None:
        self._read = read
        self._fields = fields
        self._items = items

    async def page(self) -> Page:
        """Reads one page, as the service answers it: the first, or the one at `cursor`."""
        return await self._read(self._fields)

    async def pages(self) -> AsyncIterator[Page]:
        """The pages, one after the other."""
        fields = dict(self._fields)
        while True:
            page = await self._read(fields)
            yield page
            cursor = cast("str | None", getattr(page, "next_cursor"))  # noqa: B009, as every list has it
            if cursor is None:
                return
            fields["cursor"] = cursor

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in cast("list[Item]", getattr(page, self._items)):
                yield item

    async def to_list(self, *, limit: int | None) -> list[Item]:
        """Collects the first items, at most `limit`; `None` for all.

            tasks = await rebid.tasks.list().to_list(limit=200)
        """
        collected: list[Item] = []
        if limit is not None and limit < 1:
            return collected
        size = _MAX_PAGE_SIZE if limit is None else min(limit, _MAX_PAGE_SIZE)
        whole = AsyncPages[Item, Page](self._read, {"limit": size, **self._fields}, self._items)
        async for item in whole:
            collected.append(item)
            if limit is not None and len(collected) >= limit:
                break
        return collected
