"""Every page as it is seen: light and dark, wide and narrow, read aloud, by keyboard, and with hostile text in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recorder import gate
from recorder.models import Channel, EventKind, HookTime, MemoryKind, Origin, Project, Proposal, Scope
from recorder.store import hook_times, projects
from recorder.store.db import transaction
from tests.makers import T0, bash, event_of, take
from tests.memory_samples import add_event, add_memory
from tests.web.pages import house
from tests.web.pages.conftest import SHOTS, House
from worker.desk import Desk

PAGES = {
    "live": "/",
    "sessions": "/sessions",
    "session": "/sessions/s1",
    "event": "/events/4",
    "memories": "/memories",
    "search": "/memories?q=run+the+tests",
    "memory": "rule.tests",
    "edit": "rule.tests/edit",
    "new": "/memories/new",
    "reject": "rule.tests/reject",
    "forget": "rule.tests/forget",
    "review": "/review",
    "timeline": "/timeline?days=7&end=2026-09-21",
    "charts": "/charts",
    "nothing": "/charts?end=2020-01-01",
    "lifecycle": "/lifecycle",
    "settings": "/settings",
    "audit": "/audit",
}
BIDI = "\u202e\u2066"
HOSTILE = (
    "<script>window.pwned = 1</script><img src=x onerror=\"window.pwned=1\"><svg onload='window.pwned=1'>"
    f"\x1b[31mred\x1b[0m\x1b]0;title\x07 {BIDI}gnp.exe \x00\x08 ]]>--></textarea></pre></title></script>"
    '{{ 7*7 }}${7*7}\u2028" onmouseover="window.pwned=1" x="javascript:window.pwned=1 [redacted:aws]'
)


def address(home: House, place: str) -> str:
    if place.startswith("/"):
        return place
    key, _, verb = place.partition("/")
    return home.path(key, verb)


@pytest.fixture(scope="module")
def axe() -> str:
    found = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    return (Path(found.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 360)])
def test_every_page_can_be_read_by_everybody_in_any_light_and_width(
    home: House, axe: str, scheme: str, width: int
) -> None:
    page = home.open(width=width, scheme=scheme)
    SHOTS.mkdir(parents=True, exist_ok=True)
    for name, place in PAGES.items():
        answer = page.goto(address(home, place))
        assert answer.status == 200 and "unsafe" not in answer.headers["content-security-policy"]
        page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        page.evaluate(axe)
        # Only colours differ in the dark.
        rules = ["color-contrast"] if scheme == "dark" else ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
        found = page.evaluate("(rules) => axe.run({runOnly: rules}).then((all) => all.violations)", rules)
        told = [(one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in found]
        assert told == [], f"{name}, {scheme}, {width}: {json.dumps(told, indent=1)}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} scrolls sideways at {width}"
        for other in (320, 600, 800) if width == 360 else ():
            page.set_viewport_size({"width": other, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= other, f"{name} scrolls sideways at {other}"
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = false))")
        page.screenshot(path=str(SHOTS / f"{name}-{scheme}-{width}.png"), full_page=True)


@pytest.mark.parametrize("huge", ["9" * 30, "-" + "9" * 19, "9" * 19, "1e9", "²"])
def test_no_number_in_an_address_or_a_form_is_too_much(home: House, huge: str) -> None:
    get, post = home.page.request.get, home.page.request.post
    number = home.at("fact.queue").id
    home.page.goto("/review")
    token = home.page.locator("[name=form_token]").first.input_value()
    form = {"form_token": token, "version": huge, "digest": "", "to": huge, "link": huge, "reason": "r", "kind": "x"}
    form |= {"verb": "approve", "old_version": huge, "new_version": huge, "key": "k", "value": "v", "namespace": "user"}
    headers = {"Origin": home.address}
    for path in (
        f"/memories?after={huge}:1:x",
        f"/memories?after=1:{huge}:x",
        f"/sessions?before={huge}:s1",
        f"/sessions/s1?after={huge}:{huge}",
        f"/memories/{huge}",
        f"/memories/{number}/revert?version={huge}",
        f"/events/{huge}",
        f"/events/{huge}/text",
        f"/audit?before={huge}",
        f"/review?at={huge}",
        f"/charts?days={huge}&end={huge}",
        f"/timeline?days={huge}&end={huge}",
        f"/review?after={huge}",
    ):
        assert get(path).status < 500, path
    for path in (
        f"/memories/{number}/revert",
        f"/memories/{number}/approve",
        f"/memories/{number}/unlink",
        f"/memories/{number}/edit",
        f"/memories/{huge}/edit",
        f"/review/f{huge}",
        f"/review/m{huge}",
    ):
        assert post(path, form=form, headers=headers).status < 500, path


def test_a_page_says_what_happened_and_leads_to_the_memory_and_back(home: House) -> None:
    page = home.page
    page.goto("/sessions")
    page.get_by_role("link", name="Mend the parser test").click()
    shown = page.locator("main").inner_text()
    assert "src/parser.py" not in page.locator(".step.failed").inner_text()
    assert page.locator(".step.failed .badge.bad").inner_text() == "failed"
    assert page.locator("details.thread > summary").inner_text().startswith("Subagent agent-7")
    assert page.locator(".redacted").count() >= 1 and house.SECRET not in page.content()
    assert "before any prompt" in shown
    page.get_by_text("file touched").click()
    assert "parser.py" in page.locator(".files").inner_text()
    page.get_by_role("link", name="m2 rule.tests").click()
    assert "You typed it in a prompt; 1 quote below" in page.locator("main").inner_text()
    page.get_by_role("link", name="in its session").click()
    assert page.locator(":target").inner_text().startswith("e2")
    page.locator(".asked").first.get_by_role("link", name="e2").click()
    page.get_by_role("link", name="rule.tests").click()
    assert page.locator("h1").inner_text() == "rule.tests"


def test_a_search_says_which_arms_ran_and_finds_what_recall_finds(home: House) -> None:
    page = home.page
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("how are the tests run")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memories?q=**")
    arms = page.locator(".arms").inner_text()
    assert "words ran" in arms and "trigram ran" in arms and "vector unavailable" in arms
    assert page.locator("[data-item]").count() == len(home.hits("how are the tests run"))
    page.locator("[name=kind]").select_option("procedural")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**kind=procedural**")
    assert {one.inner_text() for one in page.locator("[data-item] .badge").all()} >= {"procedural"}
    assert page.locator("[data-item]").count() == 1


def test_what_recall_tells_nobody_is_found_by_its_words_and_a_filter_looks_behind_the_best_hits(home: House) -> None:
    db = home.db()
    at = home.at("fact.queue")
    gate.delete(db, at.namespace, at.key, gate.Writer(Channel.PERSON, "t", home.scope, house.NOW_MS))
    for n in range(50):
        add_memory(db, home.scope, f"lamp.{n}", f"The lamp in room {n} is lit")
    add_memory(db, home.scope, "lamp.hall", "The lamp in the hall is broken and was never repaired", tags=("hall",))
    db.close()
    page = home.page
    page.goto("/memories?q=QUEUE+jobs&state=hidden")
    assert page.locator("[data-item] [data-open]").all_inner_texts() == ["fact.queue"]
    assert "Recall tells nobody" in page.locator("main").inner_text()
    page.goto("/memories?q=queue+jobs&trust=disputed")
    assert page.locator("[data-item]").count() == 0
    page.goto("/memories?q=lamp&tag=hall")
    assert "lamp.hall" in page.locator("[data-item]").inner_text()


def many_projects(home: House, count: int) -> list[Scope]:
    """So many projects of which nothing is recorded but a heron in the first."""
    db = home.db()
    with transaction(db):
        for n in range(count):
            root = f"/home/user/many-{n}"
            projects.bind(db, Project(f"many-{n:08d}", f"root:{root}", root, f"many-{n}"), T0 + n)
    scopes = [Scope(f"many-{n:08d}") for n in range(count)]
    add_memory(db, scopes[0], "fact.heron", "The heron nests behind the mill", tags=("bird",))
    db.close()
    return scopes


def test_a_search_of_every_project_says_where_it_looked_and_goes_on_until_it_was_everywhere(home: House) -> None:
    many_projects(home, 90)
    page = home.page
    page.goto("/project?id=*&back=/")
    page.goto("/memories?q=heron+mill")
    told, pages = [], 0
    while True:
        pages += 1
        said = page.locator("main").inner_text()
        assert "of 92 projects" in said and "Nothing is recorded" not in said
        told += page.locator("[data-item] [data-open]").all_inner_texts()
        further = page.get_by_role("link", name="Look in the next ones")
        if not further.count():
            break
        further.click()
        page.wait_for_url("**from=*")
    assert pages >= 3 and [key for key in told if "heron" in key] == ["project.many-00000000/fact.heron"]


def test_a_search_that_was_in_every_project_says_so(home: House) -> None:
    page = home.page
    page.goto("/project?id=*&back=/")
    page.goto("/memories?q=wombat+plumbing")
    said = page.locator("main").inner_text()
    assert "Nothing is recorded about this." in said and "Looked in all 2 projects" in said


def test_the_namespace_of_a_project_is_looked_for_in_that_project(home: House) -> None:
    many_projects(home, 60)
    page = home.page
    page.goto("/project?id=*&back=/")
    page.goto("/memories?q=heron+mill&namespace=project.many-00000000")
    assert page.locator("[data-item] [data-open]").all_inner_texts() == ["project.many-00000000/fact.heron"]
    assert "next ones" not in page.locator("main").inner_text()


def test_a_tag_narrows_a_search_and_is_not_looked_for_among_the_best_alone(home: House) -> None:
    db = home.db()
    for n in range(60):
        add_memory(db, home.scope, f"lamp.{n}", f"The lamp in room {n} is lit")
    long = "The lamp of the stairs, which was hung there late in autumn by somebody from the village, flickers at night"
    add_memory(db, home.scope, "lamp.stairs", long, tags=("stairs",))
    add_memory(db, home.scope, "lamp.roof", "The roof has a lamp", tags=("roof",))
    db.close()
    page = home.page
    page.goto("/memories?q=is+the+lamp+lit%3F&tag=stairs&since=2020")
    assert [key.split("/")[-1] for key in page.locator("[data-item] [data-open]").all_inner_texts()] == ["lamp.stairs"]


def test_the_line_of_time_leads_to_sessions_and_memories_on_any_day(home: House) -> None:
    page = home.page
    page.goto("/timeline?end=2020-01-01")
    assert "Nothing happened" in page.locator("main").inner_text()
    page.get_by_role("link", name="The latest is of").click()
    page.locator("svg a[href='/sessions/s1']").wait_for()
    assert page.locator("svg.plot rect.c3 title").text_content().startswith("Mend the parser test")
    assert page.locator("svg circle").count() >= 9
    page.locator(".feed a", has_text="fact.cache").first.click()
    page.locator("h1", has_text="fact.cache").wait_for()


def test_the_charts_say_how_long_capture_and_the_queue_took(home: House) -> None:
    db = home.db()
    (first,) = next(iter(db.execute("select min(at_ms) from events where kind = 'prompt'")))
    with transaction(db):
        db.execute("update events set received_ms = at_ms + 40")
        hook_times.keep(db, [HookTime(1, first, "capture.sh", 7)])
        # A turn of the past is due when it happened: it waits since somebody asked for it.
        db.execute(
            "update jobs set state = 'done', due_ms = ?, created_ms = ?, finished_ms = ?",
            (first - 400 * 86_400_000, first, first + 1_500),
        )
    db.close()
    page = home.page
    day = datetime.fromtimestamp(first / 1000, UTC).strftime("%Y-%m-%d")
    page.goto(f"/charts?days=7&end={day}")
    for name, took in (("Capture lag per day", "40"), ("Queue age per day", "1,500"), ("Hook latency per day", "7")):
        plot = page.locator("section").filter(has=page.get_by_role("heading", name=name))
        plot.get_by_text("The numbers").click()
        assert plot.locator("tbody tr").last.locator("td").all_inner_texts() == [day[5:], took, took]
    plot = page.locator("section").filter(has=page.get_by_role("heading", name="Queue age per day"))
    ticks = plot.locator("svg .tick")
    assert ticks.all_text_contents() == ["0", "1 s", "2 s"]
    assert all(one.bounding_box()["x"] >= plot.locator("svg").bounding_box()["x"] for one in ticks.all())
    page.locator("[name=days]").select_option("90")
    page.wait_for_url("**days=90**")
    assert page.locator("tbody").first.locator("tr").count() == 90


def test_the_newest_day_can_be_read_at_once_on_a_phone(home: House) -> None:
    page = home.open(width=360)
    for place, newest in (("/charts", "svg rect.c0"), ("/timeline", "svg circle")):
        page.goto(place)
        box = page.locator(newest).last.bounding_box()
        assert 0 < box["x"] and box["x"] + box["width"] <= 360 and box["width"] >= 5
        names = page.locator("svg").first.locator("text").all()
        day = datetime.fromtimestamp(house.NOW_MS / 1000, UTC).strftime("%m-%d")
        assert day in [one.text_content() for one in names]
        boxes = [one.bounding_box() for one in names]
        assert all(0 <= one["x"] and one["x"] + one["width"] <= 360 and one["height"] > 10 for one in boxes)


def test_live_dates_what_is_of_another_day_and_names_sessions_by_their_words(home: House) -> None:
    db = home.db()
    past = T0 - 40 * 86_400_000
    add_event(db, home.scope, "Water the old tree", session="5e55-10a", kind=EventKind.PROMPT, at_ms=past)
    with transaction(db):
        db.execute("update sessions set last_ms = ? where id = '5e55-10a'", (house.NOW_MS,))
    db.close()
    page = home.page
    page.goto("/")
    line = page.locator(".feed li", has_text="Water the old tree")
    day = datetime.fromtimestamp(past / 1000).astimezone().strftime("%Y-%m-%d")
    assert line.locator("time").inner_text().startswith(f"{day} ")
    complete = page.locator("section").filter(has=page.get_by_role("heading", name="Completeness"))
    assert complete.get_by_role("link", name="Water the old tree").get_attribute("href") == "/sessions/5e55-10a"
    page.goto("/timeline")
    line = page.locator(".feed li", has_text="Water the old tree")
    assert line.locator("time").inner_text().startswith(f"{day} ")


def test_settings_say_of_vectors_what_the_worker_says_of_its_model(home: House) -> None:
    page = home.page
    row = page.locator("tr").filter(has=page.get_by_role("rowheader", name="Vectors"))
    page.goto("/settings")
    assert row.locator(".badge").inner_text() == "on"
    desk = Desk(home.config.home, {"status": lambda asked: {"model": "unavailable: onnxruntime is not installed"}})
    desk.open()
    page.goto("/settings")
    desk.close()
    assert row.locator(".badge").inner_text() == "off"
    assert "switched on, but unavailable: onnxruntime is not installed" in row.inner_text()


def test_timeline_and_charts_say_the_same_of_days_without_a_session(home: House) -> None:
    page = home.page
    page.goto("/timeline?end=2020-01-01")
    assert "No session ran from 2019-12-26 to 2020-01-01." in page.locator(".notice").inner_text()
    page.goto("/charts?end=2020-01-01")
    assert "Nothing was captured from" in page.locator(".notice").inner_text()
    assert "Nothing in these days." in page.locator("main").inner_text()
    page.goto("/charts")
    told = page.locator("section", has_text="Captured events per day").locator(".quiet").first.inner_text()
    db = home.db()
    person = gate.Writer(Channel.PERSON, "terminal", home.scope, house.NOW_MS)
    said = Proposal("user", "fact.tree", "The tree is green", MemoryKind.SEMANTIC, Origin.USER_SAID, "terminal")
    assert gate.tell(db, said, person).action == "created"
    db.close()
    page.goto("/charts")
    assert told in page.locator("main").inner_text()
    page.goto("/")
    assert "The tree is green" not in page.locator(".feed").inner_text()


def test_all_that_waits_can_be_reached_a_page_and_a_kind_at_a_time(home: House) -> None:
    db = home.db()
    for n in range(65):
        add_memory(db, home.scope, f"lamp.{n}", f"The lamp in room {n} is lit", channel=Channel.AGENT)
    db.close()
    page = home.page
    page.goto("/review")
    waiting = int(page.locator(".bar .quiet").inner_text().split()[0])
    names: list[str] = []
    while True:
        names += [card.get_attribute("id") for card in page.locator("[data-card]").all()]
        if not page.get_by_role("link", name="More").count():
            break
        page.get_by_role("link", name="More").click()
        page.wait_for_load_state()
    assert len(names) == len(set(names)) == waiting
    page.goto("/review")
    page.get_by_role("link", name="wishes").click()
    page.wait_for_url("**kind=wishes")
    assert page.locator("[data-card]").count() == 1


def test_a_session_over_midnight_names_its_days_and_any_id_can_be_opened(home: House) -> None:
    db = home.db()
    for day in range(3):
        add_event(db, home.scope, f"Water the tree {day}", session="a/b c", at_ms=T0 + day * 86_400_000)
    db.close()
    page = home.page
    page.goto("/sessions")
    page.locator("[data-item]", has_text="Water the tree 0").locator("[data-open]").click()
    page.locator(".day").first.wait_for()
    assert len(set(page.locator(".day").all_inner_texts())) == 3


def test_the_person_sees_one_project_or_every_one_by_choice(home: House) -> None:
    page = home.page
    page.goto("/memories")
    assert page.get_by_label("Project", exact=True).input_value() == home.scope.project_id
    assert page.get_by_text("The site is built with Jinja").count() == 0
    page.get_by_label("Project", exact=True).select_option("*")
    page.get_by_text("The site is built with Jinja").wait_for()
    page.wait_for_load_state()
    page.get_by_label("Project", exact=True).select_option(label="blog")
    page.wait_for_function("document.querySelectorAll('[data-item]').length === 2")
    assert page.get_by_text("The site is built with Jinja").count() == 1


def test_the_keyboard_moves_opens_and_explains(home: House) -> None:
    page = home.page
    page.goto("/memories")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    first = page.locator("[data-item]").first
    assert first.get_attribute("data-now") == ""
    name = first.locator("[data-open]").inner_text()
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.locator("h1", has_text=name).wait_for()
    page.wait_for_load_state()
    page.keyboard.press("r")
    page.wait_for_url("**/reject")


def test_what_is_captured_appears_by_itself(home: House) -> None:
    page = home.page
    page.goto("/")
    db = home.db()
    add_event(db, home.scope, "Water the lemon tree", at_ms=T0 + 50_000)
    db.close()
    page.get_by_text("Water the lemon tree").wait_for()


@pytest.fixture
def poisoned(home: House) -> Iterator[tuple[House, int, int]]:
    """(a house, an event, a memory) where every text that can be stored is hostile."""
    db = home.db()
    call = bash(f"echo {HOSTILE}", HOSTILE)
    take(db, home.config, [event_of(call | {"session_id": "s-evil", "tool_use_id": "toolu_evil"}, at_ms=T0 + 90_000)])
    number = add_event(db, home.scope, HOSTILE, session="s-evil", kind=EventKind.PROMPT, at_ms=T0 + 95_000)
    memory = add_memory(db, home.scope, "fact.evil", HOSTILE, channel=Channel.AGENT)
    with transaction(db):
        db.execute("update sessions set title = ?, branch = ? where id = 's-evil'", (HOSTILE, HOSTILE))
        db.execute("update memories set key = ? where id = ?", (HOSTILE[:200], memory.id))
        tags = json.dumps([HOSTILE[:60]])
        db.execute(
            "update memory_versions set tags = ?, source = ? where memory_id = ?", (tags, HOSTILE[:90], memory.id)
        )
    db.close()
    yield home, number, memory.id


def test_hostile_text_is_shown_and_does_nothing(poisoned: tuple[House, int, int]) -> None:
    home, event, memory = poisoned
    for width in (1280, 360):
        page = home.open(width=width)
        for place in (
            "/",
            "/sessions",
            "/sessions/s-evil",
            f"/events/{event}",
            f"/events/{event}/text",
            "/memories",
            "/memories?q=onerror+pwned",
            f"/memories/{memory}",
            f"/memories/{memory}/edit",
            f"/memories/{memory}/reject",
            f"/memories/{memory}/forget",
            "/review",
            "/audit",
        ):
            assert page.goto(place).status == 200, place
            assert page.evaluate("window.pwned") is None, place
            assert page.locator("main script, main img, [onerror], [onload], [onmouseover]").count() == 0, place
            # A field that is edited holds the text as it is; a line beside it says what cannot be seen in it.
            page.evaluate("document.querySelectorAll('textarea, input').forEach((one) => one.remove())")
            raw = page.content() if not place.endswith("/text") else ""
            assert not any(c in raw for c in (*BIDI, "\x1b", "\x00", "\x08")), place
            assert page.evaluate("document.documentElement.scrollWidth") <= width, place
    page.goto(f"/memories/{memory}/edit")
    assert "characters that cannot be seen" in page.locator("main").inner_text()
    page.goto(f"/memories/{memory}")
    said = page.locator(".value").first.inner_text()
    assert "<script>window.pwned = 1</script>" in said and "{{ 7*7 }}" in said
    assert page.locator(".value .unseen", has_text="U+202E").count() == 1
    assert page.locator(".value .unseen", has_text="␛").count() == 3
    assert page.locator(".value .redacted").inner_text() == "[redacted:aws]"


def test_a_megabyte_in_one_word_breaks_no_page_and_can_be_read_whole(home: House) -> None:
    db = home.db()
    long = "x" * 1_000_000
    number = add_event(db, home.scope, long, session="s-long", kind=EventKind.ASSISTANT, at_ms=T0 + 99_000)
    memory = add_memory(db, home.scope, "fact.long", "short", channel=Channel.AGENT)
    with transaction(db):
        db.execute("update memory_versions set value = ? where memory_id = ?", (long, memory.id))
    db.close()
    page = home.open(width=360)
    for place in ("/", "/sessions/s-long", f"/events/{number}", "/memories", f"/memories/{memory.id}", "/review"):
        answer = page.goto(place)
        assert answer.status == 200 and len(answer.body()) < 300_000, place
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, place
    page.goto(f"/events/{number}")
    assert "900,000 more characters" in page.locator("main").inner_text()
    page.get_by_role("link", name="As plain text").click()
    assert len(page.locator("pre").inner_text()) >= 1_000_000


def test_ten_thousand_rows_come_a_page_at_a_time_each_once(home: House) -> None:
    db = home.db()
    at = house.at(db, home.scope, "fact.queue")
    (row,) = db.execute("select scope_id from memories where id = ?", (at.id,))
    with transaction(db):
        for n in range(10_000):
            db.execute(
                "insert into memories (namespace, key, scope_id, project_id, created_ms) values (?, ?, ?, ?, ?)",
                (at.namespace, f"row.{n}", row[0], at.project_id, T0),
            )
            made = db.last_insert_rowid()
            db.execute(
                "insert into memory_versions (memory_id, version, value, kind, trust, origin, channel, source,"
                " occurred_ms, recorded_ms)"
                " values (?, 1, ?, 'semantic', 'verified', 'user_said', 'person', 'test', ?, ?)",
                (made, f"row number {n}", T0, T0 + n // 7),
            )
            db.execute("update memories set version_id = last_insert_rowid() where id = ?", (made,))
    db.close()
    page = home.page
    page.goto("/memories?kind=semantic")
    names: list[str] = []
    for _ in range(4):
        names += page.locator("[data-item] [data-open]").all_inner_texts()
        page.get_by_role("link", name="More").click()
        page.wait_for_load_state()
    assert len(names) == len(set(names)) == 200
    assert "(10007)" in page.locator("[name=namespace]").inner_text()
