"""Arms put together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.errors import StoreError
from recorder.models import EventKind, Hit, Order, Recall, Scope
from recorder.recall import rank
from recorder.store import db as store
from recorder.store import vectors
from tests.memory_samples import NOW_MS, A, B, add_event, add_memory, opened

NO_MODEL = "unavailable: no model"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[store.Connection]:
    connection = opened(tmp_path)
    yield connection
    connection.close()


def ask(db: store.Connection, question: str, scope: Scope = A, k: int = 10) -> Recall:
    return rank.recall(db, question, scope, k=k, vector=None, vector_status=NO_MODEL, now_ms=NOW_MS)


def ids(answer: Recall) -> list[str]:
    return [hit.id for hit in answer.hits]


def test_a_memory_and_its_own_evidence_are_one_hit(db: store.Connection) -> None:
    said = add_event(db, A, "Always run the tests with uv run pytest")
    memory = add_memory(db, A, "command.test", "Run the tests with uv run pytest.", cites=[said])
    answer = ask(db, "how do I run the tests?")
    assert ids(answer) == [f"m{memory.id}"]
    cited = answer.hits[0].evidence[0]
    assert (cited["event_id"], cited["uuid"], cited["quote"]) == (
        said,
        "uuid-1",
        "Always run the tests with uv run pytest",
    )


@pytest.mark.parametrize("order", [Order.NEWEST, Order.OLDEST])
def test_a_memory_that_answers_by_its_evidence_alone_is_there_in_the_order_of_time(
    db: store.Connection, order: Order
) -> None:
    words = "biome check of the typecheck stage ended with seven findings about unused imports"
    said = add_event(db, A, words)
    memory = add_memory(db, A, "fix.lint", "Let the linter sort the imports.", cites=[said])
    for n in range(3):
        add_event(db, A, f"another talk {n}", session=f"s{n}")
    answer = rank.recall(db, words, A, k=10, vector=None, vector_status=NO_MODEL, now_ms=NOW_MS, order=order)
    assert f"m{memory.id}" in ids(answer) and f"e{said}" not in ids(answer)


def test_a_memory_goes_before_a_passing_mention(db: store.Connection) -> None:
    for n in range(6):
        add_event(db, A, f"run the tests again {n}", session=f"s{n}")
    memory = add_memory(db, A, "command.test", "Run the tests with uv run pytest.")
    assert ids(ask(db, "run tests"))[0] == f"m{memory.id}"


def test_a_memory_that_holds_one_word_of_many_does_not_beat_the_event_that_holds_all(db: store.Connection) -> None:
    add_memory(db, A, "fact.window", "The window has a blue frame.")
    event = add_event(db, A, "postgres connection pool exhausted in checkout window at noon")
    for n in range(20):
        add_event(db, A, f"something else entirely {n}", session=f"s{n}")
    assert ids(ask(db, "postgres connection pool exhausted checkout window"))[0] == f"e{event}"


def test_no_more_than_k_come_back(db: store.Connection) -> None:
    for n in range(30):
        add_event(db, A, f"walnut number {n}", session=f"s{n % 3}")
    assert len(ask(db, "walnut", k=4).hits) == 4
    assert len(ask(db, "walnut", k=1).hits) == 1


def test_after_three_of_one_session_the_best_of_another_goes_first(db: store.Connection) -> None:
    for n in range(8):
        add_event(db, A, f"walnut cake recipe {n}", session="long")
    lone = add_event(db, A, "walnut cake recipe, and other things that were talked about at table", session="short")
    answer = ask(db, "walnut cake recipe", k=5)
    assert [hit.session_id for hit in answer.hits[:3]] == ["long"] * 3
    assert answer.hits[3].id == f"e{lone}"
    assert answer.hits[4].session_id == "long"


def test_one_session_alone_still_fills_the_list(db: store.Connection) -> None:
    for n in range(8):
        add_event(db, A, f"walnut {n}", session="only")
    assert len(ask(db, "walnut", k=6).hits) == 6


def test_the_same_words_come_back_once(db: store.Connection) -> None:
    add_event(db, A, "All walnuts are sorted.", kind=EventKind.ASSISTANT)
    add_event(db, A, "All  walnuts are sorted.", kind=EventKind.TURN_END)
    assert len(ask(db, "walnuts sorted").hits) == 1


def test_nothing_found_is_an_answer_that_names_the_arms(db: store.Connection) -> None:
    answer = ask(db, "walnut")
    assert answer.hits == ()
    assert answer.arms == {"words": "ok", "trigram": "ok", "vector": NO_MODEL}
    assert answer.scope == ("user", "alpha-00000001")


def test_a_broken_arm_is_named_and_the_others_answer(db: store.Connection) -> None:
    event = add_event(db, A, "walnut", narrow="walnut")
    db.execute("drop table event_words")
    answer = ask(db, "walnut")
    assert ids(answer) == [f"e{event}"]
    assert answer.arms["words"].startswith("unavailable: ")
    assert answer.arms["trigram"] == "ok"


def test_a_vector_of_another_model_is_an_arm_that_cannot_look_and_no_error(db: store.Connection) -> None:
    event = add_event(db, A, "walnut")
    answer = rank.recall(db, "walnut", A, k=5, vector=b"\x01\x02", vector_status="ok", now_ms=NOW_MS)
    assert ids(answer) == [f"e{event}"]
    assert answer.arms["words"] == "ok"


def test_meaning_alone_brings_a_hit_and_words_bring_it_higher(db: store.Connection) -> None:
    if not store.has_vec(db):
        pytest.skip("needs sqlite-vec")
    vectors.adopt(db, "model")
    asked = bytes([100, *[0] * (vectors.DIMENSION - 1)])
    meant = add_event(db, A, "the parcel came", session="s1")
    both = add_event(db, A, "a delivery arrived", session="s2")
    for event in (meant, both):
        vectors.store(db, "event", event, "model", [(f"h{event}", asked)])
    answer = rank.recall(db, "delivery", A, k=5, vector=asked, vector_status="ok", now_ms=NOW_MS)
    assert ids(answer) == [f"e{both}", f"e{meant}"]
    assert answer.arms == {"words": "ok", "trigram": "ok", "vector": "ok"}


def test_when_no_arm_can_look_the_answer_is_an_error_and_not_an_empty_list(db: store.Connection) -> None:
    add_event(db, A, "walnut", narrow="walnut")
    db.execute("drop table event_words")
    db.execute("drop table event_trigrams")
    with pytest.raises(StoreError, match="no arm"):
        ask(db, "walnut")


def test_another_project_finds_nothing_of_ours_and_we_do(db: store.Connection) -> None:
    add_event(db, A, "walnut", narrow="walnut")
    add_memory(db, A, "fact.nut", "The walnut is ours.")
    assert len(ask(db, "walnut", A).hits) == 2
    assert ask(db, "walnut", B).hits == ()


def test_a_quote_from_another_project_comes_without_what_names_its_event(db: store.Connection) -> None:
    said = add_event(db, A, "I prefer walnut desks")
    add_memory(db, A, "preference.desk", "Prefers walnut desks.", namespace="user", cites=[said])
    (hit,) = ask(db, "walnut", B).hits
    assert dict(hit.evidence[0]) == {
        "event_id": None,
        "uuid": None,
        "tool_use_id": None,
        "quote": "I prefer walnut desks",
        "at_ms": NOW_MS,
    }
    assert hit.session_id is None


def test_the_same_question_gives_the_same_order(db: store.Connection) -> None:
    for n in range(20):
        add_event(db, A, f"walnut {n % 4}x{n}", session=f"s{n % 5}")
    assert ids(ask(db, "walnut")) == ids(ask(db, "walnut"))


def _hit(number: int, session: str | None, score: float) -> Hit:
    return Hit("event", f"e{number}", score, f"text {number}", "prompt", NOW_MS, session_id=session)


HITS = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.floats(0, 1)), max_size=30).map(
    lambda rows: sorted((_hit(n, *row) for n, row in enumerate(rows)), key=lambda hit: -hit.score)
)


@given(hits=HITS, k=st.integers(0, 12))
def test_diversity_neither_starves_nor_repeats(hits: list[Hit], k: int) -> None:
    chosen = rank.diversify(hits, k)
    assert len(chosen) == min(k, len(hits))
    assert len({hit.id for hit in chosen}) == len(chosen)
