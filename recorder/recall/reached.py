"""Whether a correction has reached what Claude is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from recorder.canonical import canonical
from recorder.models import Memory, Scope, Trust
from recorder.recall import rank
from recorder.store import memories, policy
from recorder.store.db import Connection

K = 20


@dataclass(frozen=True, slots=True)
class Reached:
    """`said`: the memories that recall gives now to somebody who asks about what was decided. `missing`: values that
    should be said and are not; `lingering`: values that are out and are said all the same. Both should be empty."""

    said: tuple[str, ...]
    missing: tuple[str, ...]
    lingering: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.missing and not self.lingering

    @property
    def remedy(self) -> str:
        """What is to be done where it does not hold."""
        if self.lingering:
            return "another memory says the same, and recall still tells it: search for it, and decide that too"
        return "recall does not say what was decided: `recorder reindex`, then look again"


def check(db: Connection, scope: Scope, kept: Iterable[Memory], gone: Iterable[str], now_ms: int) -> Reached:
    """Ask recall and the brief about every side of a decision, as the caller's session would."""
    kept, gone = list(kept), list(gone)
    asked = [memory.value for memory in kept] + gone
    said = {value: None for question in asked for value in _recalled(db, scope, question, now_ms)}
    told = {canonical(memory.value) for memory in memories.for_brief(db, scope.project_id, now_ms)}
    known = {canonical(value) for value in said}
    missing = [m.value for m in kept if not _is_told(m, known, told, now_ms)]
    lingering = [value for value in gone if canonical(value) in known | told]
    about = {canonical(value) for value in asked}
    return Reached(tuple(value for value in said if canonical(value) in about), tuple(missing), tuple(lingering))


def _recalled(db: Connection, scope: Scope, question: str, now_ms: int) -> list[str]:
    found = rank.recall(db, question, scope, k=K, vector=None, vector_status="not asked", now_ms=now_ms)
    return [hit.text for hit in found.hits if hit.type == "memory"]


def _is_told(memory: Memory, recalled: set[str], told: set[str], now_ms: int) -> bool:
    """Whether recall, and the brief where it is verified, say it; of what does not hold now neither should."""
    if memory.trust not in (Trust.VERIFIED, Trust.CANDIDATE) or policy.out_of_time(memory, now_ms):
        return True
    value = canonical(memory.value)
    return value in recalled and (memory.trust is not Trust.VERIFIED or value in told)
