"""The room that is made for what is said of a time: what stood goes on beside it, before and behind."""

from __future__ import annotations

from dataclasses import dataclass

from recorder.gate.intervals import Interval, left_of, of
from recorder.gate.writer import Writer, note
from recorder.models import Memory, Proposal
from recorder.store import memories, validity
from recorder.store.db import Connection

CONTINUED = "continued"
"""What the history says of what goes on because what was said holds at another time."""


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of the versions that are believed, each with when it holds from now on. `lasts`: whether some of
    what stood holds now or later."""

    left: tuple[tuple[Memory, Interval], ...]
    lasts: bool


def make(db: Connection, current: Memory, said: Proposal, now_ms: int, *, keep: bool) -> Room:
    """Believe no longer what overlaps what is said; what is left of it is written by `fill`, once that is.

    `keep`: what stands is kept too, where it holds at other times; else it was false, or is said anew.
    """
    left: list[tuple[Memory, Interval]] = []
    lasts = False
    for version in validity.believed(db, current.id):
        stands = version.version_id == current.version_id
        if stands and not keep:
            continue
        parts = left_of(of(version), of(said))
        if not stands and parts == (of(version),):
            continue
        if not stands:
            validity.retire(db, version.version_id, now_ms)
        left += [(version, part) for part in parts]
        expired = version.expires_ms is not None and version.expires_ms <= now_ms
        lasts = lasts or (stands and not expired and any(part.after(now_ms) for part in parts))
    return Room(tuple(left), lasts)


def fill(db: Connection, room: Room, current: Memory, writer: Writer) -> str:
    """Write what is left, and let what holds now stand; said in words where that is none of what was just said."""
    goes_on = {}
    for version, part in room.left:
        begins, ends = (part.from_ms, part.from_precision), (part.to_ms, part.to_precision)
        goes_on[validity.keep_part(db, version.version_id, begins, ends, now_ms=writer.now_ms)] = version
    if not validity.turn(db, current.id, writer.now_ms):
        return ""
    (stands,) = memories.get(db, [current.id])
    if stands.version_id not in goes_on:
        return ""
    note(db, writer, stands, CONTINUED)
    return f"what holds now goes on, as version {stands.version}"
