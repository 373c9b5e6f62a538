"""Every trust and state on every way of reading, every verb on every trust and state, and every value in use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from itertools import product
from pathlib import Path

import pytest

from recorder import gate
from recorder.cli.frame import Desk
from recorder.cli.memory import standing
from recorder.config import Config
from recorder.errors import GateRefused, NotFound
from recorder.gate import queue
from recorder.gate.standing import TRANSITIONS, allows
from recorder.lifecycle import export
from recorder.models import Channel, Memory, MemoryKind, Origin, Proposal, Scope, State, Trust
from recorder.recall import rank
from recorder.store import db as store
from recorder.store import hits, memories, policy, search, vectors
from tests.test_mcp_server import NOW_MS, Place, place, serving
from worker import brief

__all__ = ["place"]

ROOT = Path(__file__).resolve().parent.parent
MODEL = "m1"
TOWARDS = bytes([100] + [0] * (vectors.DIMENSION - 1))
NAMES = dict(
    zip(
        product(Trust, State),
        "amber birch cedar delta ember fjord grove heron indigo jasper kelp lotus maple nectar onyx poppy".split(),
        strict=True,
    )
)
"""A word of its own for each, by which it is found."""


def value(trust: Trust, state: State) -> str:
    return f"The {NAMES[trust, state]} cache is enabled in the cluster"


def key(trust: Trust, state: State) -> str:
    return f"{trust}.{state}"


def person(scope: Scope, now_ms: int = NOW_MS) -> gate.Writer:
    return gate.Writer(Channel.PERSON, "terminal", scope, now_ms)


def agent(scope: Scope, now_ms: int = NOW_MS) -> gate.Writer:
    return gate.Writer(Channel.AGENT, "task:s1", scope, now_ms)


def told(db: store.Connection, scope: Scope, where: str, text: str, writer: gate.Writer) -> Memory:
    made = Proposal(
        f"project.{scope.project_id}", where, text, MemoryKind.SEMANTIC, Origin.ASSISTANT_SAID, "test", explicit=True
    )
    found = gate.tell(db, made, writer).memory
    assert found is not None
    return found


def bring(db: store.Connection, scope: Scope, trust: Trust, state: State) -> Memory | None:
    """A memory of this trust in this state, by the verbs alone; of a forgotten one a row without words is left."""
    space, where, text = f"project.{scope.project_id}", key(trust, state), value(trust, state)
    made = told(db, scope, where, text, (person if trust is Trust.VERIFIED else agent)(scope))
    if trust is Trust.DISPUTED:
        rival = text.replace("enabled", "disabled")
        told(db, scope, f"rival.{NAMES[trust, state]}", rival, person(scope))
        while gate.sweep(db, NOW_MS)[0]:
            pass
    if trust is Trust.REJECTED:
        gate.reject(db, space, where, person(scope), reason="not so")
    if state is State.DELETED:
        gate.delete(db, space, where, person(scope))
    if state is State.SUPPRESSED:
        source = f"source.{NAMES[trust, state]}"
        told(db, scope, source, f"{NAMES[trust, state]} was measured by Ada", person(scope))
        gate.link(db, (space, where), (space, source), gate.DERIVED, person(scope))
        gate.reject(db, space, source, person(scope), reason="not so")
    if state is State.FORGOTTEN:
        gate.forget(db, space, where, person(scope))
        assert list(db.execute("select state from memories where id = ?", (made.id,))) == [(State.FORGOTTEN.value,)]
        return None
    found = memories.find(db, space, where)
    assert found is not None and (found.state, found.trust) == (state, trust)
    return found


def opened(place: Place, name: str = "recorder-home") -> tuple[store.Connection, Scope]:
    """A store with one memory of each trust in each state, all of which have the same vector."""
    db = store.connect(place.home.with_name(name) / "recorder.db")
    db.pragma("synchronous", 0)  # many small commits and no power cut
    scope = place.scope(db, place.a)
    if store.has_vec(db):
        vectors.adopt(db, MODEL)
    for trust, state in NAMES:
        memory = bring(db, scope, trust, state)
        if memory is not None and store.has_vec(db):
            vectors.store(db, "memory", memory.version_id, MODEL, [(f"{memory.id}", TOWARDS)])
    return db, scope


@pytest.fixture
def filled(place: Place) -> Iterator[tuple[store.Connection, Scope]]:
    db, scope = opened(place)
    yield db, scope
    db.close()


def of(found: list[Memory]) -> set[str]:
    return {memory.key for memory in found}


def by_ids(db: store.Connection, ids: list[int]) -> set[str]:
    return of(memories.get(db, ids))


def arm(look: Callable[..., list[search.Found]]) -> Callable[[store.Connection, Scope], set[str]]:
    def asked(db: store.Connection, scope: Scope) -> set[str]:
        keys: set[str] = set()
        for name in NAMES.values():
            keys |= by_ids(db, [row.id for row in look(db, scope, name, 50, now_ms=NOW_MS + 1) if row.type == "memory"])
        return keys

    return asked


def near(db: store.Connection, scope: Scope) -> set[str]:
    found = search.vector(db, scope, TOWARDS, 60, now_ms=NOW_MS + 1)
    return by_ids(db, [row.id for row in found if row.type == "memory"])


def fused(db: store.Connection, scope: Scope) -> set[str]:
    found = rank.recall(db, "cache enabled cluster", scope, k=60, vector=None, vector_status="off", now_ms=NOW_MS + 1)
    return {hit.key or "" for hit in found.hits}


def read_back(db: store.Connection, scope: Scope) -> set[str]:
    ids = [row[0] for row in db.execute("select id from memories")]
    return {hit.key or "" for hit in hits.of_memories(db, scope, ids, now_ms=NOW_MS + 1).values()}


def addressed(db: store.Connection, scope: Scope) -> set[str]:
    desk = Desk(db, Config(home=Path()), NOW_MS + 1, {})
    keys = set()
    root = next(iter(db.execute("select root from projects where id = ?", (scope.project_id,))))[0]
    for trust, state in NAMES:
        try:
            keys.add(standing(desk, f"project.{scope.project_id}", key(trust, state), Path(root))[1].key)
        except NotFound:
            continue
    return keys


def reviewed(db: store.Connection, scope: Scope) -> set[str]:
    sides = [side for item in queue.waiting(db, scope, NOW_MS + 1) for side in (item.old, item.new) if side]
    waiting = {"candidate", "disputed"}
    return {side.address.partition("/")[2] for side in sides if side.trust in waiting and side.state == "active"}


PATHS: Mapping[str, tuple[str, Callable[[store.Connection, Scope], set[str]]]] = {
    "words": ("recall", arm(search.words)),
    "trigram": ("recall", arm(search.trigram)),
    "vector": ("recall", near),
    "recall": ("recall", fused),
    "hits": ("recall", read_back),
    "current": ("recall", lambda db, scope: by_ids(db, search.current(db, scope, now_ms=NOW_MS + 1, limit=99))),
    "brief": ("brief", lambda db, scope: of(memories.for_brief(db, scope.project_id, NOW_MS + 1))),
    "list": ("list", lambda db, scope: of(memories.listing(db, scope, limit=99))),
    "list --deleted": ("hidden", lambda db, scope: of(memories.listing(db, scope, deleted=True, limit=99))),
    "list --trust rejected": (
        "rejected",
        lambda db, scope: of(
            memories.listing(db, scope, trust=Trust.REJECTED, limit=99)
            + [m for m in memories.listing(db, scope, deleted=True, limit=99) if m.trust is Trust.REJECTED]
        ),
    ),
    "get": ("address", addressed),
    "review": ("review", reviewed),
    "export": (
        "export",
        lambda db, scope: {m.key for m in export.content(db, project_id=scope.project_id, now_ms=NOW_MS).memories},
    ),
}
"""Way in → the read policy it stands under, and the keys it gives."""


HIDDEN = (
    "candidate.deleted verified.deleted disputed.deleted rejected.deleted"
    " candidate.suppressed verified.suppressed disputed.suppressed rejected.suppressed"
)
EVERY = f"candidate.active verified.active disputed.active rejected.active {HIDDEN}"
SHOWN: Mapping[str, str] = {
    "recall": "verified.active candidate.active",
    "brief": "verified.active",
    "list": "verified.active candidate.active disputed.active",
    "review": "candidate.active disputed.active",
    "hidden": HIDDEN,
    "rejected": "rejected.active rejected.deleted rejected.suppressed",
    "address": EVERY,
    "export": EVERY,
}
"""Read policy → what is promised of it, written out: what the code says of itself proves nothing."""


def test_every_way_of_reading_shows_what_is_promised_and_nothing_else(
    filled: tuple[store.Connection, Scope],
) -> None:
    db, scope = filled
    ours = {key(trust, state) for trust, state in NAMES}
    assert {read for read, _ in PATHS.values()} == set(policy.READS) == set(SHOWN)
    for name, (read, ask) in PATHS.items():
        if name == "vector" and not store.has_vec(db):
            continue
        assert ask(db, scope) & ours == set(SHOWN[read].split()), name


def test_the_brief_that_a_session_reads_says_what_is_verified_and_nothing_else(
    filled: tuple[store.Connection, Scope], place: Place
) -> None:
    db, scope = filled
    config = Config(home=place.home.with_name("recorder-home"))
    brief.write_all(db, config, NOW_MS + 1)
    text = (config.brief_dir / f"{scope.project_id}.txt").read_text(encoding="utf-8")
    told = {name for name in NAMES.values() if f"The {name} cache is enabled" in text}
    assert told == {NAMES[Trust.VERIFIED, State.ACTIVE]}


def test_the_memory_server_shows_what_recall_may_show(filled: tuple[store.Connection, Scope], place: Place) -> None:
    db, scope = filled
    expected = {NAMES[at] for at in NAMES if key(*at) in SHOWN["recall"].split()}
    ids = [f"m{row[0]}" for row in db.execute("select id from memories order by id")]
    with serving(place, place.a) as server:
        listed = server.call("memory_list", limit=100).text
        got = "".join(server.call("memory_get", ids=ids[n : n + 5]).text for n in range(0, len(ids), 5))
        searched = "".join(server.call("memory_search", query=f"{name} cache").text for name in NAMES.values())
        recalled = "".join(server.call("memory_recall", key=key(*at)).text for at in NAMES)
    for name, text in (("list", listed), ("get", got), ("search", searched), ("recall", recalled)):
        assert {word for word in NAMES.values() if f"The {word} cache is enabled" in text} == expected, name


VERBS: Mapping[str, Callable[[store.Connection, str, str, gate.Writer], object]] = {
    "approved": lambda db, space, where, writer: gate.approve(db, space, where, writer, reason="r"),
    "rejected": lambda db, space, where, writer: gate.reject(db, space, where, writer, reason="r"),
    "lifted": lambda db, space, where, writer: gate.lift(db, space, where, writer, reason="r"),
    "labelled": lambda db, space, where, writer: gate.label(db, space, where, writer, gate.Labels(tags=("new",))),
    "deleted": lambda db, space, where, writer: gate.delete(db, space, where, writer, reason="r"),
    "restored": lambda db, space, where, writer: gate.restore(db, space, where, writer, reason="r"),
    "forgotten": lambda db, space, where, writer: gate.forget(db, space, where, writer),
}
ELSEWHERE = {
    "corroborated": ("test_gate", "what_was_observed_in_two_sessions_is_verified_and_the_past_stays_a_candidate"),
    "disputed": ("test_conflicts", "a_contradiction_of_equals_leaves_recall_without_either_until_a_person_decides"),
    "settled": ("test_conflicts", "a_side_has_the_trust_it_had_before_the_dispute_and_the_past_is_whole"),
    "suppressed": ("test_corrections", "what_was_drawn_from_a_rejected_memory_goes_and_comes_with_it"),
    "released": ("test_corrections", "what_was_drawn_from_a_rejected_memory_goes_and_comes_with_it"),
}
"""What no door does by itself: it comes of something else, and is tested there."""


def test_every_transition_is_walked() -> None:
    assert set(VERBS) | set(ELSEWHERE) == set(TRANSITIONS)
    for file, name in ELSEWHERE.values():
        assert f"def test_{name}(" in (ROOT / "tests" / f"{file}.py").read_text(encoding="utf-8"), name


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_moves_what_its_row_says_and_leaves_the_rest_as_it_is(
    filled: tuple[store.Connection, Scope], verb: str
) -> None:
    db, scope = filled
    space, transition = f"project.{scope.project_id}", TRANSITIONS[verb]
    for trust, state in NAMES:
        if state is State.FORGOTTEN:
            continue
        before = memories.find(db, space, key(trust, state))
        assert before is not None and (before.trust, before.state) == (trust, state)
        VERBS[verb](db, space, before.key, person(scope, NOW_MS + 5))
        (after,) = db.execute("select state from memories where id = ?", (before.id,))
        moved = allows(verb, before)
        assert after[0] == (transition.state if moved and transition.state else state), (trust, state)
        found = memories.find(db, space, before.key)
        assert found is not None or verb == "forgotten"
        assert found is None or found.trust is (transition.trust if moved and transition.trust else trust)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if TRANSITIONS[verb].person_only])
def test_what_only_a_person_may_do_moves_nothing_for_an_agent(
    filled: tuple[store.Connection, Scope], verb: str
) -> None:
    db, scope = filled
    space = f"project.{scope.project_id}"
    for trust, state in NAMES:
        before = memories.find(db, space, key(trust, state))
        with pytest.raises((GateRefused, NotFound)):
            VERBS[verb](db, space, key(trust, state), agent(scope, NOW_MS + 5))
        assert memories.find(db, space, key(trust, state)) == before


# --- every value is made somewhere and read somewhere -----------------------------------------------------------------

DOORS = ("recorder/cli", "recorder/web", "recorder/lifecycle", "recorder/claude_auto", "worker", "mcp_server.py")
GATE = ("recorder/gate", *DOORS)
READERS = ("recorder/gate", "recorder/store", "recorder/recall", "recorder/cli", "recorder/lifecycle")
NOT_YET: Mapping[StrEnum, str] = {
    Origin.FILE_CONTENT: "a distiller that reads what files say",
    Origin.TOOL_OUTPUT: "a distiller that reads what tools print",
}
"""Values whose door is not built: the day it is, its row goes."""


def spelled(places: tuple[str, ...], one: StrEnum) -> list[str]:
    """Files that name a value of an enum."""
    files = [f for at in places for f in ([ROOT / at] if at.endswith(".py") else sorted((ROOT / at).rglob("*.py")))]
    files += [ROOT / f"{at}.py" for at in places if (ROOT / f"{at}.py").exists()]
    pattern = re.compile(rf"\b{type(one).__name__}\.{one.name}\b")
    return [str(f.relative_to(ROOT)) for f in files if f.exists() and pattern.search(f.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("one", [*Trust, *State, *Channel, *Origin], ids=lambda one: f"{type(one).__name__}.{one.name}")
def test_every_value_has_a_producer_on_a_door_and_a_reader(one: StrEnum) -> None:
    produced = spelled(GATE if isinstance(one, Trust | State) else DOORS, one)
    assert bool(produced) is (one not in NOT_YET), produced
    # A value nobody asks for by name is read by its rank or its policy.
    whole = isinstance(one, Trust | State | Channel) or one in NOT_YET
    assert spelled(READERS, one) or whole or "origin" in (ROOT / "recorder/cli/memory.py").read_text(encoding="utf-8")
