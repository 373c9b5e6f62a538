"""Who is shown what: the one place that says which trust and state reach which way of reading, and of which time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recorder.models import Memory, Precision, State, Trust

HIDING = ("deleted", "suppressed", "forgotten")
SHOWING = ("created", "restored", "superseded", "released", "reverted")


@dataclass(frozen=True, slots=True)
class Readable:
    """What a way of reading shows."""

    trusts: tuple[Trust, ...]
    states: tuple[State, ...]
    in_force: bool
    """Only what is valid now and has not expired."""


_ANY_TRUST = tuple(Trust)

BELIEVED = "v.retired_ms is null"
"""`v` is believed, of whatever time it holds: at each moment one version of a memory at most."""
MAY_STAND = f"{BELIEVED} and v.version > 0"
"""And was not over when it was written: what is past stays past for whoever's clock is a moment behind."""

READS: Mapping[str, Readable] = {
    "recall": Readable((Trust.VERIFIED, Trust.CANDIDATE), (State.ACTIVE,), in_force=True),
    "brief": Readable((Trust.VERIFIED,), (State.ACTIVE,), in_force=True),
    "list": Readable((Trust.VERIFIED, Trust.CANDIDATE, Trust.DISPUTED), (State.ACTIVE,), in_force=False),
    "review": Readable((Trust.CANDIDATE, Trust.DISPUTED), (State.ACTIVE,), in_force=False),
    "hidden": Readable(_ANY_TRUST, (State.DELETED, State.SUPPRESSED), in_force=False),
    "rejected": Readable((Trust.REJECTED,), (State.ACTIVE, State.DELETED, State.SUPPRESSED), in_force=False),
    "address": Readable(_ANY_TRUST, (State.ACTIVE, State.DELETED, State.SUPPRESSED), in_force=False),
    "export": Readable(_ANY_TRUST, (State.ACTIVE, State.DELETED, State.SUPPRESSED), in_force=False),
}
"""Way of reading → what it shows. `address` is somebody who names namespace and key."""


def scope_ids(project: str) -> str:
    """The scope rows that a caller of a project sees, as SQL; `project` is the place its id is bound to."""
    return f"(select id from scopes where name in ('user', {project}))"


def visible(project: str) -> str:
    """What of `m` and `v` such a caller sees, as SQL: a `user.*` candidate that came from a project in that project
    only, and one that came from none (its home is '') in none, until a person verifies it."""
    return (
        f"m.scope_id in {scope_ids(project)}"
        f" and (m.home_project_id is null or v.trust = 'verified' or m.home_project_id = coalesce({project}, ''))"
    )


def shows(read: str, trust: Trust, state: State) -> bool:
    """Whether a way of reading shows a memory of this trust and state."""
    readable = READS[read]
    return trust in readable.trusts and state in readable.states


def tells(read: str, memory: Memory, now_ms: int) -> bool:
    """Whether a way of reading shows this version of a memory now: its dates too, where time counts."""
    timely = not READS[read].in_force or not out_of_time(memory, now_ms)
    return timely and shows(read, memory.trust, memory.state)


def out_of_time(memory: Memory, now_ms: int) -> str:
    """Why a version does not hold now, in a word: `expired`, `ended` or `not yet`; nothing where it does."""
    if memory.expires_ms is not None and memory.expires_ms <= now_ms:
        return "expired"
    if memory.valid_to_ms is None and memory.valid_to_precision is Precision.UNKNOWN:
        return "ended"
    if memory.valid_to_ms is not None and memory.valid_to_ms <= now_ms:
        return "ended"
    return "not yet" if memory.valid_from_ms is not None and memory.valid_from_ms > now_ms else ""


def condition(read: str, now_ms: str = ":now_ms") -> str:
    """The same as SQL over `m` and `v`, as believed now; where time counts `now_ms` is bound."""
    timely = f" and {in_force(now_ms, now_ms)}" if READS[read].in_force else ""
    return current(read) + timely


def current(read: str) -> str:
    """The same of whatever time."""
    readable = READS[read]
    return f"v.trust in ({_quoted(readable.trusts)}) and m.state in ({_quoted(readable.states)})"


def condition_then(read: str) -> str:
    """The same of another time: what was believed at `:as_of`, of what held at `:valid_at`.

    The versions are those recorded by then and not yet retired; state is read from the history, which only grows.
    """
    readable = READS[read]
    hidden = (
        "coalesce((select h.action from memory_history h where h.memory_id = m.id and h.at_ms <= :as_of"
        f" and h.action in ({_quoted((*HIDING, *SHOWING))}) order by h.id desc limit 1), 'created')"
        f" not in ({_quoted(HIDING)})"
    )
    believed = "v.recorded_ms <= :as_of and (v.retired_ms is null or v.retired_ms > :as_of)"
    # What was forgotten since is gone from every time.
    return (
        f"v.trust in ({_quoted(readable.trusts)}) and {hidden} and m.state <> 'forgotten' and {believed}"
        f" and {in_force(':valid_at', ':as_of')}"
    )


def in_force(valid_at: str, asked_at: str, v: str = "v") -> str:
    """As SQL over `v`: it holds at one time, and has not expired at another."""
    return (
        f"({v}.valid_from_ms is null or {v}.valid_from_ms <= {valid_at})"
        f" and ({v}.valid_to_ms is null or {v}.valid_to_ms > {valid_at})"
        f" and ({v}.valid_to_ms is not null or coalesce({v}.valid_to_precision, '') <> 'unknown')"
        f" and ({v}.expires_ms is null or {v}.expires_ms > {asked_at})"
    )


def holding(now_ms: str) -> str:
    """The version of `m` that is believed and holds now, as SQL; none where none does."""
    return (
        "(select w.id from memory_versions w where w.memory_id = m.id and w.retired_ms is null"
        f" and w.version > 0 and {in_force(now_ms, now_ms, 'w')} order by w.id desc limit 1)"
    )


def _quoted(values: tuple[str, ...]) -> str:
    return ", ".join(f"'{value}'" for value in values)
