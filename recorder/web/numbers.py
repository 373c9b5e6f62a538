"""Numbers that come in as text: of an address, a form or a cursor."""

from __future__ import annotations

MOST_DIGITS = 18
"""What a column of the store holds for certain."""


def whole(given: str, *, signed: bool = False) -> int | None:
    """The whole number a text is; None for what is none, or more than the store can hold."""
    digits = given.removeprefix("-") if signed else given
    return int(given) if digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS else None
