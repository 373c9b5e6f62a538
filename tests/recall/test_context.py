"""What speaks for a row besides its own words, and when nothing found is an answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recorder.models import EventKind, Recall, Scope
from recorder.recall import fence, question, rank
from recorder.store import db as store
from recorder.store import vectors
from recorder.store.only import Only
from tests.memory_samples import NOW_MS, A, B, add_event, add_memory, opened

DAY_MS = 86_400_000
NOTES = (
    "the deploy to staging went through in the morning",
    "we renamed the invoice module and its tests",
    "coffee machine on the second floor is broken",
    "upgrade of the linter to the newest release",
    "the customer list is sorted by country",
    "a flaky browser case was put in quarantine",
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[store.Connection]:
    connection = opened(tmp_path)
    for n, note in enumerate(NOTES):
        add_event(connection, A, note, session=f"note{n}")
    yield connection
    connection.close()


def ask(db: store.Connection, text: str, scope: Scope = A, **only: object) -> Recall:
    return rank.recall(db, text, scope, k=10, vector=None, vector_status="turned off", now_ms=NOW_MS + 1, **only)  # type: ignore[arg-type]


def ids(answer: Recall) -> list[str]:
    return [hit.id for hit in answer.hits]


def test_an_answer_that_repeats_no_word_of_its_question_is_found_beside_it(db: store.Connection) -> None:
    add_event(db, A, "Which queue backend did we settle on for the importer?", session="talk")
    said = add_event(db, A, "Huey, since Redis runs anyway.", kind=EventKind.ASSISTANT, session="talk")
    add_event(db, A, "And now lunch.", session="talk")
    assert f"e{said}" in ids(ask(db, "queue backend of the importer"))[:2]


def test_what_stands_beside_a_hit_in_another_project_is_not_brought_along(db: store.Connection) -> None:
    add_event(db, A, "Which queue backend for the importer?", session="shared")
    other = add_event(db, B, "Huey, since Redis runs anyway.", kind=EventKind.ASSISTANT, session="shared")
    assert f"e{other}" not in ids(ask(db, "queue backend of the importer"))


def test_a_kind_that_was_not_asked_for_is_not_brought_along(db: store.Connection) -> None:
    asked = add_event(db, A, "Which queue backend for the importer?", session="talk")
    add_event(db, A, "Huey, since Redis runs anyway.", kind=EventKind.ASSISTANT, session="talk")
    assert ids(ask(db, "queue backend of the importer", only=Only(kinds=("prompt",))))[0] == f"e{asked}"
    assert {hit.kind for hit in ask(db, "queue backend of the importer", only=Only(kinds=("prompt",))).hits} == {
        "prompt"
    }


def test_a_date_in_the_question_finds_what_was_said_that_day(db: store.Connection) -> None:
    days = [
        add_event(db, A, "worked on the parser again", session=f"d{n}", at_ms=NOW_MS - n * DAY_MS) for n in range(9)
    ]
    day = fence.day(NOW_MS - 4 * DAY_MS)
    assert ids(ask(db, f"what was done on the parser on {day}?"))[0] == f"e{days[4]}"


def test_an_irregular_form_finds_the_other(db: store.Connection) -> None:
    event = add_event(db, A, "We chose trunk based development", session="s")
    assert ids(ask(db, "which branching model did they choose"))[0] == f"e{event}"


def test_the_label_of_a_row_counts_when_the_question_names_it(db: store.Connection) -> None:
    add_event(db, A, "Ben: Ann likes the harbour at night", session="s1")
    said = add_event(db, A, "Ann: the harbour at night is what I like", session="s2")
    assert ids(ask(db, "what does Ann like about the harbour"))[0] == f"e{said}"


def test_when_nothing_fits_there_are_no_hits_and_the_nearest_stand_apart(db: store.Connection) -> None:
    answer = ask(db, "which certificate authority signs the firmware of the customer routers in Lisbon?")
    assert answer.hits == ()
    assert 0 < len(answer.misses) <= rank.MISSES


def test_what_holds_the_whole_question_is_an_answer(db: store.Connection) -> None:
    memory = add_memory(db, A, "command.deploy", "Deploy with make ship.")
    assert ids(ask(db, "deploy"))[0] == f"m{memory.id}"
    assert ask(db, "coffee machine broken").misses == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("on 8 May 2023", {("month", 5), ("year", 2023), ("day", 8)}),
        ("on May 8, 2023", {("month", 5), ("year", 2023), ("day", 8)}),
        ("since 2026-01-30", {("year", 2026), ("month", 1), ("day", 30)}),
        ("the first week of August 2023", {("month", 8), ("year", 2023)}),
        ("last Tuesday", {("weekday", 1)}),
        ("may we use 3 of 40 workers", set()),
        ("port 5173 or 20 seconds", set()),
    ],
)
def test_dates_are_read_where_they_are_and_only_there(text: str, parts: set[tuple[str, int]]) -> None:
    assert set(question.read(text).dates) == parts


@pytest.mark.parametrize("question", ["src/heron.py", "heron_port", "heron_port src/heron.py"])
def test_who_pastes_a_name_gets_what_holds_it_however_little_else_speaks_for_it(
    db: store.Connection, question: str
) -> None:
    for n in range(40):
        add_event(db, A, f"a long and wordy talk about ducks {n} " * 8, session=f"s{n}", narrow=f"src/duck_{n}.py")
    held = add_event(db, A, "Edit", narrow="src/heron.py heron_port")
    assert ask(db, question).hits[0].id == f"e{held}"
    assert ask(db, "src/stork.py").hits == ()


def test_a_name_that_stands_nowhere_is_not_answered_by_what_holds_its_words(db: store.Connection) -> None:
    add_event(db, A, "the heron folder of src holds the settings in toml", session="s")
    for unknown in ("src/heron/settings.toml", "heron_settings", "HERON-4711"):
        answer = ask(db, unknown)
        assert (unknown, answer.hits) == (unknown, ())
    held = add_event(db, A, "Read", session="s", narrow="src/heron/settings.toml")
    assert ids(ask(db, "src/heron/settings.toml")) == [f"e{held}"]


def test_what_another_project_did_in_the_same_session_weighs_nothing(db: store.Connection) -> None:
    add_event(db, B, "the mill of the other project stands by the pond", session="shared", at_ms=NOW_MS - 10)
    add_event(db, A, "heron one was there", session="shared", at_ms=NOW_MS)
    add_event(db, A, "heron two was there", session="alone", at_ms=NOW_MS)
    assert [hit.score for hit in ask(db, "heron mill").hits[:2]] == [1.0, 1.0]


def test_a_name_in_prose_is_held_as_one_in_a_command_is(db: store.Connection) -> None:
    typed = add_event(db, A, "Edit", session="s", narrow="src/heron.py")
    said = add_event(db, A, "we moved the ports out of src/heron.py yesterday", session="t")
    add_event(db, A, "py and src and heron, each by itself", session="u")
    assert set(ids(ask(db, "src/heron.py"))) == {f"e{typed}", f"e{said}"}


def test_an_ordinary_word_is_answered_by_prose_too_however_few_names_hold_it(db: store.Connection) -> None:
    typed = add_event(db, A, "Bash: git checkout -b heron", session="s", narrow="git checkout -b heron")
    said = {add_event(db, A, f"the heron stood at pond {n} in the morning", session=f"s{n}") for n in range(12)}
    found = ids(ask(db, "heron"))
    assert len(found) == 10
    assert set(found) <= {f"e{n}" for n in (typed, *said)}


def test_a_word_that_stands_only_inside_of_others_is_answered_by_these_alone(db: store.Connection) -> None:
    inside = add_event(db, A, "Read", session="s", narrow="lib/nightheron.py")
    add_event(db, A, "then the port was changed", session="s")
    assert ids(ask(db, "heron")) == [f"e{inside}"]


def test_a_question_in_unspaced_script_is_answered_beyond_the_names_that_share_three_letters(
    db: store.Connection,
) -> None:
    if not store.has_vec(db):
        pytest.skip("needs sqlite-vec")
    vectors.adopt(db, "model")
    asked = bytes([100, *[0] * (vectors.DIMENSION - 1)])
    add_event(db, A, "Read", session="s", narrow="docs/開発サーバー.md")
    meant = add_event(db, A, "the development server listens on 5174", session="t")
    vectors.store(db, "event", meant, "model", [("h", asked)])
    answer = rank.recall(
        *(db, "開発サーバーの正しいポート番号は？", A), k=5, vector=asked, vector_status="ok", now_ms=NOW_MS
    )
    assert f"e{meant}" in ids(answer)


def test_a_word_alone_is_answered_by_its_forms(db: store.Connection) -> None:
    event = add_event(db, A, "we deploy on Fridays", session="s")
    assert f"e{event}" in ids(ask(db, "deploying"))


def test_what_says_what_was_found_goes_before_what_only_speaks_of_it(db: store.Connection) -> None:
    rest = (
        " the importer drops the last row of a file when it ends without a line break." + " It is read in blocks." * 8
    )
    found = add_event(db, A, "Found it:" + rest, kind=EventKind.ASSISTANT, session="s1", at_ms=NOW_MS - 2 * DAY_MS)
    add_event(db, A, "Maybe" + rest, kind=EventKind.ASSISTANT, session="s2", at_ms=NOW_MS - DAY_MS)
    assert ids(ask(db, "why does the importer drop the last row"))[0] == f"e{found}"
