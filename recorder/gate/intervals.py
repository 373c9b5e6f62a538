"""What is left of the time something holds when other words are written over it."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.models import Memory, Precision, Proposal


@dataclass(frozen=True, slots=True)
class Interval:
    """From its first moment to the one it no longer holds at. None: open, or unknown where the precision says so."""

    from_ms: int | None = None
    from_precision: Precision | None = None
    to_ms: int | None = None
    to_precision: Precision | None = None

    @property
    def end_is_unknown(self) -> bool:
        return self.to_ms is None and self.to_precision is Precision.UNKNOWN

    def holds(self, at_ms: int) -> bool:
        """Whether it is known to hold at a moment."""
        begun = self.from_ms is None or self.from_ms <= at_ms
        return begun and not self.end_is_unknown and (self.to_ms is None or at_ms < self.to_ms)

    def after(self, at_ms: int) -> bool:
        """Whether any of it is known to lie at a moment or later."""
        return not self.end_is_unknown and (self.to_ms is None or self.to_ms > at_ms)


def of(said: Memory | Proposal) -> Interval:
    """When something that was said holds."""
    return Interval(said.valid_from_ms, said.valid_from_precision, said.valid_to_ms, said.valid_to_precision)


def overlaps(one: Interval, other: Interval) -> bool:
    """Whether something that is said of one takes anything away from what is said of the other."""
    return left_of(one, other) != (one,)


def left_of(old: Interval, new: Interval) -> tuple[Interval, ...]:
    """What of the old interval is left beside the new one: what lies before it, and what lies behind it.

    What was said later holds wherever its own interval does; it takes nothing else away. A beginning nobody knows
    counts as the beginning of time, and an end nobody knows as none: what was replaced is not said to be so again.
    """
    parts = []
    if new.from_ms is not None and (old.from_ms is None or old.from_ms < new.from_ms):
        ends_before = old.to_ms is not None and old.to_ms <= new.from_ms
        if ends_before or old.end_is_unknown:
            return (old,)
        parts.append(Interval(old.from_ms, old.from_precision, new.from_ms, new.from_precision))
    if new.to_ms is not None and (old.to_ms is None or old.to_ms > new.to_ms):
        if old.from_ms is not None and old.from_ms >= new.to_ms:
            return (old,)
        parts.append(Interval(new.to_ms, new.to_precision, old.to_ms, old.to_precision))
    return tuple(parts)
