"""What goes with age, and what never does."""

from __future__ import annotations

from pathlib import Path

import pytest

from recorder import gate
from recorder.lifecycle.purge import purge
from recorder.models import EventKind
from recorder.recall import rank
from recorder.store import audit, copies, events, findings, memories, sessions, upkeep, vectors
from recorder.store.db import Connection, transaction
from tests.lifecycle.homes import DEPLOY, DROPPED, FALSE, SPACE_A, agent, furnished, person, proposal, values
from tests.memory_samples import NOW_MS, A, add_event, add_memory, opened

DAY_MS = 86_400_000
MUCH_LATER = NOW_MS + 400 * DAY_MS
VECTOR = bytes(vectors.DIMENSION)


def words(db: Connection, question: str) -> list[str]:
    found = rank.recall(db, question, A, k=20, vector=None, vector_status="off", now_ms=MUCH_LATER)
    return [hit.text for hit in found.hits]


def left(db: Connection, event_id: int) -> dict[str, int]:
    """Table → rows about the event."""
    asked = {
        "events": "id = ?",
        "sightings": "event_id = ?",
        "files": "event_id = ?",
        "embeddings": "owner = 'event' and owner_id = ?",
        "embed_queue": "owner = 'event' and owner_id = ?",
        "event_words_docsize": "id = ?",
        "event_trigrams_docsize": "id = ?",
    }
    return {
        table: next(iter(db.execute(f"select count(*) from {table} where {where}", (event_id,))))[0]
        for table, where in asked.items()
    }


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    return opened(tmp_path)


def old_and_cited(db: Connection) -> tuple[int, int, int]:
    """(an old event with all that can be derived of one, an old cited one, a young one)."""
    old = add_event(db, A, "an old pelican prompt", session="s0", narrow="src/pelican.py")
    cited = add_event(db, A, DEPLOY, session="s0")
    young = add_event(db, A, "a young pelican prompt", at_ms=MUCH_LATER - DAY_MS)
    add_memory(db, A, "decision.deploy", DEPLOY, cites=[cited])
    with transaction(db):
        events.add_files(db, [(old, "src/pelican.py", "read")])
        sessions.entitle(db, "s0", "About pelicans")
        events.queue_vector(db, "event", young, NOW_MS)
    vectors.adopt(db, "m")
    vectors.store(db, "event", old, "m", [("h", VECTOR)])
    return old, cited, young


def test_old_events_that_nothing_cites_go_with_all_that_was_derived_from_them(db: Connection) -> None:
    old, cited, young = old_and_cited(db)
    assert sum(left(db, old).values()) > 4
    found = purge(db, 365, actor="terminal", now_ms=MUCH_LATER)
    assert found.events == 1 and found.bytes > 0
    assert set(left(db, old).values()) == {0}
    assert [event.id for event in events.get(db, [old, cited, young])] == [cited, young]
    assert "an old pelican prompt" not in words(db, "pelican") and "a young pelican prompt" in words(db, "pelican")
    assert DEPLOY in words(db, "helm deploy")
    assert audit.verify(db).state == "pass"
    assert list(db.execute("pragma foreign_key_check")) == [] and copies.damage(db) is None


def test_no_byte_of_what_went_is_left_in_the_files(db: Connection, tmp_path: Path) -> None:
    old_and_cited(db)
    add_event(db, A, "zyzzyva " * 3000)
    purge(db, 365, actor="terminal", now_ms=MUCH_LATER)
    db.close()
    raw = b"".join(path.read_bytes() for path in tmp_path.glob("recorder.db*"))
    assert b"old pelican" not in raw and b"zyzzyva" not in raw and DEPLOY.encode() in raw


def test_a_dry_run_counts_the_same_and_changes_nothing(db: Connection) -> None:
    old_and_cited(db)
    before = [list(db.execute(f"select count(*) from {table}")) for table in ("events", "audit", "embeddings")]
    would = purge(db, 365, actor="terminal", now_ms=MUCH_LATER, dry_run=True)
    assert [list(db.execute(f"select count(*) from {table}")) for table in ("events", "audit", "embeddings")] == before
    did = purge(db, 365, actor="terminal", now_ms=MUCH_LATER)
    assert (would.events, would.bytes, would.emptied) == (did.events, did.bytes, did.emptied)


