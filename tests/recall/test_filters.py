"""Filters: each is inside its arm, none starves, none widens, and without a question they list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recorder.models import Channel, EventKind, Order, Recall, Scope
from recorder.recall import filters, rank
from recorder.store import db as store
from recorder.store import paths, search, vectors
from recorder.store.only import EVERYTHING, Only
from tests.memory_samples import NOW_MS, A, B, add_event, add_failed_call, add_memory, opened

DAY_MS = 86_400_000
THEN_MS = NOW_MS - 90 * DAY_MS
RARE = Only(
    file="lib/loom.py",
    branch="feature/loom",
    session_id="loom",
    tool="Weaver",
    failed=True,
    until_ms=THEN_MS + DAY_MS,
    since_ms=THEN_MS - DAY_MS,
)
NARROW = {
    "file": Only(file="lib/loom.py"),
    "folder": Only(file="lib"),
    "branch": Only(branch="feature/loom"),
    "session": Only(session_id="loom"),
    "tool": Only(tool="weaver"),
    "failed": Only(failed=True),
    "until": Only(until_ms=THEN_MS + DAY_MS),
    "kind": Only(kinds=("api_error", "tool_call")),
    "all together": RARE,
}
TOWARDS = bytes([100, *[0] * (vectors.DIMENSION - 1)])
ASIDE = bytes([100, 90, *[0] * (vectors.DIMENSION - 2)])
MANY, FEW = 400, 10


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[store.Connection]:
    """Ten rows of one kind among hundreds that answer better, by word, name and meaning."""
    db = opened(tmp_path_factory.mktemp("crowd"))
    vectors.adopt(db, "model")
    for n in range(FEW):
        few = add_event(
            db,
            A,
            f"Weaver: a needle_port in a long sentence about hay and looms, number {n}",
            narrow=f"lib/loom.py\nneedle_port {n}",
            session="loom",
            kind=EventKind.TOOL_CALL,
            tool="Weaver",
            ok=False,
            branch="feature/loom",
            at_ms=THEN_MS + n,
        )
        if store.has_vec(db):
            vectors.store(db, "event", few, "model", [(f"few{n}", ASIDE)])
    for n in range(MANY):
        crowd = add_event(db, A, f"needle_port needle_port {n}", narrow=f"needle_port_{n}", session=f"s{n}")
        if store.has_vec(db):
            vectors.store(db, "event", crowd, "model", [(f"many{n}", TOWARDS)])
    yield db
    db.close()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[store.Connection]:
    connection = opened(tmp_path)
    yield connection
    connection.close()


def ask(
    db: store.Connection,
    question: str,
    only: Only = EVERYTHING,
    *,
    scope: Scope = A,
    k: int = 10,
    order: Order = Order.RELEVANCE,
    offset: int = 0,
    vector: bytes | None = None,
) -> Recall:
    return rank.recall(
        *(db, question, scope),
        k=k,
        vector=vector,
        vector_status="ok" if vector else "off",
        now_ms=NOW_MS + DAY_MS,
        only=only,
        order=order,
        offset=offset,
    )


def ids(answer: Recall) -> list[str]:
    return [hit.id for hit in answer.hits]


RARE_IDS = {f"e{n}" for n in range(1, FEW + 1)}


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("arm", [search.words, search.trigram, search.vector], ids=["words", "trigram", "vector"])
def test_a_narrow_filter_fills_every_arm_among_many_that_match_better(
    crowd: store.Connection, arm: object, name: str
) -> None:
    if arm is search.vector and not store.has_vec(crowd):
        pytest.skip("needs sqlite-vec")
    asked = TOWARDS if arm is search.vector else "needle_port"
    found = arm(crowd, A, asked, FEW, now_ms=NOW_MS, only=NARROW[name])  # type: ignore[operator]
    assert {f"e{row.id}" for row in found} == RARE_IDS
    assert not RARE_IDS & {f"e{row.id}" for row in arm(crowd, A, asked, FEW, now_ms=NOW_MS)}  # type: ignore[operator]


def test_a_look_at_the_newest_is_at_the_newest_of_those_that_are_wanted(
    crowd: store.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "LIKE_NEWEST", FEW)
    found = search.trigram(crowd, A, "ha", FEW, now_ms=NOW_MS, only=Only(tool="Weaver"))
    assert {f"e{row.id}" for row in found} == RARE_IDS


@pytest.mark.parametrize("name", NARROW)
def test_recall_with_a_narrow_filter_gives_what_passes_and_nothing_else(crowd: store.Connection, name: str) -> None:
    assert set(ids(ask(crowd, "the needle_port in hay", NARROW[name]))) == RARE_IDS
    assert set(ids(ask(crowd, "", NARROW[name]))) == RARE_IDS


@pytest.mark.parametrize(
    "only",
    [
        Only(file="lib/loom.p"),
        Only(file="oom.py"),
        Only(branch="feature"),
        Only(session_id="loo"),
        Only(tool="Weave"),
        Only(failed=True, tool="Bash"),
        Only(until_ms=THEN_MS),
        Only(since_ms=NOW_MS + 1),
        Only(trusts=("verified",)),
    ],
    ids=repr,
)
def test_what_only_resembles_a_filter_does_not_pass(crowd: store.Connection, only: Only) -> None:
    assert ids(ask(crowd, "needle_port", only)) == [] == ids(ask(crowd, "", only))


def test_a_memory_passes_a_filter_about_events_through_one_event_it_stands_on(db: store.Connection) -> None:
    failed = add_event(db, A, "Bash: make loom … error: no yarn", kind=EventKind.TOOL_CALL, tool="Bash", ok=False)
    said = add_event(db, A, "the loom needs yarn before make", session="talk", branch="main")
    memory = add_memory(db, A, "fix.loom", "Fetch yarn before make loom.", cites=[failed, said])
    add_memory(db, A, "fix.other", "Oil the loom before make.", cites=[said])
    for only in (
        Only(tool="Bash", kinds=("semantic",)),
        Only(failed=True, kinds=("semantic",)),
        Only(session_id="s1", failed=True, kinds=("semantic",)),
    ):
        assert ids(ask(db, "make loom", only)) == [f"m{memory.id}"] == ids(ask(db, "", only)), only
    assert ids(ask(db, "", Only(session_id="talk", failed=True))) == [], "one event passes all of them, or none does"
    assert len(ids(ask(db, "make loom", Only(session_id="talk", kinds=("semantic",))))) == 2


def test_a_memory_is_still_told_once_with_the_event_it_stands_on(db: store.Connection) -> None:
    failed = add_event(db, A, "Bash: make loom … error: no yarn", kind=EventKind.TOOL_CALL, tool="Bash", ok=False)
    memory = add_memory(db, A, "fix.loom", "Fetch yarn before make loom.", cites=[failed])
    assert ids(ask(db, "make loom yarn", Only(failed=True))) == [f"m{memory.id}"]
    assert ids(ask(db, "make loom yarn", Only(failed=True, kinds=("tool_call",)))) == [f"e{failed}"]


def test_trust_is_about_memories_and_is_not_starved_by_the_others(db: store.Connection) -> None:
    sure = add_memory(db, A, "fact.sure", "Somewhere in a longer sentence about something stands the walnut.")
    for n in range(70):
        add_memory(db, A, f"walnut.n{n}", f"walnut number {n}", channel=Channel.AGENT)
    add_event(db, A, "walnut")
    assert ids(ask(db, "walnut", Only(trusts=("verified",)))) == [f"m{sure.id}"]
    assert {hit.trust for hit in ask(db, "walnut", Only(trusts=("candidate",))).hits} == {"candidate"}


def test_times_take_in_a_whole_day_and_are_those_of_what_happened(db: store.Connection) -> None:
    midnight = NOW_MS - NOW_MS % DAY_MS
    days = [add_event(db, A, f"ripe walnut {n}", session=f"s{n}", at_ms=midnight + n * DAY_MS - 1) for n in range(4)]
    memory = add_memory(db, A, "fact.nut", "The walnut is ripe.", at_ms=midnight + DAY_MS + 5)
    day = filters.read(since="2026-09-21", until="2026-09-21")
    assert (day.since_ms, day.until_ms) == (midnight, midnight + DAY_MS)
    assert ids(ask(db, "ripe walnut", day)) == [f"e{days[1]}"]
    two = filters.read(since="2026-09-21", until="2026-09-22")
    assert set(ids(ask(db, "ripe walnut", two))) == {f"e{days[1]}", f"e{days[2]}", f"m{memory.id}"}
    assert filters.read(until="2026-02").until_ms == filters.read(since="2026-03-01").since_ms
    assert filters.read(until="2026").until_ms == filters.read(since="2027").since_ms


def test_without_a_question_everything_comes_once_in_the_order_asked_for_page_by_page(db: store.Connection) -> None:
    events = [add_event(db, A, f"step {n}", session=f"s{n % 2}", at_ms=NOW_MS + n // 3) for n in range(20)]
    memory = add_memory(db, A, "fact.step", "A step.", at_ms=NOW_MS + 3)
    add_event(db, B, "step of another", at_ms=NOW_MS + 1)
    pages = {
        order: [one for at in range(0, 28, 4) for one in ids(ask(db, "", k=4, order=order, offset=at))]
        for order in (Order.OLDEST, Order.NEWEST)
    }
    assert pages[Order.OLDEST] == pages[Order.NEWEST][::-1]
    assert sorted(pages[Order.OLDEST]) == sorted([*(f"e{n}" for n in events), f"m{memory.id}"])
    assert [one for one in pages[Order.OLDEST] if one[0] == "e"] == [f"e{n}" for n in events]
    assert ids(ask(db, "", k=4)) == pages[Order.NEWEST][:4]


def test_pages_of_a_question_go_on_without_repeats(db: store.Connection) -> None:
    for n in range(50):
        add_event(db, A, f"walnut {'cake ' * (n % 5)}{n}", session=f"s{n % 7}", at_ms=NOW_MS + n)
    cited = add_event(db, A, "walnut cake of the year", session="s1")
    add_memory(db, A, "fact.cake", "Of the year: the walnut cake.", cites=[cited])
    for order in Order:
        told = [one for at in range(0, 70, 6) for one in ids(ask(db, "walnut cake", k=6, order=order, offset=at))]
        assert len(told) == len(set(told)) >= (48 if order is Order.RELEVANCE else 40), order
        assert f"e{cited}" not in told
        assert told[:6] == ids(ask(db, "walnut cake", k=6, order=order)), order
    times = [hit.occurred_ms for hit in ask(db, "walnut cake", k=40, order=Order.NEWEST).hits]
    assert times == sorted(times, reverse=True)


def test_a_filter_alone_always_answers_and_a_question_nothing_answers_has_misses_apart(db: store.Connection) -> None:
    notes = ("the deploy was sorted out", "the linter has sorted its rules", "the list is sorted by country")
    for n, text in enumerate(notes):
        add_event(db, A, text, session=f"n{n}", branch="main")
    only = Only(branch="main")
    assert len(ask(db, "", only).hits) == 3 and ask(db, "", only).misses == ()
    missed = ask(db, "which authority signs the firmware of the routers sorted in Lisbon?", only)
    assert missed.hits == () and 1 < len(missed.misses) <= rank.MISSES
    gone = ask(db, "which authority signs the firmware of the routers sorted in Lisbon?", only, offset=1)
    assert (gone.hits, gone.misses) == ((), ())


def test_what_stands_beside_a_hit_and_does_not_pass_is_not_brought_along(db: store.Connection) -> None:
    add_event(db, A, "Which queue backend did we settle on?", session="talk", branch="main")
    aside = add_event(db, A, "Huey, since Redis runs anyway.", session="talk", branch="aside")
    assert f"e{aside}" in ids(ask(db, "queue backend settle"))
    assert f"e{aside}" not in ids(ask(db, "queue backend settle", Only(branch="main")))


def test_the_branch_of_a_session_counts_where_an_event_names_none(db: store.Connection) -> None:
    event = add_event(db, A, "walnut", session="s1")
    db.execute("update sessions set branch = 'main' where id = 's1'")
    assert ids(ask(db, "walnut", Only(branch="main"))) == [f"e{event}"]


@pytest.mark.parametrize("question", ["", "walnut", "the walnut in lib/loom.py"])
def test_no_filter_reaches_into_another_project(db: store.Connection, question: str) -> None:
    theirs = add_failed_call(
        *(db, B, "walnut in lib/loom.py"), session="theirs", narrow="lib/loom.py walnut", tool="Weaver"
    )
    add_memory(db, B, "preference.nut", "Prefers the walnut.", namespace="user", cites=[theirs])
    add_event(db, A, "walnut in lib/oak.py", narrow="lib/oak.py", session="ours")
    for known, unknown in (
        (Only(session_id="theirs"), Only(session_id="nobody")),
        (Only(tool="Weaver"), Only(tool="Nothing")),
        (Only(branch="feature/loom"), Only(branch="nothing")),
        (Only(file="lib/loom.py"), Only(file="lib/nothing.py")),
        (Only(failed=True), Only(failed=True, tool="Nothing")),
    ):
        assert ask(db, question, known) == ask(db, question, unknown), known
        assert ask(db, question, known, scope=B).hits


@pytest.mark.parametrize(
    ("text", "cwd", "file", "named"),
    [
        ("src/app.py", None, "app.py", True),
        ("/home/user/project/src/app.py", None, "src/app.py", True),
        ("pytest src/app.py::test_it", None, "src/app.py", True),
        ("cat 'src/app.py'", None, "src", True),
        ("look at src/app.py.", None, "src/app.py", True),
        ("src/app.pyc", None, "src/app.py", False),
        ("src/app.py.bak", None, "src/app.py", False),
        ("src/myapp.py", None, "app.py", False),
        ("lib-src/app.py", None, "src/app.py", False),
        ("sed -i s/a/b/ src/app.py", "/home/user/project", "/home/user/project/src/app.py", True),
        ("sed -i s/a/b/ src/app.py", "/home/user/other", "/home/user/project/src/app.py", False),
        ("pytest app.py", "/home/user/project/src", "src/app.py", True),
        ("pytest app.py", "/home/user/project", "src/app.py", False),
        ("Ünï/日本語.py", None, "日本語.py", True),
    ],
)
def test_a_file_is_named_by_whole_parts_of_its_path(text: str, cwd: str | None, file: str, named: bool) -> None:
    assert paths.names(text, cwd, file) is named


@pytest.mark.parametrize(("given", "tidied"), [("./src/", "src"), ("/", "/"), (" a/b ", "a/b"), ("././a", "a")])
def test_a_file_is_the_same_however_it_is_written(given: str, tidied: str) -> None:
    assert paths.tidy(given) == tidied


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"kind": "nonsense"}, "kind"),
        ({"kind": 5}, "kind"),
        ({"kind": ["prompt", ["x"]]}, "kind"),
        ({"trust": "disputed"}, "trust"),
        ({"since": "soon"}, "since"),
        ({"until": "unknown"}, "until"),
        ({"until": ""}, "until"),
        ({"file": "  "}, "file"),
        ({"branch": 5}, "branch"),
        ({"session": ["x"]}, "session"),
        ({"tool": "x" * 2000}, "tool"),
        ({"failed": "yes"}, "failed"),
        ({"as_of": "9999-99"}, "as_of"),
    ],
)
def test_a_filter_that_says_nothing_is_named(given: dict[str, object], name: str) -> None:
    with pytest.raises(filters.FilterError, match=f"^{name}: "):
        filters.read(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("hostile", ["\x00", "\ud800", '"', "' or 1=1 --", "%", "*", "[", "語", "NEAR(a b)", "a" * 999])
def test_any_text_is_a_filter(db: store.Connection, hostile: str) -> None:
    add_event(db, A, "walnut", narrow="walnut")
    for name in ("file", "branch", "session", "tool"):
        try:
            only = filters.read(**{name: hostile})  # type: ignore[arg-type]
        except filters.FilterError:
            continue
        for question in ("", "walnut"):
            assert ask(db, question, only).hits == (), (name, question)
