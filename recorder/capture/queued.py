"""The client's queue of what was typed while Claude worked, as a transcript tells of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from recorder.capture import keys

_WAITING_KEPT = 1000
_PAST_KEPT = 20
# The attachment of a queued prompt and its enqueue were up to 16 ms apart on a busy machine (seen in 2.1.197).
_SAME_MOMENT_MS = 2_000


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed, and when. `words` is a hash of the text: what is kept of a text may be redacted by then."""

    text: str
    at_ms: int
    words: str
    sent: bool = False
    """Whether a record of its own has told it."""
    images: int = 0
    """Pasted with it, or all there is of it."""


@dataclass(slots=True)
class Queue:
    """First in, first out. Of the operations only `enqueue` has always said the text."""

    waiting: list[Typed] = field(default_factory=list)
    absorbed: list[Typed] = field(default_factory=list)
    """Taken into a running turn, the last ones."""
    awaited: list[str] = field(default_factory=list)
    """Left the queue for a turn of their own, whose record is still to come: their words."""

    @classmethod
    def resume(cls, state: Mapping[str, Any]) -> Queue:
        """The queue as `state` left it."""
        return cls(_read(state.get("queue")), _read(state.get("absorbed")), list(state.get("awaited", ())))

    def state(self) -> dict[str, Any]:
        """What JSON can hold of it."""
        waiting = self.waiting[-_WAITING_KEPT:]
        return {
            "queue": [[item.text, item.at_ms, item.words, item.sent, item.images] for item in waiting],
            "absorbed": [["", item.at_ms, item.words] for item in self.absorbed[-_PAST_KEPT:]],
            "awaited": self.awaited[-_PAST_KEPT:],
        }

    def enqueue(self, text: str, at_ms: int, images: int = 0) -> None:
        self.waiting.append(Typed(text, at_ms, keys.words(text), images=images))

    def take_back(self) -> None:
        """All of it went back into the edit box."""
        self.waiting.clear()

    def dequeue(self, text: str) -> None:
        """A turn of its own begins; `text` is empty where the operation does not say which."""
        item = self._leaves(text)
        if item is not None and not item.sent:
            self.awaited.append(item.words)

    def absorb(self, text: str, at_ms: int) -> Typed | None:
        """What a running turn took in; None for what is unknown or told by a record of its own."""
        item = self._leaves(text)
        if item is None and text:
            # The file begins after the enqueue; an attachment may have told it already.
            known = self._moments(text, self.absorbed)
            item = Typed(text, known[-1] if known else at_ms, keys.words(text))
        if item is None or item.sent:
            return None
        self.absorbed.append(item)
        return item

    def attached(self, text: str, about_ms: int | None) -> int | None:
        """When a text that an attachment tells was typed: by the queue, if that was about then; else what was given."""
        moments = self._moments(text, (*self.absorbed, *self.waiting))
        if about_ms is None:
            return moments[-1] if moments else None
        nearest = min(moments, key=lambda at_ms: abs(at_ms - about_ms), default=about_ms)
        when_ms = nearest if abs(nearest - about_ms) <= _SAME_MOMENT_MS else about_ms
        if when_ms not in moments:
            self.absorbed.append(Typed(text, when_ms, keys.words(text)))
        return when_ms

    def told(self, text: str) -> None:
        """A record of its own told this text: what waits with the same words is the same prompt, unless expected."""
        words = keys.words(text)
        if words in self.awaited:
            self.awaited.remove(words)
            return
        for place, item in enumerate(self.waiting):
            if item.words == words and not item.sent:
                self.waiting[place] = replace(item, sent=True)
                return

    def _leaves(self, text: str) -> Typed | None:
        """Take out the entry with this text, or the first one where one side does not say it."""
        words = keys.words(text)
        place = next((at for at, item in enumerate(self.waiting) if text and item.words == words), None)
        if place is None:
            place = next((at for at, item in enumerate(self.waiting) if not text or not item.text), None)
        if place is None:
            return None
        item = self.waiting.pop(place)
        return item if item.text else replace(item, text=text, words=words)

    def _moments(self, text: str, items: tuple[Typed, ...] | list[Typed]) -> list[int]:
        words = keys.words(text)
        return [item.at_ms for item in items if item.words == words]


def _read(kept: Any) -> list[Typed]:
    """Entries out of a state; before there were hashes in it, it held text and time alone."""
    return [Typed(text, at_ms, *(more or [keys.words(text)])) for text, at_ms, *more in kept or ()]
