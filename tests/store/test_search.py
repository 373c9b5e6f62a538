"""The arms: what they find, what they may not show, and that any text is a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recorder import gate
from recorder.models import Channel, Scope
from recorder.store import db as store
from recorder.store import events, projects, search, vectors
from recorder.store.search import Found, Only
from tests.memory_samples import NOW_MS, A, B, add_event, add_memory, opened

Arm = Callable[..., list[Found]]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[store.Connection]:
    connection = opened(tmp_path)
    yield connection
    connection.close()


def found(
    arm: Arm, db: store.Connection, scope: Scope, question: str, only: Only = search.EVERYTHING
) -> list[tuple[str, int]]:
    return [(row.type, row.id) for row in arm(db, scope, question, 20, now_ms=NOW_MS, only=only)]


HOSTILE = [
    "sqlite-vec",
    "foo:bar",
    "C++",
    '"unbalanced',
    "what?",
    "AND",
    "src/app.py",
    "",
    "   ",
    "NEAR(a b, 3)",
    "a* ^b -c +d",
    "col : x",
    '""""',
    "x\x00y",
    "\ud800 lone",
    "\ud800",
    "src/\ud800/x.py",
    "'; drop table events; --",
    "%_%",
    "🙂" * 500,
    "word " * 5000,
    "ß İ ŉ",
    "NOT OR AND NOT",
    r"^(\w+)\s*=\s*(.*?)$",
    "{excerpt scope} : x",
    "語",
    "記憶",
    "語" * 5000,
    "x" * 100_000,
    '"' * 100_000,
    "a.b/c-" * 17_000,
]


@pytest.mark.parametrize("question", HOSTILE)
@pytest.mark.parametrize("arm", [search.words, search.trigram], ids=["words", "trigram"])
def test_any_text_is_a_question(db: store.Connection, arm: Arm, question: str) -> None:
    add_event(db, A, "use sqlite-vec in src/app.py, written in C++ (foo:bar)", narrow="src/app.py\nsqlite-vec")
    found(arm, db, A, question)


@given(question=st.one_of(st.text(max_size=200), st.text(alphabet="ab*\"'():^-+.{}/\\%_ \n語記", max_size=40)))
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_random_text_raises(db: store.Connection, question: str) -> None:
    if not events.count(db):
        add_event(db, A, "use sqlite-vec in src/app.py, written in C++ (foo:bar)", narrow="src/app.py")
    found(search.words, db, A, question)
    found(search.trigram, db, A, question)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("sqlite-vec", "we chose sqlite-vec for vectors"),
        ("foo:bar", "the label foo:bar was wrong"),
        ("how were the migrations running?", "run the migration first"),
        ("src/app.py", "the fault was in src/app.py"),
        ("is it the what of AND", "and it is what it is"),
        ("naïve", "a naive approach"),
    ],
)
def test_words_find_what_holds_a_word_of_the_question(db: store.Connection, question: str, text: str) -> None:
    event = add_event(db, A, text)
    add_event(db, A, "nothing to see")
    assert found(search.words, db, A, question)[0] == ("event", event)


@pytest.mark.parametrize(
    ("question", "narrow", "text"),
    [
        ("where is parse_frame", "server/wire.py\nold_parse_frames", ""),
        ("E0308", "error[E0308]: mismatched types", ""),
        ("rver/wi", "server/wire.py", ""),
        ("--frozen-lockfile", "pnpm install --frozen-lockfile", ""),
        ("C#", "app.cs written in C# 12", ""),
        ("连接超时", "", "数据库连接超时怎么办"),
        ("数据", "", "数据库连接超时怎么办"),
        ("ビルド", "", "ビルドが失敗した"),
    ],
)
def test_trigram_finds_a_name_inside_of_another(db: store.Connection, question: str, narrow: str, text: str) -> None:
    event = add_event(db, A, text, narrow=narrow)
    add_event(db, A, "nothing to see", narrow="other/place.rs")
    assert found(search.trigram, db, A, question) == [("event", event)]


def test_memories_are_found_by_key_value_and_tag(db: store.Connection) -> None:
    memory = add_memory(db, A, "command.test", "Run the suite with `uv run pytest`.", tags=("ci",))
    for question in ("suite", "command", "ci", "running"):
        assert ("memory", memory.id) in found(search.words, db, A, question)
    assert ("memory", memory.id) in found(search.trigram, db, A, "uv-run or command.te")


