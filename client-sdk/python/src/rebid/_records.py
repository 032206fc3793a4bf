"""The records, imported when the first one is needed: defining them takes longer than all the rest of `import rebid`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import types as records
else:

    class _Records:
        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("rebid.types"), name)

    records = _Records()

__all__ = ["records"]
