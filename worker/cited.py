"""Which memories an answer names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from recorder.models import EventKind, StoredEvent

ANSWERS = (EventKind.ASSISTANT, EventKind.TURN_END)
"""The last words of a turn stand with its end where no transcript was read."""
_NAMED = re.compile(r"(?<![\w.])m([1-9]\d{0,17})(?!\w)")


def ids(events: Iterable[StoredEvent]) -> set[int]:
    """The ids of memories that assistant text names as recall shows them: `as m12 says` names 12."""
    answers = (event.text or event.excerpt for event in events if event.kind in ANSWERS)
    return {int(number) for text in answers for number in _NAMED.findall(text)}
