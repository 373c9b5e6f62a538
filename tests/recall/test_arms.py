"""The arms side by side, each in a thread and on a connection of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recorder.models import Scope
from recorder.recall import arms
from recorder.store import db as store
from recorder.store import vectors
from recorder.store.only import EVERYTHING
from recorder.store.search import Found
from tests.memory_samples import NOW_MS, A, B, add_event, opened

ASKED = bytes([100, *[0] * (vectors.DIMENSION - 1)])


@pytest.fixture
def db(tmp_path: Path) -> Iterator[store.Connection]:
    connection = opened(tmp_path)
    if not store.has_vec(connection):
        pytest.skip("needs sqlite-vec")
    vectors.adopt(connection, "model")
    for n in range(30):
        event = add_event(
            connection, A if n % 3 else B, f"walnut src/cake_{n}.py number {n}", narrow=f"src/cake_{n}.py"
        )
        vectors.store(connection, "event", event, "model", [(f"h{n}", bytes([100, n, *ASKED[2:]]))])
    yield connection
    connection.close()


def ask(db: store.Connection, scope: Scope, many_blocks: int) -> tuple[dict[str, list[Found]], dict[str, str]]:
    return arms.ask(db, "walnut src/cake_7.py", scope, ASKED, NOW_MS, EVERYTHING, many_blocks=many_blocks)


def test_side_by_side_they_find_what_they_find_one_after_the_other(db: store.Connection) -> None:
    for scope in (A, B, Scope(None)):
        assert ask(db, scope, 0) == ask(db, scope, 10**6)
    found, status = ask(db, A, 0)
    assert len(found["words"]) == 20 and list(found) == list(status) == ["words", "trigram", "vector"]


def test_an_arm_that_fails_beside_the_others_is_named_and_they_answer(db: store.Connection) -> None:
    db.execute("drop table event_words")
    found, status = ask(db, A, 0)
    assert status["words"].startswith("unavailable: ") and status["vector"] == "ok"
    assert len(found["vector"]) == 20 and "words" not in found


def test_inside_a_transaction_what_it_wrote_is_found(db: store.Connection) -> None:
    with store.transaction(db):
        db.execute("update events set excerpt = 'hazel' where id = 2")
        found, _ = arms.ask(db, "hazel", A, ASKED, NOW_MS, EVERYTHING, many_blocks=0)
    assert [row.id for row in found["words"]] == [2]
