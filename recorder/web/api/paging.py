"""Pages of a list: a limit, and a cursor that goes on behind the last row."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Path, Query

from recorder.errors import GateRefused

AT_MOST = 200

Limit = Annotated[int, Query(ge=1, le=AT_MOST)]
Cursor = Annotated[str | None, Query(max_length=2_000, description="`next` of the page before.")]
Id = Annotated[int, Path(ge=1, le=2**62)]
Row = TypeVar("Row")


def place(cursor: str | None) -> tuple[int, str] | None:
    """Where the page before ended.

    Raises: GateRefused for what is no cursor of ours.
    """
    if cursor is None:
        return None
    try:
        at, _, name = urlsafe_b64decode(cursor.encode("ascii")).decode().partition(":")
        at_ms = int(at)
    except ValueError:
        raise GateRefused("cursor", "cursor takes `next` of a page before, and nothing else") from None
    if not -(2**62) < at_ms < 2**62:
        raise GateRefused("cursor", "cursor takes `next` of a page before, and nothing else")
    return at_ms, name


def numbered(cursor: str | None) -> tuple[int, str] | None:
    """The same where rows have numbers.

    Raises: GateRefused.
    """
    found = place(cursor)
    if found is not None and not (found[1].isascii() and found[1].isdigit() and len(found[1]) < 19):
        raise GateRefused("cursor", "this cursor is of another list")
    return found


def after(rows: Sequence[Row], limit: int, of: Callable[[Row], tuple[int, object]]) -> str | None:
    """The cursor behind a page; None where it was the last."""
    if len(rows) < limit:
        return None
    at, name = of(rows[-1])
    return urlsafe_b64encode(f"{at}:{name}".encode("utf-8", "backslashreplace")).decode()
