"""What is hidden comes back only where nothing refuses it, and what says the same goes with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recorder import gate
from recorder.errors import GateRefused
from recorder.gate import conflicts
from recorder.models import Channel, Memory, Scope, State, Trust
from recorder.recall import rank
from recorder.store import audit, findings, memories
from recorder.store.db import Connection, connect
from tests.memory_samples import NOW_MS, A, add_memory

SAID = "Releases are cut from the trunk branch"
OTHER = "Releases are cut from a branch of their own"
SPACE = f"project.{A.project_id}"
LATER = NOW_MS + 1_000
HIDERS = [Channel.OBSERVED, Channel.AGENT, Channel.API, Channel.IMPORT, Channel.CLAUDE_AUTO]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    connection = connect(tmp_path / "recorder.db")
    yield connection
    connection.close()


def by(channel: Channel = Channel.PERSON, now_ms: int = LATER, scope: Scope = A) -> gate.Writer:
    return gate.Writer(channel, "test", scope, now_ms)


def at(db: Connection, key: str) -> Memory:
    found = memories.find(db, SPACE, key)
    assert found is not None
    return found


def recalled(db: Connection) -> set[str]:
    found = rank.recall(
        db, "releases cut trunk branch", A, k=10, vector=None, vector_status="off", now_ms=LATER + 60_000
    )
    return {hit.key or "" for hit in found.hits if hit.type == "memory"}


def hidden_then(db: Connection, channel: Channel, take_back: Callable[[Connection], object]) -> None:
    """`k2` says it and was hidden by a channel; then a person takes back what `k1` says."""
    add_memory(db, A, "k2", SAID, channel=channel)
    gate.delete(db, SPACE, "k2", by(channel))
    add_memory(db, A, "k1", SAID, at_ms=LATER + 10)
    take_back(db)


def rejects(db: Connection) -> object:
    return gate.reject(db, SPACE, "k1", by(now_ms=LATER + 20), reason="never so")


def deletes(db: Connection) -> object:
    return gate.delete(db, SPACE, "k1", by(now_ms=LATER + 20))


def replaces(db: Connection) -> object:
    return add_memory(db, A, "k1", OTHER, at_ms=LATER + 20)


@pytest.mark.parametrize("channel", HIDERS)
@pytest.mark.parametrize("take_back", [rejects, deletes, replaces])
def test_a_value_a_person_took_back_does_not_come_back_by_restoring_what_says_it_elsewhere(
    db: Connection, channel: Channel, take_back: Callable[[Connection], object]
) -> None:
    hidden_then(db, channel, take_back)
    with pytest.raises(GateRefused) as refused:
        gate.restore(db, SPACE, "k2", by(channel, LATER + 30))
    assert refused.value.reason == ("deleted" if take_back is deletes else "tombstone")
    assert at(db, "k2").deleted and "k2" not in recalled(db)
    last = list(db.execute("select action, reason from audit order by id desc limit 1"))
    assert last == [("refused", refused.value.reason)] and audit.verify(db).state == "pass"


@pytest.mark.parametrize("take_back", [rejects, replaces])
def test_a_person_lifts_before_they_restore_what_they_said_is_not_so(
    db: Connection, take_back: Callable[[Connection], object]
) -> None:
    hidden_then(db, Channel.AGENT, take_back)
    with pytest.raises(GateRefused, match=f"lift {SPACE} k2"):
        gate.restore(db, SPACE, "k2", by(now_ms=LATER + 30))
    assert gate.lift(db, SPACE, "k2", by(now_ms=LATER + 40)).action == "lifted"
    assert gate.restore(db, SPACE, "k2", by(now_ms=LATER + 50)).action == "restored"
    assert "k2" in recalled(db)


def test_a_person_restores_what_they_only_deleted_elsewhere(db: Connection) -> None:
    hidden_then(db, Channel.AGENT, deletes)
    assert gate.restore(db, SPACE, "k2", by(now_ms=LATER + 30)).action == "restored"
    assert recalled(db) == {"k2"}


def test_what_is_hidden_with_something_stays_hidden_where_it_was_rejected_itself_meanwhile(
    db: Connection,
) -> None:
    for key, value in (("src", "The trunk branch is green"), ("dep", SAID), ("far", OTHER)):
        add_memory(db, A, key, value)
    gate.link(db, (SPACE, "dep"), (SPACE, "src"), gate.DERIVED, by())
    gate.link(db, (SPACE, "far"), (SPACE, "dep"), gate.DERIVED, by())
    gate.reject(db, SPACE, "src", by(now_ms=LATER + 10), reason="red")
    add_memory(db, A, "twin", SAID, at_ms=LATER + 20)
    gate.reject(db, SPACE, "twin", by(now_ms=LATER + 30), reason="never so")
    lifted = gate.lift(db, SPACE, "src", by(now_ms=LATER + 40))
    assert "2 more stay hidden" in lifted.reason and f"{SPACE}/dep" in lifted.reason and recalled(db) == {"src"}
    gate.lift(db, SPACE, "twin", by(now_ms=LATER + 50))
    assert recalled(db) == {"src", "dep", "far", "twin"}


def test_what_was_drawn_from_two_comes_back_with_the_last_of_them(db: Connection) -> None:
    for key, value in (("one", "The trunk branch is green"), ("two", "The trunk branch is protected"), ("dep", SAID)):
        add_memory(db, A, key, value)
    for source in ("one", "two"):
        gate.link(db, (SPACE, "dep"), (SPACE, source), gate.DERIVED, by())
        gate.reject(db, SPACE, source, by(now_ms=LATER + 10), reason="no")
    gate.lift(db, SPACE, "one", by(now_ms=LATER + 20))
    assert recalled(db) == {"one"}
    gate.lift(db, SPACE, "two", by(now_ms=LATER + 30))
    assert recalled(db) == {"one", "two", "dep"}


@pytest.mark.parametrize("take_back", [rejects, deletes, replaces])
def test_what_nobody_verified_and_says_the_same_goes_with_it_and_comes_back_when_it_is_said_again(
    db: Connection, take_back: Callable[[Connection], object]
) -> None:
    add_memory(db, A, "k1", SAID)
    add_memory(db, A, "k2", f"{SAID.lower()}.", channel=Channel.AGENT)
    outcome = take_back(db)
    assert (at(db, "k2").state, "k2" in recalled(db)) == (State.SUPPRESSED, False)
    if isinstance(outcome, gate.Outcome):
        assert f"{SPACE}/k2" in outcome.reason
    add_memory(db, A, "k3", SAID, at_ms=LATER + 30)
    assert {"k2", "k3"} <= recalled(db)


@pytest.mark.parametrize("take_back", [deletes, replaces])
def test_what_a_person_said_themselves_elsewhere_stays_and_is_named(
    db: Connection, take_back: Callable[[Connection], object]
) -> None:
    for key in ("k1", "k2"):
        add_memory(db, A, key, SAID)
    take_back(db)
    assert "k2" in recalled(db)
    again = gate.delete(db, SPACE, "k2", by(now_ms=LATER + 40))
    assert again.reason == ""
    add_memory(db, A, "k3", SAID, at_ms=LATER + 50)
    add_memory(db, A, "k4", SAID, at_ms=LATER + 60)
    assert gate.delete(db, SPACE, "k3", by(now_ms=LATER + 70)).reason == f"1 of yours say it still: {SPACE}/k4"


def test_a_rejection_hides_even_what_a_person_said_elsewhere(db: Connection) -> None:
    for key in ("k1", "k2"):
        add_memory(db, A, key, SAID)
    outcome = rejects(db)
    assert isinstance(outcome, gate.Outcome) and outcome.reason.endswith(f"{SPACE}/k2")
    assert recalled(db) == set() and at(db, "k2").trust is Trust.VERIFIED


@pytest.mark.parametrize("disposition", ["keep_old", "keep_new", "manual"])
def test_a_decision_reaches_every_key_that_says_what_is_out_by_it(
    db: Connection, tmp_path: Path, disposition: str
) -> None:
    old, new = "Retry uploads to the mirror 3 times", "Retry uploads to the mirror 5 times"
    add_memory(db, A, "uploads", old, channel=Channel.AGENT)
    add_memory(db, A, "mirror", new, channel=Channel.AGENT, at_ms=NOW_MS + 5)
    add_memory(db, A, "third.old", old, channel=Channel.AGENT, at_ms=NOW_MS + 6)
    add_memory(db, A, "third.new", new, channel=Channel.AGENT, at_ms=NOW_MS + 7)
    conflicts.sweep(db, LATER)
    finding = next(one for one in findings.listing(db, None) if {one["key"], one["other_key"]} == {"uploads", "mirror"})
    value = "Retry uploads to the mirror 4 times" if disposition == "manual" else None
    settled = gate.settle(db, finding["id"], disposition, by(now_ms=LATER + 10), "I looked it up", value)
    conflicts.sweep(db, LATER + 20)
    asked = {one["kind"] for one in findings.listing(db, None) if one["kind"] == "contradiction"}
    gone = {
        memories.get(db, [at(db, key).id])[0].state
        for key in ("third.old", "third.new")
        if at(db, key).value in settled.gone
    }
    assert gone == {State.SUPPRESSED} and asked == set()
