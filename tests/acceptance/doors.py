"""What a correctable memory can be asked to do, whatever it is made of.

The real recorder stands behind these through its own doors (`real.py`), and a small store in memory whose guards can be
taken away one by one (`leaky.py`): the suite is believed because it notices each missing guard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Answer:
    """What a way of reading gave: every text it showed, and the whole of it as it would reach a prompt."""

    texts: tuple[str, ...]
    whole: str = ""

    def holds(self, words: str) -> bool:
        return any(words.lower() in text.lower() for text in (*self.texts, self.whole))


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a write: `accepted`, its trust and who it is told to be from, and the reason of a refusal."""

    accepted: bool
    trust: str = ""
    source: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something to be written. `claims` are fields a writer adds to look like more than it is."""

    key: str
    value: str
    namespace: str = "project"
    claims: Mapping[str, object] = field(default_factory=dict)


class Doors(Protocol):
    """One installation with two projects, `a` and `b`, and a person at its terminal."""

    writers: Sequence[str]
    """Every door a memory can come in through. `person` is the person's own."""
    readers: Sequence[str]
    """Every way of reading that answers a question about a project."""
    arms: Sequence[str]
    """Every way of finding that can be asked alone."""

    def capture(self, project: str, *texts: str) -> None:
        """A session in which these prompts are typed, through the hook, distilled."""

    def observe(self, project: str, command: str, sessions: int) -> None:
        """The command succeeds in so many sessions."""

    def write(self, door: str, project: str, fact: Fact) -> Written:
        """Write through a door."""

    def search(self, project: str, question: str, *, arm: str | None = None, k: int = 10) -> Answer:
        """Ask from inside a project."""

    def read(self, reader: str, project: str, words: str) -> Answer:
        """Read in one way, looking for what holds the words."""

    def address(self, project: str, namespace: str, key: str) -> str:
        """What an agent is told that reads an address."""

    def believed(self, project: str, key: str, *, steps_ago: int = 0) -> tuple[str, str] | None:
        """(value, trust) under a key, now or before the last changes; None where nothing is to be seen."""

    def evidence(self, project: str, key: str) -> list[tuple[str, bool]]:
        """(quote, whether a living event holds it) of a memory."""

    def edit(self, project: str, key: str, value: str) -> None:
        """The person puts another value in its place."""

    def reject(self, project: str, key: str) -> None: ...

    def forget(self, project: str, key: str) -> None: ...

    def forget_event(self, project: str, words: str) -> None: ...

    def again(self) -> None:
        """Distil, backfill and sync once more everything that was ever read."""

    def rebuild(self) -> None:
        """Drop every derived table and index, and make it anew."""

    def restart(self) -> None: ...

    def pass_time(self, days: int) -> None:
        """So many days later, every retention and expiry pass done."""

    def export(self, project: str) -> str: ...

    def import_(self, project: str, exported: str) -> None: ...

    def backup(self) -> str: ...

    def restore(self, backup: str) -> None: ...

    def places(self, words: str) -> list[str]:
        """Every file of ours that holds the bytes."""

    def refusals(self) -> int:
        """How many refusals the audit has."""

    def rows(self, project: str, words: str) -> int:
        """How many memories, hidden ones included, have the words as their value."""