def test_a_percent_sign_is_a_character_and_not_a_wildcard(db: store.Connection) -> None:
    add_memory(db, A, "plain", "all 5 of the kind")
    held = add_memory(db, A, "share", "about 5% of it")
    assert found(search.trigram, db, A, "5%") == [("memory", held.id)]


@pytest.mark.parametrize(
    ("arm", "question"),
    [(search.words, "zanzibar_port"), (search.trigram, "zanzibar_port"), (search.trigram, "数据")],
    ids=["words", "trigram", "like"],
)
def test_another_project_sees_nothing_and_its_own_sees_it(db: store.Connection, arm: Arm, question: str) -> None:
    text = f"the {question} is open"
    event = add_event(db, A, text, narrow=question)
    memory = add_memory(db, A, "fact.port", text)
    assert set(found(arm, db, A, question)) == {("event", event), ("memory", memory.id)}
    assert found(arm, db, B, question) == []
    assert found(arm, db, Scope(None), question) == []


def test_an_event_of_no_project_is_nobodys(db: store.Connection) -> None:
    event = add_event(db, A, "orphan text")
    db.execute("update events set scope_id = null where id = ?", (event,))
    assert found(search.words, db, A, "orphan") == []


def test_an_event_is_found_where_it_went_and_no_more_where_it_was(db: store.Connection) -> None:
    event_id = add_event(db, A, "a moving parser")
    db.execute("update events set scope_id = ? where id = ?", (projects.scope_id(db, str(B.project_id)), event_id))
    assert search.words(db, A, "parser", 10, now_ms=NOW_MS) == []
    assert [row.id for row in search.words(db, B, "parser", 10, now_ms=NOW_MS)] == [event_id]
    db.execute("insert into event_words (event_words, rank) values ('integrity-check', 1)")


def test_the_word_for_a_scope_is_no_way_into_it(db: store.Connection) -> None:
    add_event(db, A, "private to a")
    of_a = projects.scope_id(db, str(A.project_id))
    for asked in (f"inscope{of_a}", f'inscope{of_a} OR "private"', f"scope : inscope{of_a} private"):
        assert search.words(db, B, asked, 10, now_ms=NOW_MS) == []


def test_nine_hundred_better_matches_of_another_project_do_not_starve_ten_of_ours(db: store.Connection) -> None:
    for n in range(300):
        add_event(db, A, f"needle needle needle {n}", narrow=f"needle_{n}")
    ours = [add_event(db, B, f"a needle in a long sentence about hay {n}", narrow=f"hay/needle_{n}") for n in range(10)]
    for arm in (search.words, search.trigram):
        assert {n for _, n in found(arm, db, B, "needle_")} | {n for _, n in found(arm, db, B, "needle")} == set(ours)


def test_an_agents_word_on_the_user_stays_in_the_project_it_came_from(db: store.Connection) -> None:
    memory = add_memory(db, A, "preference.editor", "Prefers helix.", namespace="user", channel=Channel.AGENT)
    assert found(search.words, db, A, "helix") == [("memory", memory.id)]
    assert found(search.words, db, B, "helix") == []
    gate.approve(db, "user", "preference.editor", gate.Writer(Channel.PERSON, "test", A, NOW_MS + 1))
    assert [row.id for row in search.words(db, B, "helix", 5, now_ms=NOW_MS + 2)] == [memory.id]


@pytest.mark.parametrize("state", ["deleted", "rejected", "disputed", "expired", "not yet", "over", "superseded"])
def test_recall_shows_only_what_stands(db: store.Connection, state: str) -> None:
    memory = add_memory(db, A, "fact.jobs", "The queue is huey-like.")
    other = add_memory(db, A, "fact.other", "The other queue stands.")
    if state == "deleted":
        gate.delete(db, memory.namespace, memory.key, gate.Writer(Channel.PERSON, "t", A, NOW_MS))
    elif state == "superseded":
        add_memory(db, A, "fact.jobs", "It is a plain list.", at_ms=NOW_MS + 1)
    else:
        column, value = {
            "rejected": ("trust", "rejected"),
            "disputed": ("trust", "disputed"),
            "expired": ("expires_ms", NOW_MS - 1),
            "not yet": ("valid_from_ms", NOW_MS + 1),
            "over": ("valid_to_ms", NOW_MS),
        }[state]
        db.execute(f"update memory_versions set {column} = ? where id = ?", (value, memory.version_id))
    for arm, question in ((search.words, "queue huey"), (search.trigram, "huey-like fact.o")):
        assert {n for type, n in found(arm, db, A, question) if type == "memory"} == {other.id}


