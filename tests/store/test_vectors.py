"""Vectors: found inside the scope alone, in step with their owners, and never more than an index."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from recorder.errors import StoreError
from recorder.models import EventKind, Scope
from recorder.store import db as store
from recorder.store import projects, vector_index, vectors
from recorder.store.vector_index import BLOCK_ROWS
from recorder.store.vectors import DIMENSION, Near
from tests.memory_samples import NOW_MS, A, B, add_event, add_memory, opened

MODEL = "m1"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[store.Connection]:
    connection = opened(tmp_path)
    connection.pragma("synchronous", 0)  # a thousand commits and no power cut
    vectors.adopt(connection, MODEL)
    yield connection
    connection.close()


def towards(axis: int, noise: int = 0) -> bytes:
    """A vector along one axis, a little off when told to."""
    parts = [noise if n == (axis + 1) % DIMENSION else 100 if n == axis else 0 for n in range(DIMENSION)]
    return bytes(parts)


def embedded(db: store.Connection, scope: Scope, text: str, *windows: bytes, model: str = MODEL) -> int:
    event_id = add_event(db, scope, text)
    vectors.store(db, "event", event_id, model, [(f"{text} {n}", window) for n, window in enumerate(windows)])
    return event_id


def ids(found: list[Near]) -> list[tuple[str, int]]:
    return [(near.owner, near.owner_id) for near in found]


def queue(db: store.Connection, owner: str, owner_id: int, at_ms: int = NOW_MS) -> None:
    db.execute("insert or ignore into embed_queue (owner, owner_id, at_ms) values (?, ?, ?)", (owner, owner_id, at_ms))


def test_ten_rows_of_a_scope_are_found_among_a_thousand_nearer_ones_of_another(db: store.Connection) -> None:
    for n in range(990):
        embedded(db, A, f"a{n}", towards(1))
    mine = [embedded(db, B, f"b{n}", towards(2, noise=n)) for n in range(10)]
    found = vectors.search(db, B, towards(1), 10)
    assert {near.owner_id for near in found} == set(mine)


def test_a_row_is_found_from_its_own_scope_and_the_persons_rows_from_everywhere(db: store.Connection) -> None:
    in_a = embedded(db, A, "in a", towards(1))
    of_the_person = embedded(db, Scope(None), "everywhere", towards(1, noise=50))
    assert ids(vectors.search(db, A, towards(1), 10)) == [("event", in_a), ("event", of_the_person)]
    assert ids(vectors.search(db, B, towards(1), 10)) == [("event", of_the_person)]
    assert ids(vectors.search(db, Scope(None), towards(1), 10)) == [("event", of_the_person)]


def test_an_event_scores_by_its_best_window_and_comes_once(db: store.Connection) -> None:
    long = embedded(db, A, "long", towards(5), towards(1), towards(6))
    near = embedded(db, A, "near", towards(1, noise=60))
    found = vectors.search(db, A, towards(1), 10)
    assert ids(found) == [("event", long), ("event", near)]
    assert found[0].similarity == pytest.approx(1.0, abs=1e-6)
    assert found[1].similarity == pytest.approx(100 / (100**2 + 60**2) ** 0.5, abs=1e-3)


def test_many_events_do_not_crowd_out_a_memory(db: store.Connection) -> None:
    for n in range(60):
        embedded(db, A, f"e{n}", towards(1))
    memory = add_memory(db, A, "command.test", "uv run pytest")
    vectors.store(db, "memory", memory.version_id, MODEL, [("m", towards(1, noise=90))])
    found = vectors.search(db, A, towards(1), 5)
    assert ("memory", memory.version_id) in ids(found)
    assert len(found) == 6


def test_more_than_the_index_can_give_at_once_is_no_error(db: store.Connection) -> None:
    embedded(db, A, "one", towards(1))
    assert len(vectors.search(db, A, towards(1), 100_000)) == 1


def test_a_vector_another_connection_stored_is_found_at_once(db: store.Connection, tmp_path: Path) -> None:
    assert vectors.search(db, A, towards(1), 5) == []
    other = store.connect(tmp_path / "recorder.db")
    event_id = embedded(other, A, "theirs", towards(1))
    other.close()
    assert ids(vectors.search(db, A, towards(1), 5)) == [("event", event_id)]


def test_a_rebuilt_index_gives_the_same_answers(db: store.Connection) -> None:
    dice = random.Random(7)
    for n in range(200):
        embedded(db, A if n % 2 else B, f"e{n}", dice.randbytes(DIMENSION))
    questions = [dice.randbytes(DIMENSION) for _ in range(20)]
    before = [vectors.search(db, A, question, 5) for question in questions]
    db.execute("drop table vec_items")
    assert vectors.rebuild(db) == 200
    assert [vectors.search(db, A, question, 5) for question in questions] == before


def test_an_index_that_is_gone_is_an_error_and_not_an_empty_answer(db: store.Connection) -> None:
    embedded(db, A, "one", towards(1))
    db.execute("drop table vec_items")
    with pytest.raises(StoreError, match="reindex"):
        vectors.search(db, A, towards(1), 5)
    assert vectors.adopt(db, MODEL)
    assert len(vectors.search(db, A, towards(1), 5)) == 1


def test_a_question_of_another_dimension_is_an_error(db: store.Connection) -> None:
    embedded(db, A, "one", towards(1))
    with pytest.raises(StoreError, match="768"):
        vectors.search(db, A, b"\x01" * 768, 5)


def test_without_sqlite_vec_vectors_are_kept_and_searching_says_why_it_cannot(
    db: store.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recorder.store.db._vec_library", lambda: None)
    plain = store.connect(tmp_path / "recorder.db")
    event_id = embedded(plain, A, "stored", towards(1))
    with pytest.raises(StoreError, match="sqlite-vec"):
        vectors.search(plain, A, towards(1), 5)
    plain.close()
    vectors.rebuild(db)
    assert ids(vectors.search(db, A, towards(1), 5)) == [("event", event_id)]


def test_what_was_forgotten_without_sqlite_vec_leaves_the_index_once_it_is_back(
    db: store.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_id = embedded(db, A, "secret", towards(1))
    monkeypatch.setattr("recorder.store.db._vec_library", lambda: None)
    plain = store.connect(tmp_path / "recorder.db")
    with store.transaction(plain):
        vectors.drop_owner(plain, "event", [event_id])
    plain.close()
    assert vectors.search(db, A, towards(1), 5) == []
    assert vectors.adopt(db, MODEL)
    assert list(db.execute("select count(*) from vec_items")) == [(0,)]


def test_a_dropped_owner_leaves_rows_index_and_queue(db: store.Connection) -> None:
    gone = embedded(db, A, "gone", towards(1), towards(2))
    kept = embedded(db, A, "kept", towards(1))
    queue(db, "event", gone)
    with store.transaction(db):
        vectors.drop_owner(db, "event", [gone])
    assert ids(vectors.search(db, A, towards(1), 5)) == [("event", kept)]
    assert list(db.execute("select owner_id from embeddings")) == [(kept,)]
    assert list(db.execute("select count(*) from vec_items")) == [(1,)]
    assert vectors.waiting(db) == 0


def test_what_was_forgotten_while_it_was_being_embedded_is_not_stored(db: store.Connection) -> None:
    event_id = add_event(db, A, "short lived")
    queue(db, "event", event_id)
    db.execute("delete from sightings where event_id = ?", (event_id,))
    db.execute("delete from events where id = ?", (event_id,))
    assert not vectors.store(db, "event", event_id, MODEL, [("x", towards(1))])
    assert list(db.execute("select count(*) from embeddings")) == [(0,)]
    assert vectors.waiting(db) == 0


def test_storing_again_replaces_what_was_there(db: store.Connection) -> None:
    event_id = embedded(db, A, "twice", towards(1), towards(2))
    vectors.store(db, "event", event_id, MODEL, [("new", towards(3))])
    assert list(db.execute("select vector from embeddings")) == [(towards(3),)]
    assert vectors.search(db, A, towards(3), 5)[0].similarity == pytest.approx(1.0, abs=1e-6)
    assert vectors.search(db, A, towards(1), 5)[0].similarity == pytest.approx(0.0, abs=1e-6)


def test_another_model_finds_none_of_the_old_vectors_and_their_owners_wait_again(db: store.Connection) -> None:
    event_id = embedded(db, A, "old", towards(1))
    assert vectors.adopt(db, "m2")
    assert vectors.search(db, A, towards(1), 5) == []
    assert [(item.owner, item.owner_id) for item in vectors.due(db, 5)] == [("event", event_id)]
    assert not vectors.adopt(db, "m2")


def test_of_a_long_past_the_newest_get_a_vector_of_another_model_first_and_all_get_one(db: store.Connection) -> None:
    made = [embedded(db, A, f"old {n}", towards(n)) for n in range(7)]
    for n, event_id in enumerate(made):
        db.execute("update events set at_ms = ? where id = ?", (NOW_MS + n, event_id))
    assert vectors.adopt(db, "m2", most=3)
    assert (vectors.waiting(db), vectors.put_off(db)) == (3, 4)
    order = []
    while vectors.waiting(db) or vectors.put_off(db):
        vectors.bound_queue(db, 3)
        assert vectors.waiting(db) <= 3
        for item in vectors.due(db, 10):
            order.append(made.index(item.owner_id))
            vectors.store(db, item.owner, item.owner_id, "m2", [(item.text, towards(1))])
    assert order == [6, 5, 4, 3, 2, 1, 0]
    assert vectors.rows_of_models(db) == {"m2": 7}


def test_a_model_of_another_dimension_gets_an_index_of_its_own(db: store.Connection) -> None:
    event_id = embedded(db, A, "old", towards(1))
    vectors.adopt(db, "wide", 768)
    vectors.store(db, "event", event_id, "wide", [("x", b"\x05" * 768)])
    assert ids(vectors.search(db, A, b"\x05" * 768, 5)) == [("event", event_id)]


def many(db: store.Connection, scope: Scope, rows: int, dice: random.Random) -> dict[int, bytes]:
    """As many rows, by the ids of their owners, put there and indexed at once."""
    scope_id = projects.scope_id(db, str(scope.project_id))
    made = {100_000 + n: near_one_of_few(dice) for n in range(rows)}
    db.executemany(
        "insert into embeddings (owner, owner_id, window, scope_id, model, content_hash, vector)"
        " values ('event', ?, 0, ?, ?, '', ?)",
        [(owner_id, scope_id, MODEL, vector) for owner_id, vector in made.items()],
    )
    vectors.rebuild(db)
    return made


SUBJECTS = [[byte % 160 - 80 for byte in random.Random(n).randbytes(DIMENSION)] for n in range(40)]


def near_one_of_few(dice: random.Random) -> bytes:
    """A vector like those of texts: of some subject, and each a little different."""
    return bytes(
        (part + noise % 80 - 40) % 256 for part, noise in zip(dice.choice(SUBJECTS), dice.randbytes(DIMENSION))
    )


def cosine(left: bytes, right: bytes) -> float:
    a, b = ([byte - 256 if byte > 127 else byte for byte in vector] for vector in (left, right))
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def test_a_scope_of_many_rows_finds_nearly_all_that_comparing_with_each_would(db: store.Connection) -> None:
    dice = random.Random(5)
    made = many(db, A, 9_000, dice)
    hits = 0
    for _ in range(5):
        question = near_one_of_few(dice)
        best = sorted(made, key=lambda owner_id: -cosine(made[owner_id], question))[:10]
        found = vectors.search(db, A, question, 10)
        assert [near.similarity for near in found] == sorted((near.similarity for near in found), reverse=True)
        assert found[0].similarity == pytest.approx(cosine(made[found[0].owner_id], question), abs=1e-5)
        hits += len({near.owner_id for near in found} & set(best))
    assert hits >= 0.97 * 50


def test_rows_that_come_one_by_one_are_found_like_those_of_a_rebuilt_index(db: store.Connection) -> None:
    dice = random.Random(6)
    many(db, A, BLOCK_ROWS - 4, dice)
    for n in range(6):  # the last of them closes a block
        embedded(db, A, f"e{n}", near_one_of_few(dice))
    questions = [near_one_of_few(dice) for _ in range(5)]
    before = [vectors.search(db, A, question, 10) for question in questions]
    assert list(db.execute("select count(*) from vec_blocks")) == [(1,)]
    assert vectors.rebuild(db) == BLOCK_ROWS + 2
    assert [vectors.search(db, A, question, 10) for question in questions] == before


def test_ten_rows_of_a_scope_are_found_beside_five_thousand_of_another(db: store.Connection) -> None:
    dice = random.Random(7)
    many(db, A, 5_000, dice)
    mine = [embedded(db, B, f"b{n}", near_one_of_few(dice)) for n in range(10)]
    assert {near.owner_id for near in vectors.search(db, B, near_one_of_few(dice), 10)} == set(mine)


def test_rows_that_are_all_alike_are_no_more_than_were_asked_for(db: store.Connection) -> None:
    scope_id = projects.scope_id(db, str(A.project_id))
    db.executemany(
        "insert into embeddings (owner, owner_id, window, scope_id, model, content_hash, vector)"
        " values ('event', ?, 0, ?, ?, '', ?)",
        [(n, scope_id, MODEL, towards(1)) for n in range(1, 2 * BLOCK_ROWS + 1)],
    )
    vectors.rebuild(db)
    assert len(vectors.search(db, A, towards(1), 10)) == 10
    assert len(vector_index.candidates(db, [scope_id], 0, towards(1), 10)) == vector_index.LEAST_CANDIDATES


def test_a_vector_that_is_dropped_leaves_no_sign_in_its_block(db: store.Connection) -> None:
    dice = random.Random(8)
    made = many(db, A, BLOCK_ROWS, dice)
    gone = dice.sample(sorted(made), 40)
    with store.transaction(db):
        vectors.drop_owner(db, "event", gone)
    (after,) = db.execute("select codes, ids from vec_blocks")
    # Of the block a fresh one is made with zeroes where the dropped ones were: no bit differs.
    for place, owner_id in enumerate(sorted(made)):
        bits = [after[0][n * BLOCK_ROWS // 8 + place // 8] >> place % 8 & 1 for n in range(DIMENSION)]
        expected = [0] * DIMENSION if owner_id in gone else [int(byte < 128) for byte in made[owner_id]]
        assert bits == expected
    assert after[1].count(bytes(8)) >= 40
    for owner_id in gone[:5]:
        found = vectors.search(db, A, made[owner_id], 10)
        assert len(found) == 10 and owner_id not in {near.owner_id for near in found}


def test_a_block_whose_rows_are_all_gone_is_gone(db: store.Connection) -> None:
    made = many(db, A, BLOCK_ROWS, random.Random(8))
    with store.transaction(db):
        vectors.drop_owner(db, "event", sorted(made))
    assert list(db.execute("select count(*) from vec_blocks")) == [(0,)]
    assert vectors.search(db, A, towards(1), 10) == []


def test_vectors_go_along_when_their_project_is_merged_into_another(db: store.Connection) -> None:
    dice = random.Random(9)
    made = many(db, A, BLOCK_ROWS + 10, dice)
    ours = embedded(db, B, "ours", near_one_of_few(dice))
    scope_id = projects.scope_id(db, str(B.project_id))
    question = made[100_003]
    before = ids(vectors.search(db, A, question, 5))
    with store.transaction(db):
        vectors.move(
            db, [(row[0], scope_id) for row in db.execute("select id from embeddings where owner_id <> ?", (ours,))]
        )
    assert vectors.search(db, A, question, 5) == []
    assert ids(vectors.search(db, B, question, 5)) == before


def test_an_index_of_another_shape_is_an_error_until_it_is_made_anew(db: store.Connection) -> None:
    event_id = embedded(db, A, "one", towards(1))
    db.execute("drop table vec_items")
    db.execute("create virtual table vec_items using vec0(embedding int8[384] distance_metric=cosine, scope integer)")
    with pytest.raises(StoreError, match="reindex"):
        vectors.search(db, A, towards(1), 5)
    assert vectors.adopt(db, MODEL)
    assert ids(vectors.search(db, A, towards(1), 5)) == [("event", event_id)]


def test_an_index_of_mostly_holes_is_made_anew(db: store.Connection) -> None:
    made = many(db, A, 2 * BLOCK_ROWS, random.Random(3))
    kept = sorted(made)[::100]
    with store.transaction(db):
        vectors.drop_owner(db, "event", [owner_id for owner_id in made if owner_id not in kept])
    assert vectors.adopt(db, MODEL)
    assert not vectors.adopt(db, MODEL)
    assert list(db.execute("select count(*) from vec_blocks")) == [(0,)]
    assert {near.owner_id for near in vectors.search(db, A, towards(1), 100)} == set(kept)


def test_a_text_the_scope_has_a_vector_of_is_known_there_and_nowhere_else(db: store.Connection) -> None:
    embedded(db, A, "same", towards(1))
    in_a, in_b = projects.scope_id(db, str(A.project_id)), projects.scope_id(db, str(B.project_id))
    assert vectors.known(db, in_a, MODEL, ["same 0", "other"]) == {"same 0": towards(1)}
    assert vectors.known(db, in_b, MODEL, ["same 0"]) == {}
    assert vectors.known(db, in_a, "m2", ["same 0"]) == {}


def test_what_waits_comes_newest_first_with_the_words_it_is_found_by(db: store.Connection) -> None:
    prompt = add_event(db, A, "why is the build slow?", at_ms=NOW_MS)
    answer = add_event(db, A, "because of the linker", kind=EventKind.ASSISTANT, at_ms=NOW_MS + 1)
    call = add_event(db, A, "Bash: make " + "x" * 3000 + " done", kind=EventKind.TOOL_CALL, at_ms=NOW_MS + 2)
    for event_id, at_ms in ((prompt, NOW_MS), (answer, NOW_MS + 1), (call, NOW_MS + 2)):
        queue(db, "event", event_id, at_ms)
    first, second, third = vectors.due(db, 10)
    assert (first.owner_id, first.role) == (call, "tool")
    assert first.text.startswith("Bash: make") and first.text.endswith("done") and len(first.text) <= 1000
    assert (second.owner_id, second.role, second.text) == (answer, "assistant", "because of the linker")
    assert (third.owner_id, third.role, third.text) == (prompt, "user", "why is the build slow?")


def test_a_memory_waits_with_its_key_and_value(db: store.Connection) -> None:
    memory = add_memory(db, A, "command.test", "uv run pytest")
    waiting = [item for item in vectors.due(db, 10) if item.owner == "memory"]
    assert [(item.owner_id, item.text) for item in waiting] == [(memory.version_id, "command.test: uv run pytest")]


@pytest.mark.parametrize("klass", ["injected", "task_notification", "teammate", "bash"])
def test_prompts_nobody_typed_want_no_vector(db: store.Connection, klass: str) -> None:
    event_id = add_event(db, A, "not typed")
    db.execute("update events set class = ? where id = ?", (klass, event_id))
    queue(db, "event", event_id)
    assert [item.text for item in vectors.due(db, 10)] == [""]


def test_our_own_output_wants_no_vector(db: store.Connection) -> None:
    event_id = add_event(db, A, "recalled text", kind=EventKind.TOOL_CALL)
    db.execute("update events set excerpt = '' where id = ?", (event_id,))
    queue(db, "event", event_id)
    assert [item.text for item in vectors.due(db, 10)] == [""]


def test_what_fails_goes_behind_all_others_and_is_let_go_when_it_fails_again(db: store.Connection) -> None:
    bad, good = add_event(db, A, "bad"), add_event(db, A, "good")
    queue(db, "event", bad, NOW_MS + 9)
    queue(db, "event", good, NOW_MS)
    vectors.postpone(db, "event", bad)
    assert [item.owner_id for item in vectors.due(db, 5)] == [good, bad]
    vectors.postpone(db, "event", bad)
    assert [item.owner_id for item in vectors.due(db, 5)] == [good]
    assert vectors.requeue_missing(db) == 2


def test_what_never_got_a_vector_is_queued_again_on_request(db: store.Connection) -> None:
    embedded(db, A, "has one", towards(1))
    without = add_event(db, A, "has none")
    assert vectors.requeue_missing(db) == 1
    assert [item.owner_id for item in vectors.due(db, 5)] == [without]


def test_a_queue_that_is_too_long_keeps_the_newest_and_the_others_come_when_those_are_done(
    db: store.Connection,
) -> None:
    made = [add_event(db, A, f"event {n}", at_ms=NOW_MS + n) for n in range(7)]
    for n, event_id in enumerate(made):
        queue(db, "event", event_id, NOW_MS + n)
    rounds = []
    while vectors.waiting(db) or vectors.put_off(db):
        vectors.bound_queue(db, 3)
        assert vectors.waiting(db) <= 3
        items = vectors.due(db, 10)
        rounds.append([made.index(item.owner_id) for item in items])
        for item in items:
            vectors.store(db, item.owner, item.owner_id, MODEL, [(item.text, towards(1))])
    assert [one for one in rounds if one] == [[6, 5, 4], [3, 2, 1], [0]]
    assert len(vectors.search(db, A, towards(1), 10)) == 7
