"""Blocks in tags, which clients and plugins put around and into what a person types."""

from __future__ import annotations

import re

_OPEN = re.compile(r"<([a-zA-Z][\w.:-]{0,60})(?:\s[^<>]{0,400})?>")
# Shorter names are more often written in prose (`<id>`) than left open by a client.
_SHORT_NAME = 4


def without_blocks(text: str) -> str:
    """The text with an empty line in the place of each `<name …>…</name>`; one left open goes to the text's end.

    What stays is literally in the text, line by line.
    """
    kept: list[str] = []
    position = start = 0
    never_closed: set[str] = set()
    while opened := _OPEN.search(text, position):
        name = opened[1]
        close = -1 if name in never_closed else text.find(f"</{name}>", opened.end())
        if close < 0 and len(name) >= _SHORT_NAME:
            return "\n\n".join([*kept, text[start : opened.start()], ""])
        if close < 0:
            never_closed.add(name)
            position = opened.end()
            continue
        kept.append(text[start : opened.start()])
        position = start = close + len(name) + 3
    return "\n\n".join([*kept, text[start:]])