def test_a_namespace_matches_by_whole_segments(db: store.Connection) -> None:
    inside = add_memory(db, A, "one", "walnut", namespace="user.tools")
    add_memory(db, A, "two", "walnut", namespace="user.toolshed")
    add_event(db, A, "walnut")
    assert found(search.words, db, A, "walnut", Only(namespace="user.tools")) == [("memory", inside.id)]
    for wild in ("user.t%", "user.tool_", "*", "", "user.", "USER.TOOLS"):
        assert found(search.words, db, A, "walnut", Only(namespace=wild)) == []


def test_a_kind_narrows_memories_and_events_alike(db: store.Connection) -> None:
    event = add_event(db, A, "walnut")
    memory = add_memory(db, A, "one", "walnut")
    assert found(search.words, db, A, "walnut", Only(kinds=("prompt",))) == [("event", event)]
    assert found(search.words, db, A, "walnut", Only(kinds=("semantic",))) == [("memory", memory.id)]
    assert found(search.words, db, A, "walnut", Only(kinds=("no such kind",))) == []


def test_the_events_around_one_stay_in_its_session_and_in_the_scope(db: store.Connection) -> None:
    ours = [add_event(db, A, f"step {n}", at_ms=NOW_MS + n) for n in range(5)]
    add_event(db, B, "step of another project", at_ms=NOW_MS + 2)
    add_event(db, A, "step of another session", session="s2", at_ms=NOW_MS + 2)
    assert search.around(db, A, ours[2], before=1, after=1, now_ms=NOW_MS) == ours[1:4]
    assert search.around(db, A, ours[2], before=9, after=9, now_ms=NOW_MS) == ours
    assert search.around(db, B, ours[2], before=9, after=9, now_ms=NOW_MS) == []


def axis(n: int, tilt: int = 0) -> bytes:
    """An int8 vector along one axis, tilted towards the next."""
    return bytes([*([0] * n), 100, tilt, *([0] * (vectors.DIMENSION - n - 2))])


@pytest.fixture
def vec(db: store.Connection) -> store.Connection:
    if not store.has_vec(db):
        pytest.skip("needs sqlite-vec")
    vectors.adopt(db, "model")
    return db


def near(db: store.Connection, scope: Scope, asked: bytes, only: Only = search.EVERYTHING) -> list[tuple[str, int]]:
    return [(row.type, row.id) for row in search.vector(db, scope, asked, 10, now_ms=NOW_MS, only=only)]


def test_vectors_find_by_meaning_inside_the_scope_only(vec: store.Connection) -> None:
    for n in range(200):
        theirs = add_event(vec, B, f"theirs {n}")
        vectors.store(vec, "event", theirs, "model", [(f"b{n}", axis(5))])
    ours = add_event(vec, A, "ours")
    memory = add_memory(vec, A, "fact", "ours too")
    vectors.store(vec, "event", ours, "model", [("w1", axis(9)), ("w2", axis(5, tilt=60))])
    vectors.store(vec, "memory", memory.version_id, "model", [("m", axis(5, tilt=90))])
    assert near(vec, A, axis(5)) == [("event", ours), ("memory", memory.id)]
    assert ("event", ours) not in near(vec, B, axis(5)) and len(near(vec, B, axis(5))) == 10
    assert near(vec, A, axis(5), Only(kinds=("semantic",))) == [("memory", memory.id)]
    assert near(vec, A, axis(5), Only(namespace=memory.namespace)) == [("memory", memory.id)]
    assert near(vec, Scope(None), axis(5)) == []


def test_vectors_show_no_memory_that_does_not_stand(vec: store.Connection) -> None:
    old = add_memory(vec, A, "fact", "the old value")
    vectors.store(vec, "memory", old.version_id, "model", [("m", axis(5))])
    assert near(vec, A, axis(5)) == [("memory", old.id)]
    add_memory(vec, A, "fact", "the new value", at_ms=NOW_MS + 1)
    assert near(vec, A, axis(5)) == []
