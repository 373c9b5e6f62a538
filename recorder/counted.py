"""How many of something, in words."""

from __future__ import annotations


def many(n: int, what: str, plural: str = "") -> str:
    """`1 file`, `2 files`, `1,200 memories`; `plural` where it is not the word with an s."""
    return f"{n:,} {what if n == 1 else plural or what + 's'}"
