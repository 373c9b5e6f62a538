"""What is said of a time holds at that time, and what was said of another goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder import gate
from recorder.gate.intervals import Interval, left_of
from recorder.models import Channel, MemoryKind, Origin, Precision, Proposal, Trust
from recorder.recall import rank
from recorder.store import memories
from recorder.store.db import Connection, connect
from recorder.store.only import Only
from tests.memory_samples import NOW_MS, A
from worker import brief

SPACE, KEY = f"project.{A.project_id}", "host"
DAY = 86_400_000
UNKNOWN = "unknown"
End = int | str | None
Said = tuple[int | None, End]
"""From and to, in days from now; None: open."""


def interval(begins: int | None, ends: End) -> Interval:
    return Interval(
        None if begins is None else NOW_MS + begins * DAY,
        None if begins is None else Precision.MS,
        NOW_MS + ends * DAY if isinstance(ends, int) else None,
        Precision.UNKNOWN if ends == UNKNOWN else None if ends is None else Precision.MS,
    )


BEFORE, BEHIND = (0, 10), (30, 40)
OLD = (10, 30)


@pytest.mark.parametrize(
    ("relation", "old", "new", "left"),
    [
        ("is before", OLD, (40, 50), [OLD]),
        ("meets", OLD, (30, 50), [OLD]),
        ("overlaps", OLD, (20, 50), [(10, 20)]),
        ("starts", OLD, (10, 50), []),
        ("is during", OLD, (0, 50), []),
        ("finishes", OLD, (0, 30), []),
        ("equals", OLD, OLD, []),
        ("is finished by", OLD, (20, 30), [(10, 20)]),
        ("contains", OLD, (15, 20), [(10, 15), (20, 30)]),
        ("is started by", OLD, (10, 20), [(20, 30)]),
        ("is overlapped by", OLD, (0, 20), [(20, 30)]),
        ("is met by", OLD, (0, 10), [OLD]),
        ("is after", OLD, (0, 5), [OLD]),
        ("open, and other words from later on", (10, None), (20, None), [(10, 20)]),
        ("open, and other words of an earlier time", (10, None), (0, 5), [(10, None)]),
        ("open, and other words for a while", (10, None), (20, 30), [(10, 20), (30, None)]),
        ("open, and other words for good", (10, None), (5, None), []),
        ("always, and other words for a while", (None, None), (20, 30), [(None, 20), (30, None)]),
        ("always, and other words until then", (None, None), (None, 30), [(30, None)]),
        ("always, and other words always", (None, None), (None, None), []),
        ("ended nobody knows when", (10, UNKNOWN), (20, None), [(10, UNKNOWN)]),
        ("ended nobody knows when, later than that", (10, UNKNOWN), (0, 5), [(10, UNKNOWN)]),
        ("ended nobody knows when, not before that", (10, UNKNOWN), (5, 20), [(20, UNKNOWN)]),
        ("and other words that ended nobody knows when", OLD, (20, UNKNOWN), [(10, 20)]),
        ("and other words that ended nobody knows when, all the while", OLD, (5, UNKNOWN), []),
    ],
)
def test_what_is_left_of_an_interval_beside_another(relation: str, old: Said, new: Said, left: Sequence[Said]) -> None:
    assert left_of(interval(*old), interval(*new)) == tuple(interval(*part) for part in left), relation


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    connection = connect(tmp_path / "recorder.db")
    yield connection
    connection.close()


def say(
    db: Connection, value: str, said: Said, now_ms: int, channel: Channel = Channel.PERSON, **more: object
) -> gate.Outcome:
    when = interval(*said)
    fields = {
        "namespace": SPACE,
        "key": KEY,
        "value": f"The API host is {value}",
        "kind": MemoryKind.SEMANTIC,
        "origin": Origin.USER_SAID,
        "source": "test",
        "valid_from_ms": when.from_ms,
        "valid_from_precision": when.from_precision,
        "valid_to_ms": when.to_ms,
        "valid_to_precision": when.to_precision,
    }
    return gate.tell(db, Proposal(**(fields | more)), by(now_ms, channel))  # type: ignore[arg-type]


def propose(db: Connection, value: str, said: Said, now_ms: int, channel: Channel) -> gate.Outcome:
    return say(db, value, said, now_ms, channel, origin=Origin.IMPORT)


def by(now_ms: int, channel: Channel = Channel.PERSON) -> gate.Writer:
    return gate.Writer(channel, "test", A, now_ms)


def told(
    db: Connection, *, now_ms: int = NOW_MS + 1_000, at: int | None = None, as_of_ms: int | None = None
) -> set[str]:
    """What recall says of the host; `at`: what held so many days from now."""
    only = Only(valid_at_ms=None if at is None else NOW_MS + at * DAY, as_of_ms=as_of_ms)
    found = rank.recall(db, "API host", A, k=10, vector=None, vector_status="off", now_ms=now_ms, only=only)
    return {hit.text.removeprefix("The API host is ") for hit in found.hits if hit.type == "memory"}


def briefed(db: Connection, now_ms: int) -> str:
    return brief.compose(memories.for_brief(db, A.project_id, now_ms), 300)


def test_an_end_a_person_gave_stays_when_other_words_hold_later(db: Connection) -> None:
    say(db, "alpha", (-700, -300), NOW_MS)
    say(db, "beta", (-200, None), NOW_MS + 10)
    assert (told(db, at=-500), told(db, at=-250), told(db, at=-100)) == ({"alpha"}, set(), {"beta"})


def test_what_ended_nobody_knows_when_does_not_come_back_with_other_words(db: Connection) -> None:
    say(db, "alpha", (-700, UNKNOWN), NOW_MS)
    say(db, "beta", (-100, None), NOW_MS + 10)
    assert (told(db, at=-500), told(db)) == (set(), {"beta"})


def test_what_had_expired_is_not_recalled_of_the_time_before_it_was_replaced(db: Connection) -> None:
    say(db, "alpha", (-700, None), NOW_MS, expires_ms=NOW_MS + 10)
    say(db, "beta", (None, None), NOW_MS + DAY)
    assert told(db, now_ms=NOW_MS + 2 * DAY, at=0) == set()


def test_what_holds_now_is_told_until_the_other_begins_at_every_door(db: Connection) -> None:
    say(db, "beta", (-200, None), NOW_MS)
    outcome = say(db, "gamma", (300, None), NOW_MS + 10)
    assert outcome.memory is not None and outcome.memory.value.endswith("gamma")
    assert outcome.reason == "what holds now goes on, as version 3"
    for days, value in ((0, "beta"), (299, "beta"), (300, "gamma"), (400, "gamma")):
        then = NOW_MS + days * DAY + 1_000
        assert (told(db, at=days), told(db, now_ms=then)) == ({value}, {value})
        found = memories.find(db, SPACE, KEY, now_ms=then)
        assert found is not None and found.value.endswith(value)
        assert (value in briefed(db, then), len(memories.for_brief(db, A.project_id, then))) == (True, 1)
    current = memories.find(db, SPACE, KEY)
    assert current is not None and (current.valid_to_ms, current.trust) == (NOW_MS + 300 * DAY, Trust.VERIFIED)


def test_a_verb_is_about_what_holds_when_it_is_said(db: Connection) -> None:
    say(db, "beta", (-200, None), NOW_MS)
    say(db, "gamma", (300, None), NOW_MS + 10)
    rejected = gate.reject(db, SPACE, KEY, by(NOW_MS + 20), reason="never so")
    assert rejected.memory is not None and rejected.memory.value.endswith("beta")
    assert (told(db), told(db, at=-100), told(db, at=400)) == (set(), set(), {"gamma"})
    later = NOW_MS + 301 * DAY
    again = gate.reject(db, SPACE, KEY, by(later), reason="nor this")
    assert again.memory is not None and again.memory.value.endswith("gamma")
    assert told(db, now_ms=later) == set()


def test_what_is_said_of_an_earlier_time_leaves_the_present_as_it_is(db: Connection) -> None:
    say(db, "marta", (-700, None), NOW_MS)
    say(db, "otto", (-2000, -1500), NOW_MS + 10)
    assert (told(db), told(db, at=-100), told(db, at=-1800), told(db, at=-1000)) == (
        {"marta"},
        {"marta"},
        {"otto"},
        set(),
    )
    agent = gate.tell(
        db,
        Proposal(SPACE, KEY, "The API host is marta", MemoryKind.SEMANTIC, Origin.ASSISTANT_SAID, "test"),
        by(NOW_MS + 20, Channel.AGENT),
    )
    assert agent.action == "corroborated", "it stands, so nothing refuses it"


def test_the_same_words_with_an_end_alone_keep_their_beginning(db: Connection) -> None:
    say(db, "marta", (-700, None), NOW_MS)
    outcome = say(db, "marta", (None, 100), NOW_MS + 10)
    assert outcome.memory is not None
    assert (outcome.memory.valid_from_ms, outcome.memory.valid_to_ms) == (NOW_MS - 700 * DAY, NOW_MS + 100 * DAY)


def test_other_dates_for_what_stands_take_their_time_from_what_was_before(db: Connection) -> None:
    say(db, "alpha", (-700, None), NOW_MS)
    say(db, "beta", (-200, None), NOW_MS + 10)
    when = (NOW_MS - 400 * DAY, Precision.MS)
    gate.label(db, SPACE, KEY, by(NOW_MS + 20), gate.Labels(valid_from=when))
    assert (told(db, at=-500), told(db, at=-300), told(db)) == ({"alpha"}, {"beta"}, {"beta"})


ends = st.one_of(st.none(), st.just(UNKNOWN), st.integers(-9, 10))
intervals = st.tuples(st.one_of(st.none(), st.integers(-10, 9)), ends).filter(
    lambda one: not (isinstance(one[0], int) and isinstance(one[1], int)) or one[0] < one[1]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(intervals, min_size=1, max_size=5))
def test_at_every_moment_what_was_said_last_of_it_holds_and_what_was_believed_can_be_asked(
    said: list[Said],
) -> None:
    with TemporaryDirectory() as folder:
        db = connect(Path(folder) / "recorder.db")
        try:
            for n, one in enumerate(said):
                # From the first moment on where none is given, so that nothing depends on when it was said.
                assert say(db, f"host{n}", (-50 if one[0] is None else one[0], one[1]), NOW_MS + 10 * n).memory
            for known in {1, len(said)}:
                for day in range(-12, 13):
                    moment = {"at": day, "as_of_ms": NOW_MS + 10 * (known - 1)}
                    assert told(db, **moment) == expected(said[:known], day), (known, day)
            now_ms = NOW_MS + 1_000
            stands = memories.find(db, SPACE, KEY, now_ms=now_ms)
            assert told(db, now_ms=now_ms) == expected(said, 0) and stands is not None
            assert expected(said, 0) in (set(), {stands.value.removeprefix("The API host is ")})
            assert memories.find(db, SPACE, KEY) == stands
        finally:
            db.close()


def expected(said: Sequence[Said], day: int) -> set[str]:
    """The last one said whose interval holds the day; nothing where nobody knows when that ended."""
    for n, (begins, ends) in reversed(list(enumerate(said))):
        if (begins is None or begins <= day) and (not isinstance(ends, int) or day < ends):
            return set() if ends == UNKNOWN else {f"host{n}"}
    return set()


def test_a_clock_that_is_behind_does_not_bring_back_what_was_replaced(db: Connection) -> None:
    say(db, "alpha", (None, None), NOW_MS)
    say(db, "beta", (None, None), NOW_MS + 20)
    say(db, "gamma", (None, None), NOW_MS + 30)
    assert told(db, now_ms=NOW_MS + 25) == set()
    current = say(db, "delta", (None, None), NOW_MS + 25).memory
    assert current is not None and current.version == 4
    assert told(db, now_ms=NOW_MS + 25) == told(db) == {"delta"}


@pytest.mark.parametrize("channel", [Channel.AGENT, Channel.IMPORT, Channel.API])
def test_a_program_takes_nothing_away_from_what_a_person_said_of_another_time(db: Connection, channel: Channel) -> None:
    propose(db, "alpha", (None, None), NOW_MS, channel)
    say(db, "beta", (300, None), NOW_MS + 10)
    say(db, "gamma", (-700, -300), NOW_MS + 20)
    outcome = propose(db, "delta", (None, None), NOW_MS + 30, channel)
    assert (outcome.action, outcome.reason.partition(",")[2]) == (
        "superseded",
        " when something of higher standing begins",
    )
    assert (told(db), told(db, at=299), told(db, at=301), told(db, at=-500)) == (
        {"delta"},
        {"delta"},
        {"beta"},
        {"gamma"},
    )
    waits = propose(db, "epsilon", (-600, None), NOW_MS + 40, channel)
    assert (waits.action, told(db, at=-500), told(db, at=301)) == ("finding", {"gamma"}, {"beta"})


def test_a_program_that_would_hide_or_date_what_a_person_said_of_another_time_waits(db: Connection) -> None:
    propose(db, "alpha", (None, None), NOW_MS, Channel.AGENT)
    say(db, "beta", (300, None), NOW_MS + 10)
    agent = by(NOW_MS + 20, Channel.AGENT)
    until = gate.Labels(valid_to=(NOW_MS + 400 * DAY, Precision.DAY))
    waits = [gate.delete(db, SPACE, KEY, agent).action, gate.label(db, SPACE, KEY, agent, until).action]
    assert waits == ["finding", "finding"]
    assert (told(db), told(db, at=301), told(db, at=500)) == ({"alpha"}, {"beta"}, {"beta"})


def test_a_program_takes_nothing_away_from_what_is_to_come_where_a_person_rejected_the_present(db: Connection) -> None:
    say(db, "alpha", (None, None), NOW_MS)
    say(db, "beta", (300, None), NOW_MS + 10)
    gate.reject(db, SPACE, KEY, by(NOW_MS + 20), reason="not so")
    propose(db, "gamma", (None, None), NOW_MS + 30, Channel.AGENT)
    assert (told(db), told(db, at=301)) == ({"gamma"}, {"beta"})


def test_what_a_person_replaced_from_a_day_on_is_refused_everywhere_once_that_day_came(db: Connection) -> None:
    say(db, "alpha", (None, None), NOW_MS)
    say(db, "beta", (300, None), NOW_MS + 10)
    assert say(db, "alpha", (None, None), NOW_MS + 20, Channel.AGENT, key="node").action == "created"
    late = NOW_MS + 301 * DAY
    again = say(db, "alpha", (None, None), late, Channel.AGENT, key="other")
    assert again.reason.startswith("tombstone")
    assert told(db, now_ms=late + 10) == {"beta"}
    say(db, "alpha", (None, None), late + 20)
    assert told(db, now_ms=late + 30) == {"alpha"}


def test_what_comes_back_later_is_not_refused_when_other_words_begin(db: Connection) -> None:
    say(db, "alpha", (None, None), NOW_MS)
    say(db, "beta", (300, 400), NOW_MS + 10)
    again = say(db, "alpha", (None, None), NOW_MS + 301 * DAY, Channel.AGENT, key="other")
    assert again.action == "created"


def test_what_is_deleted_is_refused_with_what_was_to_come_and_restored_with_it(db: Connection) -> None:
    say(db, "alpha", (None, None), NOW_MS)
    say(db, "beta", (300, None), NOW_MS + 10)
    gate.delete(db, SPACE, KEY, by(NOW_MS + 20))
    for value in ("alpha", "beta"):
        assert say(db, value, (None, None), NOW_MS + 30, Channel.AGENT, key="other").reason.startswith("deleted"), value
    late = NOW_MS + 301 * DAY
    assert gate.restore(db, SPACE, KEY, by(late)).action == "restored"
    for value in ("alpha", "beta"):
        again = say(db, value, (None, None), late + 20, Channel.AGENT, key=f"other.{value}")
        assert again.action == "created", value


def test_what_is_rejected_does_not_come_true_on_a_later_day_under_another_key(db: Connection) -> None:
    say(db, "alpha", (None, None), NOW_MS)
    say(db, "beta", (300, None), NOW_MS + 10)
    say(db, "beta", (None, None), NOW_MS + 20, key="other")
    outcome = gate.reject(db, SPACE, "other", by(NOW_MS + 30), reason="never")
    assert f"{SPACE}/{KEY}" in outcome.reason
    assert (told(db), told(db, at=301)) == ({"alpha"}, set())
    assert "beta" not in briefed(db, NOW_MS + 301 * DAY)
