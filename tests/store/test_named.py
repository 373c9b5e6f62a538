"""A name that very many rows of the store hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recorder.models import Scope
from recorder.recall import rank
from recorder.store import db as store
from recorder.store import events, named, projects, search
from tests.memory_samples import NOW_MS, A, B, opened

COMMON = named.MOST_ROWS + 1_000


def add_many(db: store.Connection, scope: Scope, count: int, narrow: str) -> range:
    """The ids of so many new events, each with a text of its own, the newest last."""
    first = events.count(db) + 1
    with store.transaction(db):
        db.execute(
            "with recursive n(i) as (select ?1 union all select i + 1 from n where i + 1 < ?1 + ?2)"
            " insert into events (key, kind, session_id, project_id, scope_id, at_ms, received_ms, excerpt, narrow,"
            " body, codec, body_hash)"
            " select 'k' || i, 'tool_call', 's', ?3, ?4, ?5 + i, ?5, 'row ' || i, ?6, '{}', 'json', '' from n",
            (first, count, scope.project_id, projects.scope_id(db, scope.project_id or ""), NOW_MS - 10**6, narrow),
        )
        events.index(db, first - 1)
    return range(first, first + count)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[store.Connection]:
    """Twelve rows of ours, three thousand more that hold another name, then the many of somebody else."""
    connection = opened(Path(tmp_path_factory.mktemp("named")))
    connection.pragma("synchronous", 0)
    connection.execute("insert into sessions (id, started_ms, last_ms) values ('s', 1, 2)")
    add_many(connection, A, 12, "src/common.py")
    add_many(connection, A, named.NEWEST + 1_000, "src/seldom.rs")
    add_many(connection, B, COMMON, "src/common.py")
    yield connection
    connection.close()


def ask(db: store.Connection, scope: Scope, name: str) -> list[search.Found]:
    return search.trigram(db, scope, name, 40, now_ms=NOW_MS)


def test_of_a_name_most_rows_hold_the_best_of_the_scope_fill_the_list(db: store.Connection) -> None:
    found = ask(db, B, "common.py")
    assert len(found) == 40
    assert not isinstance(found, search.Partial)


def test_a_name_common_elsewhere_brings_no_row_of_another_scope(db: store.Connection) -> None:
    ours = {row[0] for row in db.execute("select id from events where project_id = ?", (A.project_id,))}
    for name in ("common.py", "src/common.py", "src/"):
        assert {row.id for row in ask(db, A, name)} <= ours


def test_where_not_all_that_hold_a_name_were_looked_at_the_answer_says_so(db: store.Connection) -> None:
    # Ours are older than the newest of the scope, and than as many of the others as are looked at.
    assert isinstance(ask(db, A, "common.py"), search.Partial)
    answer = rank.recall(db, "common.py", A, k=5, vector=None, vector_status="off", now_ms=NOW_MS)
    assert answer.arms["trigram"].startswith("partial: ")
    assert answer.arms["words"] == "ok"


def test_a_name_few_hold_is_looked_for_in_all_rows(db: store.Connection) -> None:
    rare = add_many(db, A, 1, "lib/needle.py")
    add_many(db, B, 10, "src/common.py")
    found = ask(db, A, "needle.py")
    assert [row.id for row in found] == list(rare)
    assert not isinstance(found, search.Partial)


def test_a_narrow_scope_finds_all_of_its_rows_among_very_many(db: store.Connection) -> None:
    narrow = Scope("gamma-00000003")
    ours = add_many(db, narrow, 12, "src/common.py")
    add_many(db, B, 10, "src/common.py")
    found = ask(db, narrow, "common.py")
    assert {row.id for row in found} == set(ours)
    assert not isinstance(found, search.Partial)
    answer = rank.recall(db, "common.py", narrow, k=10, vector=None, vector_status="off", now_ms=NOW_MS)
    assert len(answer.hits) == 10


def test_who_holds_the_rarer_of_two_names_goes_first(db: store.Connection) -> None:
    (both,) = add_many(db, A, 1, "src/seldom.rs src/common.py")
    found = ask(db, A, "common.py seldom.rs")
    assert found[0].id == both