def test_without_an_age_no_event_goes(db: Connection) -> None:
    old_and_cited(db)
    assert purge(db, None, actor="terminal", now_ms=MUCH_LATER).events == 0
    assert events.count(db) > 2


def test_what_an_open_finding_cites_stays_until_it_is_settled(db: Connection) -> None:
    cited = add_event(db, A, "proposed by nobody")
    with transaction(db):
        number = findings.add(
            db,
            "conflict",
            memory_id=None,
            project_id=A.project_id,
            proposal={"evidence": [{"event_id": cited, "quote": "x"}]},
            reason="y",
            now_ms=NOW_MS,
        )
    assert purge(db, 1, actor="terminal", now_ms=MUCH_LATER).events == 0
    with transaction(db):
        findings.resolve(db, number, "keep old", NOW_MS)
    assert purge(db, 1, actor="terminal", now_ms=MUCH_LATER).events == 1


def test_the_words_of_a_deleted_memorys_history_go_and_its_lines_stay(tmp_path: Path) -> None:
    db = furnished(tmp_path)
    deleted, other = memories.find(db, SPACE_A, "fact.host"), memories.find(db, SPACE_A, "decision.deploy")
    assert deleted is not None and other is not None
    lines = {one.id: len(memories.history(db, one.id)) for one in (deleted, other)}
    assert purge(db, 100, actor="terminal", now_ms=MUCH_LATER).emptied > 0
    content = "select count(*) from memory_history where memory_id = ? and content is not null"
    assert next(iter(db.execute(content, (deleted.id,))))[0] == 0 < next(iter(db.execute(content, (other.id,))))[0]
    assert {one.id: len(memories.history(db, one.id)) for one in (deleted, other)} == lines
    assert gate.restore(db, SPACE_A, "fact.host", person(now_ms=MUCH_LATER)).action == "restored"


def test_a_rejection_outlives_every_purge_and_every_expiry(tmp_path: Path) -> None:
    db = furnished(tmp_path)
    before = values(db)
    for now_ms in (MUCH_LATER, MUCH_LATER * 3):
        purge(db, 0, actor="worker", now_ms=now_ms)
        upkeep.bound_size(db, 0)
        for key in ("fact.cluster", "another.key"):
            outcome = gate.tell(db, proposal(FALSE, key), agent(now_ms=now_ms))
            assert (outcome.action, outcome.reason.partition(":")[0]) == ("refused", "tombstone")
        outcome = gate.tell(db, proposal(DROPPED, "fact.host"), agent(now_ms=now_ms))
        assert outcome.action == "refused"
    assert values(db) == before and DEPLOY in words(db, "deploy helm")


def test_beyond_the_bound_the_vectors_of_gone_bodies_go_after_the_bodies(db: Connection) -> None:
    ids = [
        add_event(db, A, f"{n} {'output ' * 400}", kind=EventKind.TOOL_CALL, session="s0", at_ms=NOW_MS + n)
        for n in range(40)
    ]
    prompt = add_event(db, A, "Keep me", at_ms=NOW_MS - 1)
    vectors.adopt(db, "m")
    for one in (*ids, prompt):
        vectors.store(db, "event", one, "m", [("h", VECTOR)])
    upkeep.bound_size(db, 0)
    assert {left(db, one)["embeddings"] for one in ids} == {0}
    assert {left(db, one)["events"] for one in ids} == {1} and left(db, prompt)["embeddings"] == 1
    assert [event.text for event in events.get(db, [prompt])] == ["Keep me"]
    vectors.requeue_missing(db)
    assert {left(db, one)["embed_queue"] for one in ids} == {0}, "they do not come back by a reindex"
    assert any("output" in text for text in words(db, "output"))


def test_bodies_go_before_any_vector_does(db: Connection) -> None:
    ids = [add_event(db, A, f"output {n}", kind=EventKind.TOOL_CALL, at_ms=NOW_MS + n) for n in range(40)]
    db.execute("update events set body = randomblob(60000)")
    vectors.adopt(db, "m")
    for one in ids:
        vectors.store(db, "event", one, "m", [("h", VECTOR)])
    assert upkeep.bound_size(db, upkeep.size_bytes(db) // upkeep.MB) > 0
    assert {left(db, one)["embeddings"] for one in ids} == {1}
