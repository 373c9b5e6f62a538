"""Every verb, pressed in a browser, and what it does to the store and to recall."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recorder import gate
from recorder.models import Channel, Memory, MemoryKind, Origin, Precision, Proposal, State, Trust
from recorder.store import audit, erase, findings, memories, relations
from tests.makers import T0, add_filler
from tests.memory_samples import add_event, add_memory
from tests.web.pages import house
from tests.web.pages.conftest import House

RULE = "Always run the tests with uv run pytest -q. Then mend the failing parser test."
QUEUE = "We queue jobs in SQLite for the workers"


def press(page: Any, name: str, within: Any = None) -> None:
    """Press a button, and see the page it leads to."""
    with page.expect_navigation():
        (within or page).get_by_role("button", name=name).click()


def test_a_candidate_is_approved_and_told_in_the_brief(home: House) -> None:
    home.page.goto(home.path("fact.queue"))
    press(home.page, "Approve")
    assert "Approved" in home.page.get_by_role("status").inner_text()
    assert home.at("fact.queue").trust is Trust.VERIFIED
    db = home.db()
    assert QUEUE in {one.value for one in memories.for_brief(db, home.scope.project_id, house.NOW_MS)}
    line = memories.history(db, home.at("fact.queue").id)[-1]
    db.close()
    assert line["actor"].startswith("dashboard:") and line["channel"] == "person"


def test_a_memory_is_deleted_and_restored(home: House) -> None:
    home.page.goto(home.path("fact.queue"))
    home.page.get_by_role("link", name="Delete…").click()
    home.page.get_by_label("Why").fill("not now")
    press(home.page, "Delete")
    assert home.at("fact.queue").state is State.DELETED and QUEUE not in home.recalled("queue jobs SQLite")
    home.page.goto("/memories?state=hidden")
    home.page.get_by_role("link", name="fact.queue").click()
    home.page.get_by_role("link", name="Restore…").click()
    press(home.page, "Restore")
    assert home.at("fact.queue").state is State.ACTIVE and QUEUE in home.recalled("queue jobs SQLite")


def test_a_memory_is_rejected_with_a_reason_and_lifted(home: House) -> None:
    home.page.goto(home.path("fact.queue", "reject"))
    assert "refused under every key" in home.page.locator("main").inner_text()
    home.page.get_by_role("button", name="Reject").click()
    assert home.at("fact.queue").trust is Trust.CANDIDATE, "no reason was given"
    home.page.get_by_label("Why").fill("it is Redis")
    press(home.page, "Reject")
    assert home.at("fact.queue").trust is Trust.REJECTED and QUEUE not in home.recalled("queue jobs SQLite")
    home.page.get_by_role("link", name="Lift the rejection…").click()
    home.page.get_by_label("Why").fill("it is SQLite after all")
    press(home.page, "Lift the rejection")
    assert home.at("fact.queue").trust is Trust.CANDIDATE and QUEUE in home.recalled("queue jobs SQLite")


def test_rejecting_reaches_every_memory_that_says_the_same_and_lifting_brings_it_back(home: House) -> None:
    db = home.db()
    add_memory(db, home.scope, "fact.jobs", QUEUE.upper(), channel=Channel.AGENT)
    db.close()
    home.page.goto(home.path("fact.queue", "reject"))
    assert "because it says the same" in home.page.locator("main").inner_text()
    home.page.get_by_label("Why").fill("it is Redis")
    press(home.page, "Reject")
    assert "Rejected" in home.page.get_by_role("status").inner_text()
    assert home.at("fact.jobs").state is State.SUPPRESSED and not home.recalled("queue jobs SQLite")
    home.page.goto(home.path("fact.queue", "lift"))
    home.page.get_by_label("Why").fill("it is SQLite after all")
    press(home.page, "Lift the rejection")
    assert home.recalled("queue jobs SQLite") == {QUEUE, QUEUE.upper()}


def test_forgetting_shows_what_it_reaches_and_leaves_nothing(home: House) -> None:
    number = home.at("rule.tests").id
    home.page.goto(home.path("rule.tests", "forget"))
    shown = home.page.locator("main").inner_text()
    assert "1 of kind prompt" in shown and "what Claude Code sent to its model provider" in shown
    press(home.page, "Forget")
    assert home.page.get_by_role("status").count() == 1
    assert RULE not in {hit.text for hit in home.hits("mend the failing parser test")}
    db = home.db()
    found = memories.get(db, [number])
    waiting = erase.pending(db)
    db.close()
    assert found == [] and not waiting
    home.complaints.clear()
    assert home.page.goto(f"/memories/{number}").status == 404
    home.complaints.clear()


def test_where_there_is_too_much_to_look_at_the_page_shows_an_estimate_and_says_so(home: House) -> None:
    address = home.path("rule.tests", "forget")
    home.page.goto(address)
    assert "An estimate" not in home.page.locator("main").inner_text()
    db = home.db()
    add_filler(db, gate.AT_ONCE_EVENTS)
    db.close()
    home.page.goto(address)
    shown = home.page.locator("main").inner_text()
    assert "An estimate" in shown and "1 of kind prompt" in shown
    press(home.page, "Forget")
    assert RULE not in {hit.text for hit in home.hits("mend the failing parser test")}


def test_a_memory_is_edited_with_its_words_tags_kind_and_dates(home: House) -> None:
    home.page.goto(home.path("fact.queue"))
    home.page.keyboard.press("e")
    home.page.wait_for_url("**/edit")
    home.page.get_by_label("What is right").fill("We queue jobs in Redis for the workers")
    home.page.locator("[name=kind]").select_option("procedural")
    home.page.get_by_label("Tags").fill("queue, redis")
    home.page.get_by_label("Holds from").fill("2026-09")
    press(home.page, "Save")
    now = home.at("fact.queue")
    assert (now.value, now.kind, now.tags) == (
        "We queue jobs in Redis for the workers",
        MemoryKind.PROCEDURAL,
        ("queue", "redis"),
    )
    assert now.trust is Trust.VERIFIED and now.valid_from_precision == "month"
    assert home.recalled("queue jobs workers") >= {now.value} and QUEUE not in home.recalled("queue jobs workers")
    home.page.goto(home.path("fact.queue", "edit"))
    home.page.get_by_label("Tags").fill("queue")
    press(home.page, "Save")
    assert home.at("fact.queue").tags == ("queue",) and home.at("fact.queue").value == now.value
    home.page.goto("/memories?tag=queue")
    assert home.page.get_by_role("link", name="fact.queue").count() == 1


def test_tags_kind_weight_and_dates_are_changed_while_the_words_and_their_trust_stay(home: House) -> None:
    def saved(**fields: str) -> Memory:
        home.page.goto(home.path("fact.queue", "edit"))
        for name, value in fields.items():
            home.page.locator(f"[name={name}]").fill(value)
        press(home.page, "Save")
        return home.at("fact.queue")

    ended = saved(tags="queue", importance="0.9", valid_from="2020", valid_to="2021-03")
    assert (ended.value, ended.trust, ended.tags, ended.importance) == (QUEUE, Trust.CANDIDATE, ("queue",), 0.9)
    assert ended.valid_to_precision == "month" and QUEUE not in home.recalled("queue jobs workers")
    assert "until: open → 2021-03" in home.page.locator(".history").inner_text()
    unknown = saved(valid_to="unknown", valid_from="")
    assert (unknown.valid_from_ms, unknown.valid_to_precision) == (None, "unknown")
    assert QUEUE not in home.recalled("queue jobs workers")
    opened = saved(valid_to="", expires="30d")
    assert (opened.valid_to_ms, opened.valid_to_precision) == (None, None) and opened.expires_ms is not None
    assert QUEUE in home.recalled("queue jobs workers")
    assert saved(expires="never").expires_ms is None
    saved(importance="2")
    assert "no weight" in home.page.get_by_role("alert").inner_text() and home.at("fact.queue").importance == 0.9
    home.complaints.clear()


def test_what_an_edit_would_change_is_looked_at_before_it_is_saved(home: House) -> None:
    before = home.at("fact.queue")
    home.page.goto(home.path("fact.queue", "edit"))
    home.page.get_by_label("What is right").fill("We queue jobs in Redis for the workers")
    home.page.get_by_label("Tags").fill("queue")
    press(home.page, "See the difference")
    shown = home.page.locator("main")
    assert shown.locator("del").inner_text() == "SQLite" and shown.locator("ins").inner_text() == "Redis"
    assert "tags: none → queue" in shown.inner_text() and home.at("fact.queue") == before
    press(home.page, "Save")
    assert home.at("fact.queue").value == "We queue jobs in Redis for the workers"


def test_who_leaves_is_out_and_live_says_that_it_no_longer_is(home: House) -> None:
    live = home.open()
    live.goto("/")
    home.page.goto("/memories")
    press(home.page, "Leave")
    assert "You have left" in home.page.locator("main").inner_text()
    live.get_by_text("This is not live: you are not in any more").wait_for()
    assert home.page.goto("/memories").status == 401
    home.complaints.clear()


def test_live_goes_on_while_something_in_it_has_the_focus(home: House) -> None:
    page = home.page
    page.goto("/")
    link = page.locator("#live a[href^='/events/']").first
    address = link.get_attribute("href")
    link.focus()
    db = home.db()
    add_event(db, home.scope, "Water the lemon tree", at_ms=house.NOW_MS)
    db.close()
    page.get_by_text("Water the lemon tree").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('href')") == address


def test_live_keeps_what_is_marked_and_where_one_is_while_it_goes_on(home: House) -> None:
    page = home.page
    page.goto("/")
    page.evaluate("getSelection().selectAllChildren(document.querySelector('#live h2'))")
    db = home.db()
    add_event(db, home.scope, "Water the lemon tree", at_ms=house.NOW_MS)
    page.get_by_text("This is not live: some of it is marked").wait_for()
    assert page.evaluate("getSelection().toString()") == "Captured last"
    assert page.get_by_text("Water the lemon tree").count() == 0
    page.evaluate("getSelection().removeAllRanges()")
    page.get_by_text("Water the lemon tree").wait_for()
    assert not page.locator("#stale").is_visible()
    page.get_by_role("region", name="Jobs that wait").focus()
    add_event(db, home.scope, "Water the orange tree", at_ms=house.NOW_MS)
    page.get_by_text("Water the orange tree").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Jobs that wait"
    db.close()


def test_the_page_that_says_what_is_amiss_breaks_no_rule_of_its_own(home: House) -> None:
    home.page.goto("/nothing/here")
    home.page.locator("h1").wait_for()
    assert not [said for said in home.complaints if "Content Security Policy" in said]
    home.complaints.clear()


def test_a_wish_for_other_labels_is_granted_in_the_review(home: House) -> None:
    db = home.db()
    at = home.at("command.test")
    agent = gate.Writer(Channel.AGENT, "task:s2", home.scope, house.NOW_MS)
    assert gate.label(db, at.namespace, at.key, agent, gate.Labels(tags=("ci",))).action == "finding"
    db.close()
    home.page.goto("/review")
    wish = home.page.locator("[data-card]").filter(has_text="label proposal")
    assert "tags: tests → ci" in wish.inner_text()
    wish.get_by_label("Why").fill("it is for the build")
    press(home.page, "Change it so", wish)
    assert home.at("command.test").tags == ("ci",) and home.at("command.test").value == at.value


def test_a_wish_says_who_wishes_it_why_and_how_many_others_wait(home: House) -> None:
    db = home.db()
    at = home.at("command.test")
    for n, tag in enumerate(("old", "older", "ci")):
        agent = gate.Writer(Channel.AGENT, f"task:s{n}", home.scope, house.NOW_MS + n)
        labels = gate.Labels(tags=(tag,))
        gate.label(db, at.namespace, at.key, agent, labels, reason="it runs in the build")
    db.close()
    home.page.goto("/review?kind=wishes")
    told = home.page.locator("[data-card]").filter(has_text="label proposal").inner_text()
    assert "tags: tests → ci (it runs in the build)" in told and "Wished by agent task:s2" in told
    assert "2 other wishes" in told
    deletion = home.page.locator("[data-card]").filter(has_text="delete proposal").inner_text()
    assert "it looks unused" in deletion and "Wished by agent task:s1" in deletion


@pytest.mark.parametrize(
    ("dates", "badge", "why"),
    [
        ({"valid_to": (T0, Precision.YEAR)}, "ended", "its time is over"),
        ({"valid_to": (None, Precision.UNKNOWN)}, "ended", "its time is over"),
        ({"expires": (T0, Precision.MS)}, "expired", "it has expired"),
        ({"valid_from": (2 * T0, Precision.DAY)}, "not yet", "its time has not come"),
        ({"valid_from": (T0, Precision.DAY)}, "", ""),
    ],
)
def test_the_page_of_a_memory_tells_whether_its_time_is_over(
    home: House, dates: dict[str, Any], badge: str, why: str
) -> None:
    db = home.db()
    at = home.at("command.test")
    person = gate.Writer(Channel.PERSON, "terminal", home.scope, house.NOW_MS - 1_000)
    assert gate.label(db, at.namespace, at.key, person, gate.Labels(**dates)).action == "labelled"
    db.close()
    told = at.value in home.recalled("run the tests")
    assert told == (not badge)
    home.page.goto(home.path("command.test"))
    said = home.page.locator("main").inner_text()
    assert ("In the brief; in recall" in said) == told == ("verified, and told to Claude" in said)
    assert ("Not in the brief; not in recall" in said) == (why in said and not told)
    assert home.page.locator(".badges .state").all_inner_texts() == ([badge] if badge else [])
    home.page.goto(home.path("command.test", "reject"))
    said = home.page.locator("main").inner_text()
    assert (f"Claude is not told it now: {why}" in said) != told
    assert ("Claude is told it now, in recall and brief" in said) == told


def test_a_version_that_changed_meanwhile_answers_409_with_both_sides_and_loses_no_word(home: House) -> None:
    home.page.goto(home.path("fact.queue", "edit"))
    db = home.db()
    other = gate.Writer(Channel.PERSON, "terminal", home.scope, house.NOW_MS)
    there = home.at("fact.queue")
    said = Proposal(there.namespace, there.key, "We queue jobs in Postgres", there.kind, Origin.USER_SAID, "terminal")
    gate.tell(db, said, other)
    db.close()
    home.page.get_by_label("What is right").fill("We queue jobs in Redis")
    with home.page.expect_response(lambda answer: answer.request.method == "POST") as posted:
        press(home.page, "Save")
    assert posted.value.status == 409
    shown = home.page.locator("main").inner_text()
    assert "Nothing was saved" in shown and "Postgres" in shown
    assert home.page.locator("ins, del").count() > 1
    assert home.page.get_by_label("What is right").input_value() == "We queue jobs in Redis"
    press(home.page, "Save")
    assert home.at("fact.queue").value == "We queue jobs in Redis"
    home.complaints.clear()


def test_what_changed_since_it_was_looked_at_is_not_rejected(home: House) -> None:
    home.page.goto(home.path("fact.queue", "reject"))
    db = home.db()
    at = home.at("fact.queue")
    gate.approve(db, at.namespace, at.key, gate.Writer(Channel.PERSON, "terminal", home.scope, house.NOW_MS))
    db.close()
    home.page.get_by_label("Why").fill("wrong")
    press(home.page, "Reject")
    assert "Nothing was done" in home.page.get_by_role("alert").inner_text()
    assert home.at("fact.queue").trust is Trust.VERIFIED
    home.complaints.clear()


def test_an_earlier_version_is_put_in_force_again(home: House) -> None:
    home.page.goto(home.path("command.test", "edit"))
    home.page.get_by_label("What is right").fill("Run the tests with make check")
    press(home.page, "Save")
    assert home.page.locator(".history del").count() >= 1
    home.page.get_by_role("link", name="revert to this…").last.click()
    press(home.page, "Revert")
    assert home.at("command.test").value == "Run the tests with uv run pytest -q"
    assert "Run the tests with make check" not in home.recalled("run the tests")


def test_a_new_memory_is_written_once_and_an_occupied_address_is_told(home: House) -> None:
    home.page.goto("/memories/new")
    home.page.locator("[name=key]").fill("fact.port")
    home.page.get_by_label("What is right").fill("The shop listens on port 8080 at home")
    press(home.page, "Create")
    assert home.at("fact.port").trust is Trust.VERIFIED
    assert "The shop listens on port 8080 at home" in home.recalled("port shop listens")
    home.page.goto("/memories/new")
    home.page.locator("[name=key]").fill("fact.port")
    home.page.get_by_label("What is right").fill("It listens on 9090")
    press(home.page, "Create")
    assert home.at("fact.port").version == 1 and "Changed meanwhile" in home.page.locator("h1").inner_text()
    home.page.goto("/memories/new")
    home.page.locator("[name=namespace]").fill("elsewhere")
    home.page.locator("[name=key]").fill("x")
    home.page.get_by_label("What is right").fill("y")
    press(home.page, "Create")
    assert "is no address" in home.page.get_by_role("alert").inner_text()
    home.page.locator("[name=namespace]").fill("project.nope")
    press(home.page, "Create")
    assert "there is no namespace 'project.nope' here" in home.page.get_by_role("alert").inner_text()
    home.complaints.clear()


def test_a_memory_is_pinned_linked_and_unlinked(home: House) -> None:
    home.page.goto(home.path("fact.queue"))
    press(home.page, "Pin")
    assert home.at("fact.queue").pinned
    press(home.page, "Unpin")
    assert not home.at("fact.queue").pinned
    home.page.get_by_text("Link it with another").click()
    home.page.locator("[name=relation]").fill("depends on")
    home.page.locator("[name=key]").fill("command.test")
    press(home.page, "Link")
    assert home.page.locator("svg.graph circle").count() == 3, "the one it is linked with is linked itself"
    db = home.db()
    assert [one.relation for one in relations.touching(db, home.at("fact.queue").id)] == ["depends on"]
    press(home.page, "Unlink depends on")
    assert relations.touching(db, home.at("fact.queue").id) == []
    db.close()


def test_the_review_decides_about_findings_and_candidates_one_by_one(home: House) -> None:
    home.page.goto("/review")
    cards = home.page.locator("[data-card]")
    pair = cards.filter(has_text="contradiction")
    pair.get_by_label("Why").fill("I looked")
    press(home.page, "Keep new", pair)
    assert home.at("fact.cache").trust is Trust.REJECTED
    assert home.recalled("caching staging") == {"Caching is disabled in staging"}
    double = cards.filter(has_text="duplicate")
    double.get_by_text("Merge: say it in other words").click()
    double.get_by_label("What is right").fill("Format all code with ruff before each commit")
    double.get_by_label("Why").fill("one is enough")
    press(home.page, "Merge into this", double)
    assert home.recalled("format code ruff") == {"Format all code with ruff before each commit"}
    wish = cards.filter(has_text="delete proposal")
    wish.get_by_label("Why").fill("I use it")
    press(home.page, "Keep it", wish)
    assert home.at("command.test").state is State.ACTIVE
    db = home.db()
    assert findings.open_count(db) == 0
    db.close()
    candidate = cards.filter(has_text="fact.queue")
    candidate.get_by_text("Edit the words").click()
    candidate.get_by_label("What is right").fill("We queue all jobs in SQLite")
    candidate.get_by_label("Why").fill("clearer")
    press(home.page, "Save as edited", candidate)
    assert home.at("fact.queue").value == "We queue all jobs in SQLite"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("Keep old", State.ACTIVE, Trust.REJECTED),
        ("Keep both", State.ACTIVE, Trust.CANDIDATE),
        ("Remove both", None, Trust.REJECTED),
    ],
)
def test_each_way_to_settle_a_contradiction(home: House, name: str, old: State | None, new: Trust) -> None:
    home.page.goto("/review")
    pair = home.page.locator("[data-card]").filter(has_text="contradiction")
    pair.get_by_label("Why").fill("so it is")
    press(home.page, name, pair)
    assert home.at("note.cache").trust is new
    assert (home.at("fact.cache").trust is Trust.REJECTED) == (old is None)


def test_a_candidate_is_deleted_in_the_review_and_nothing_is_decided_without_a_reason(home: House) -> None:
    home.page.goto("/review?kind=candidates")
    card = home.page.locator("[data-card]").filter(has_text="fact.queue")
    card.get_by_role("button", name="Delete").click()
    assert home.at("fact.queue").state is State.ACTIVE
    card.get_by_label("Why").fill("nobody needs it")
    press(home.page, "Delete", card)
    assert home.at("fact.queue").state is State.DELETED and QUEUE not in home.recalled("queue jobs SQLite")


def test_a_forget_that_another_program_holds_up_is_tried_again(home: House) -> None:
    reader = home.db()
    reader.execute("begin")
    list(reader.execute("select count(*) from events"))
    home.page.set_default_timeout(40_000)
    home.page.goto(home.path("fact.queue", "forget"))
    press(home.page, "Forget")
    assert "Hidden from everybody" in home.page.get_by_role("status").inner_text()
    home.page.goto("/review")
    assert "another program reads the store" in home.page.locator("main").inner_text()
    reader.close()
    press(home.page, "Try again")
    db = home.db()
    assert erase.pending(db) == [] and not home.recalled("queue jobs SQLite")
    db.close()


def test_a_memory_says_who_was_told_and_a_pinned_one_goes_first_in_the_brief(home: House) -> None:
    home.page.goto(home.path("rule.tests"))
    told = home.page.get_by_role("region", name="Who was told")
    assert told.locator("tbody td").all_inner_texts()[1:] == ["shown", "brief", "s1"]
    home.page.goto("/memories")
    assert {"user", f"project.{home.scope.project_id}"} <= set(home.page.locator(".group").all_inner_texts())
    home.page.locator("[data-item]").filter(has_text="style.two").get_by_role("link", name="style.two").click()
    press(home.page, "Pin")
    db = home.db()
    first = memories.for_brief(db, home.scope.project_id, house.NOW_MS)[0]
    db.close()
    assert first.key == "style.two"
    home.page.goto("/memories")
    home.page.keyboard.press("j")
    home.page.keyboard.press("a")
    home.page.wait_for_url("**/approve")


def test_the_keyboard_goes_through_the_review(home: House) -> None:
    home.page.goto("/review")
    for _ in range(5):
        home.page.keyboard.press("j")
    assert home.page.locator("[data-now]").get_attribute("id") == f"m{home.at('fact.queue').id}"
    home.page.keyboard.press("k")
    assert home.page.locator("[data-now]").get_attribute("id") == f"m{home.at('rule.tests').id}"
    home.page.keyboard.press("a")
    home.page.keyboard.type("I say so")
    home.page.keyboard.press("Enter")
    home.page.wait_for_url("**said=approved**")
    assert home.at("rule.tests").trust is Trust.VERIFIED
    assert home.page.locator("[data-now]").get_attribute("id") == f"m{home.at('fact.queue').id}"
    home.page.keyboard.press("r")
    home.page.keyboard.type("no")
    home.page.keyboard.press("Enter")
    home.page.wait_for_url("**said=rejected**")
    assert home.at("fact.queue").trust is Trust.REJECTED


def test_what_changed_while_the_review_was_open_is_shown_and_not_decided(home: House) -> None:
    home.page.goto("/review")
    db = home.db()
    at = home.at("fact.queue")
    said = Proposal(at.namespace, at.key, "We queue jobs in Kafka", at.kind, Origin.ASSISTANT_SAID, "task:s2")
    gate.tell(db, said, gate.Writer(Channel.AGENT, "task:s2", home.scope, house.NOW_MS))
    db.close()
    card = home.page.locator("[data-card]").filter(has_text="fact.queue")
    card.get_by_label("Why").fill("right")
    press(home.page, "Approve", card)
    shown = home.page.locator("main").inner_text()
    assert "Nothing was decided" in shown and "Kafka" in shown
    assert home.at("fact.queue").trust is Trust.CANDIDATE
    home.page.get_by_label("Why").fill("right as it is now")
    press(home.page, "Approve")
    assert home.at("fact.queue").trust is Trust.VERIFIED and home.at("fact.queue").value == "We queue jobs in Kafka"
    home.complaints.clear()


def test_a_refusal_is_lifted_by_naming_what_it_met(home: House) -> None:
    at = home.at("fact.queue")
    db = home.db()
    gate.reject(db, at.namespace, at.key, gate.Writer(Channel.PERSON, "t", home.scope, house.NOW_MS), reason="no")
    again = Proposal(at.namespace, "again", at.value, at.kind, Origin.ASSISTANT_SAID, "task:s2")
    agent = gate.Writer(Channel.AGENT, "task:s2", home.scope, house.NOW_MS)
    assert gate.tell(db, again, agent).action == "refused"
    home.page.goto("/review")
    assert "tombstone, from task:s2" in home.page.locator(".refusals").inner_text()
    form = home.page.locator("form[action='/review/refusals']")
    form.locator("[name=namespace]").fill(at.namespace)
    form.locator("[name=key]").fill(at.key)
    form.get_by_label("Why").fill("it may be said")
    press(home.page, "Lift", form)
    assert home.at("fact.queue").trust is Trust.CANDIDATE
    db.close()


def test_without_javascript_the_main_verbs_work_as_forms(home: House) -> None:
    page = home.open(script=False)
    page.goto(home.path("fact.queue"))
    press(page, "Approve")
    assert home.at("fact.queue").trust is Trust.VERIFIED
    page.goto(home.path("fact.queue", "delete"))
    press(page, "Delete")
    assert home.at("fact.queue").state is State.DELETED
    page.goto(home.path("fact.queue", "restore"))
    press(page, "Restore")
    page.goto(home.path("fact.queue", "edit"))
    page.get_by_label("What is right").fill("We queue jobs in Redis")
    press(page, "Save")
    assert home.at("fact.queue").value == "We queue jobs in Redis"
    page.goto(home.path("fact.queue", "reject"))
    page.get_by_label("Why").fill("false")
    press(page, "Reject")
    assert home.at("fact.queue").trust is Trust.REJECTED
    page.goto("/review")
    wish = page.locator("[data-card]").filter(has_text="delete proposal")
    wish.get_by_label("Why").fill("let it go")
    wish.get_by_label("Why").press("Enter")
    assert home.at("command.test").state is State.ACTIVE, "Enter alone presses no button"
    press(page, "Let it be deleted", wish)
    assert home.at("command.test").state is State.DELETED


def test_an_export_is_downloaded_looked_at_and_taken_in_again(home: House, tmp_path: Path) -> None:
    home.page.goto("/lifecycle")
    with home.page.expect_download() as started:
        home.page.get_by_role("button", name="Export").click()
    file = tmp_path / "export.json"
    started.value.save_as(file)
    held = json.loads(file.read_text())
    assert RULE in {one["versions"][0]["value"] for one in held["content"]["memories"]}
    at = home.at("fact.queue")
    for one in held["content"]["memories"]:
        if one["key"] == "fact.queue":
            one["key"], one["versions"][0]["value"] = "fact.other", "Jobs are queued in another place"
    file.write_text(json.dumps(held))
    home.page.goto("/lifecycle")
    home.page.get_by_label("File").set_input_files(file)
    press(home.page, "Look at it")
    assert "1 new" in home.page.locator("main").inner_text()
    with pytest.raises(AssertionError):
        home.at("fact.other")
    press(home.page, "Import")
    assert "1 created" in home.page.get_by_role("status").inner_text()
    assert home.at("fact.other").trust is Trust.CANDIDATE and home.at("fact.queue") == at


def test_a_backup_is_made_and_the_audit_verified(home: House) -> None:
    home.page.goto("/lifecycle")
    press(home.page, "Back up now")
    assert home.page.locator("table tbody tr").count() == 1
    assert len(list(home.config.backups_dir.glob("*.db"))) == 1
    home.page.goto("/audit")
    press(home.page, "Verify the chain")
    assert "Pass" in home.page.get_by_role("status").inner_text()
    db = home.db()
    assert audit.verify(db).state == "pass"
    db.close()


def test_claudes_files_are_read_and_what_belongs_nowhere_is_given_to_a_project(home: House, own_home: Path) -> None:
    folder = own_home / ".claude" / "projects" / "-nowhere-known" / "memory"
    folder.mkdir(parents=True)
    (folder / "lamps.md").write_text("The hall lamps are dimmed at nine.\n", encoding="utf-8")
    home.page.goto("/memories")
    press(home.page, "Read them now")
    home.page.get_by_text("Of no known project").click()
    home.page.get_by_role("link", name="lamps").first.click()
    assert home.page.locator(".badge.auto").count() == 1
    assert not home.recalled("hall lamps dimmed")
    home.page.get_by_label("Give it to").select_option(label="shop")
    press(home.page, "Give")
    assert home.recalled("hall lamps dimmed")


def test_no_verb_is_done_without_the_forms_own_token(home: House) -> None:
    page = home.page
    page.goto(home.path("fact.queue"))
    page.evaluate("document.querySelectorAll('[name=form_token]').forEach(one => one.value = 'guessed')")
    press(page, "Approve")
    assert home.at("fact.queue").trust is Trust.CANDIDATE
    home.complaints.clear()
