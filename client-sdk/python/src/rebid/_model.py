"""The base of all records, and the way to the wire."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from ._options import NOT_GIVEN


def _wire_name(name: str) -> str:
    """`price_cents` is `priceCents` on the wire. Names that Python reserves have an underscore at their end."""
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name.rstrip("_"))


class Model(BaseModel):
    """A record of the service. Fields that this version does not know are kept in `model_extra`."""

    # Building the validators of all records would take longer than all the rest of the import; most programs use a few.
    model_config = ConfigDict(
        alias_generator=_wire_name, populate_by_name=True, extra="allow", defer_build=True, protected_namespaces=()
    )


def given(**fields: object) -> dict[str, object]:
    """The fields that are not `None`: for these, the service has no null."""
    return {name: value for name, value in fields.items() if value is not None}


def to_wire(value: object) -> Any:
    """What JSON writes for a value of an input."""
    if isinstance(value, Model):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise TypeError("A datetime needs a time zone, such as datetime.now(timezone.utc).")
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: to_wire(inner) for name, inner in value.items() if inner is not NOT_GIVEN}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_wire(item) for item in value]
    return value
