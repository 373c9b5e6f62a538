"""Memories that do not go together are found, told to a person, and settled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recorder import gate
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.errors import Conflict, GateRefused
from recorder.gate import alike
from recorder.models import Channel, EventKind, MemoryKind, Origin, Project, Proposal, Scope, State, Trust
from recorder.recall import rank, reached
from recorder.store import db as store
from recorder.store import findings, jobs, memories, projects
from tests.memory_samples import NOW_MS, A, B, add_event, add_memory, opened
from worker.handlers import HANDLERS, Context
from worker.loop import run_once

LATER = NOW_MS + 1_000_000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[store.Connection]:
    connection = opened(tmp_path)
    yield connection
    connection.close()


def looked(db: store.Connection, tmp_path: Path, now_ms: int = LATER) -> list[dict[str, Any]]:
    """What is open after the worker did all its jobs."""
    config = Config(home=tmp_path)
    while run_once(Context(db, config, Redactor(config.capture), now_ms), HANDLERS):
        pass
    return findings.listing(db, None)


def person(scope: Scope = A, now_ms: int = LATER + 1000) -> gate.Writer:
    return gate.Writer(Channel.PERSON, "terminal", scope, now_ms)


def stands(db: store.Connection, key: str, scope: Scope = A) -> tuple[str, Trust, State]:
    found = memories.find(db, f"project.{scope.project_id}", key)
    assert found is not None
    return found.value, found.trust, found.state


def recalled(db: store.Connection, question: str, scope: Scope = A, now_ms: int = LATER + 5000) -> set[str]:
    found = rank.recall(db, question, scope, k=20, vector=None, vector_status="off", now_ms=now_ms)
    return {hit.text for hit in found.hits if hit.type == "memory"}


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("Use tabs for the Makefile", "Never use tabs for the Makefile", "contradiction"),
        ("Deploy on Fridays with helm", "Don't deploy on Fridays with helm", "contradiction"),
        ("We support Python 3.11 and newer", "We support Python 3.12 and newer", "contradiction"),
        ("The build needs python3.11 to run", "The build needs python3.12 to run", None),
        ("Retry failed uploads 3 times", "Retry failed uploads 5 times", "contradiction"),
        ("Caching is enabled in staging", "Caching is disabled in staging", "contradiction"),
        ("Always squash commits on main", "Never squash commits on main", "contradiction"),
        ("Caching is not enabled in staging", "Caching is disabled in staging", None),
        ("We queue jobs in SQLite, not in Redis", "we queue the jobs in SQLite, not in Redis.", "duplicate"),
        ("Run the whole test suite before each release", "Run the whole test suites before every release", None),
        ("Format the code with ruff before a commit", "Format code with ruff before commits", "duplicate"),
        ("We queue jobs in SQLite for the workers", "We queue jobs in Redis for the workers", None),
        ("Issue 12 is closed by the parser change", "Issue 13 is closed by the parser change", None),
        ("In 2025 we moved the site to Fly", "In 2026 we moved the site to Fly", None),
        ("The API listens on port 8080", "The dashboard is written in Jinja", None),
        ("Use tabs", "Use tabs", "duplicate"),
        ("", "Use tabs", None),
    ],
)
def test_two_values_are_judged_by_their_words(one: str, other: str, kind: str | None) -> None:
    assert alike.judged(one, other) == kind
    assert alike.judged(other, one) == kind


BOTH_HOLD = [
    ("Port 80 is open to the world", "Port 443 is open to the world"),
    ("CI runs the tests on Python 3.11", "CI runs the tests on Python 3.12"),
    ("We support Python 3.11", "We support Python 3.12"),
    ("Python 3.11 is supported", "Python 3.12 is supported"),
    ("docs/api.md describes the public API", "docs/api.md describes the private API"),
    ("The public API is documented in docs/api.md", "The private API is documented in docs/api.md"),
    ("The light theme lives in theme.css", "The dark theme lives in theme.css"),
    ("The install script is in scripts", "The uninstall script is in scripts"),
    ("Shard 3 runs the slow tests", "Shard 4 runs the slow tests"),
    ("The flaky test runs on shard 3", "The flaky test runs on shard 4"),
    ("Exit code 1 means that lint failed", "Exit code 2 means that lint failed"),
    ("The tool ends with exit code 1 on errors", "The tool ends with exit code 2 on errors"),
    ("The fast queue is drained by the worker", "The slow queue is drained by the worker"),
    ("Mail goes through the fast queue of the worker", "Mail goes through the slow queue of the worker"),
    ("Run make up for the local stack", "Run make down for the local stack"),
    ("The sync client lives in client.py", "The async client lives in client.py"),
    ("Use the sync client in scripts", "Use the async client in scripts"),
    ("nginx listens on port 80", "nginx listens on port 443"),
    ("A reminder is sent 7 days before the end", "A reminder is sent 30 days before the end"),
    ("Install the app with make install", "Uninstall the app with make uninstall"),
    ("Start the stack with docker compose up", "Stop the stack with docker compose stop"),
    ("Run the migrations before the deploy", "Run the migrations after the deploy"),
    ("If CI is set colors are on", "If CI is set colors are off"),
    ("The cache is on when DEBUG is not set", "The cache is on when DEBUG is set"),
    ("Issue 12 is closed by the parser change", "Issue 13 is closed by the parser change"),
    ("HTTP 404 is returned for unknown users", "HTTP 410 is returned for unknown users"),
    ("Node 18 is used by the legacy build", "Node 20 is used by the legacy build"),
    ("Run the tests with pytest -q in CI", "Run the slow tests with pytest -q in CI"),
    ("The first page is cached by the proxy", "The last page is cached by the proxy"),
    ("Enable debug output with the env file", "Disable debug output with the env file"),
    ("Run the tests with coverage in CI", "Run the tests without coverage in CI"),
    ("One of the ports is 80", "One of the ports is 443"),
    ("The 30 day report goes to Ada", "The 90 day report goes to Ada"),
    ("Upload the build with the deploy script", "Download the build with the deploy script"),
    ("Release 1.2 dropped Python 2", "Release 1.3 dropped Python 2"),
    ("The staging server is the slow server", "The staging server is the fast server"),
    ("The service listens on port 8080 inside", "The service listens on port 9090 inside"),
    ("In 2025 we moved the site to Fly", "In 2026 we moved the site to Fly"),
]
"""Pairs of which both are true."""

ONE_HOLDS = [
    ("The port is 8080", "The port is 9090"),
    ("The port of the dashboard is 8080", "The port of the dashboard is 9090"),
    ("The Python version is 3.11", "The Python version is 3.12"),
    ("The timeout is set to 30 seconds", "The timeout is set to 60 seconds"),
    ("We support Python 3.11 and newer", "We support Python 3.12 and newer"),
    ("Retry failed uploads 3 times", "Retry failed uploads 5 times"),
    ("Logs are kept for 30 days", "Logs are kept for 90 days"),
    ("Caching is enabled in staging", "Caching is disabled in staging"),
    ("The default theme is dark", "The default theme is light"),
    ("The repository is public", "The repository is private"),
    ("The page size defaults to 20", "The page size defaults to 50"),
    ("Use tabs in the Makefile", "Avoid tabs in the Makefile"),
    ("Use tabs for the Makefile", "Never use tabs for the Makefile"),
    ("Deploy on Fridays with helm", "Don't deploy on Fridays with helm"),
    ("Always squash commits on main", "Never squash commits on main"),
    ("The tests run on Windows", "The tests do not run on Windows"),
    ("A review is required for main", "A review is optional for main"),
    ("Indent YAML with 2 spaces", "Indent YAML with 4 spaces"),
]
"""Pairs of which one is false."""


def test_what_can_both_hold_gives_no_finding_and_stands(db: store.Connection, tmp_path: Path) -> None:
    for n, pair in enumerate(BOTH_HOLD):
        for side, value in enumerate(pair):
            add_memory(db, A, f"{'abcdefghijklmnopqrstuvwxyz'[n % 26]}{n}.of{side}", value)
    assert looked(db, tmp_path) == []
    assert all(memory.trust is Trust.VERIFIED for memory in memories.listing(db, A, limit=200))


@pytest.mark.parametrize(("one", "other"), BOTH_HOLD)
def test_what_can_both_hold_is_no_contradiction(one: str, other: str) -> None:
    assert alike.judged(one, other) is None and alike.judged(other, one) is None


@pytest.mark.parametrize(("one", "other"), ONE_HOLDS)
def test_another_value_of_the_same_subject_is_told_and_hides_nothing_a_person_verified(
    db: store.Connection, tmp_path: Path, one: str, other: str
) -> None:
    add_memory(db, A, "first", one)
    add_memory(db, A, "second", other, at_ms=NOW_MS + 5)
    (finding,) = looked(db, tmp_path)
    assert finding["kind"] == "contradiction"
    assert {memory.trust for memory in memories.listing(db, A)} == {Trust.VERIFIED}


def test_a_candidate_is_disputed_by_what_was_seen_to_work_whoever_proposed_it(
    db: store.Connection, tmp_path: Path
) -> None:
    seen(db, "seen", "Caching of pages is enabled in staging")
    add_memory(db, A, "said", "Caching of pages is disabled in staging", channel=Channel.USER_SAID)
    add_memory(db, A, "pinned", "Caching of pages is not enabled in staging", channel=Channel.AGENT)
    gate.pin(db, f"project.{A.project_id}", "pinned", person(now_ms=NOW_MS + 5), pinned=True)
    looked(db, tmp_path)
    assert stands(db, "seen")[1] is Trust.VERIFIED
    assert stands(db, "said")[1] is Trust.DISPUTED
    assert stands(db, "pinned")[1] is Trust.CANDIDATE


def seen(db: store.Connection, key: str, value: str) -> None:
    """What was seen to work in two sessions."""
    calls = [add_event(db, A, value, session=f"{key}{n}", kind=EventKind.TOOL_CALL) for n in (1, 2)]
    add_memory(db, A, key, value, channel=Channel.OBSERVED, cites=calls)


@pytest.mark.parametrize("spelled", ["command.tests", "Command_Test", "commands/test", "command-test"])
def test_a_key_spelled_differently_names_the_same_subject(spelled: str) -> None:
    assert alike.subject(spelled) == alike.subject("command.test")
    assert alike.subject("command.test.2") != alike.subject("command.test")


def test_a_contradiction_of_equals_leaves_recall_without_either_until_a_person_decides(
    db: store.Connection, tmp_path: Path
) -> None:
    add_memory(db, A, "rule.friday", "Deploy on Fridays with helm", channel=Channel.AGENT)
    add_memory(db, A, "note.deploys", "Never deploy on Fridays with helm", channel=Channel.AGENT, at_ms=NOW_MS + 5)
    add_memory(db, A, "other", "Helm charts live in deploy/charts", channel=Channel.AGENT)
    (finding,) = looked(db, tmp_path)
    assert (finding["kind"], finding["key"], finding["other_key"]) == ("contradiction", "rule.friday", "note.deploys")
    assert recalled(db, "deploy helm Fridays") == {"Helm charts live in deploy/charts"}
    assert looked(db, tmp_path, LATER + 10) == [finding]


def test_a_contradiction_of_something_higher_disputes_the_lower_alone(db: store.Connection, tmp_path: Path) -> None:
    add_memory(db, A, "rule.friday", "Never deploy on Fridays with helm")
    add_memory(db, A, "note.deploys", "Deploy on Fridays with helm", channel=Channel.AGENT)
    looked(db, tmp_path)
    assert stands(db, "rule.friday")[1] is Trust.VERIFIED
    assert stands(db, "note.deploys")[1] is Trust.DISPUTED
    assert recalled(db, "deploy Fridays") == {"Never deploy on Fridays with helm"}


def test_one_subject_under_two_spellings_with_two_values_is_a_contradiction(
    db: store.Connection, tmp_path: Path
) -> None:
    add_memory(db, A, "command.test", "make check", channel=Channel.AGENT)
    add_memory(db, A, "commands.tests", "uv run pytest -q", channel=Channel.AGENT)
    (finding,) = looked(db, tmp_path)
    assert finding["kind"] == "contradiction"


def test_a_duplicate_disputes_nothing(db: store.Connection, tmp_path: Path) -> None:
    add_memory(db, A, "format", "Format the code with ruff before a commit")
    add_memory(db, A, "style", "Format code with ruff before commits")
    (finding,) = looked(db, tmp_path)
    assert finding["kind"] == "duplicate"
    assert len(recalled(db, "format code ruff")) == 2


def test_nothing_is_compared_across_scopes_or_times(db: store.Connection, tmp_path: Path) -> None:
    add_memory(db, A, "rule.friday", "Deploy on Fridays with helm", channel=Channel.AGENT)
    add_memory(db, B, "rule.friday", "Never deploy on Fridays with helm", channel=Channel.AGENT)
    add_memory(db, A, "port.1", "The service listens on port 8080 inside", channel=Channel.AGENT)
    add_memory(db, A, "port.2", "The service listens on port 9090 inside", channel=Channel.AGENT)
    add_memory(db, A, "old", "Retry failed uploads 3 times", channel=Channel.AGENT, valid_to_ms=NOW_MS + 10)
    add_memory(db, A, "new", "Retry failed uploads 5 times", channel=Channel.AGENT)
    for session, home in (("sa", A), ("sb", B)):
        value = f"{'Always' if home is A else 'Never'} answer me in German please"
        add_memory(db, home, f"preference.{session}", value, namespace="user", channel=Channel.AGENT)
    happened = ("Release 1.2 went out without a hitch", "Release 1.3 went out without a hitch")
    for n, value in enumerate(happened):
        add_memory(db, A, f"event.r{n}", value, kind=MemoryKind.EPISODIC, channel=Channel.AGENT)
    assert looked(db, tmp_path) == []


@pytest.mark.parametrize(
    ("disposition", "first", "second", "said"),
    [
        ("keep_old", Trust.CANDIDATE, Trust.REJECTED, {"Retry uploads to the mirror 3 times"}),
        ("keep_new", Trust.REJECTED, Trust.CANDIDATE, {"Retry uploads to the mirror 5 times"}),
        (
            "keep_both",
            Trust.CANDIDATE,
            Trust.CANDIDATE,
            {"Retry uploads to the mirror 3 times", "Retry uploads to the mirror 5 times"},
        ),
        ("remove_both", Trust.REJECTED, Trust.REJECTED, set()),
        ("manual", Trust.VERIFIED, Trust.REJECTED, {"Retry uploads to the mirror 4 times"}),
    ],
)
def test_a_contradiction_is_settled_as_a_person_decides_and_is_not_raised_again(
    db: store.Connection, tmp_path: Path, disposition: str, first: Trust, second: Trust, said: set[str]
) -> None:
    three, five, four = (f"Retry uploads to the mirror {n} times" for n in (3, 5, 4))
    add_memory(db, A, "uploads", three, channel=Channel.AGENT)
    add_memory(db, A, "mirror", five, channel=Channel.AGENT, at_ms=NOW_MS + 5)
    (finding,) = looked(db, tmp_path)
    value = four if disposition == "manual" else None
    settled = gate.settle(db, finding["id"], disposition, person(), "I looked it up", value)
    assert (stands(db, "uploads")[1], stands(db, "mirror")[1]) == (first, second)
    assert recalled(db, "retry uploads mirror") == said
    assert looked(db, tmp_path, LATER + 2000) == []
    told = reached.check(db, A, settled.kept, settled.gone, LATER + 3000)
    assert told.holds and set(told.said) == said
    for key, text, trust in (("uploads", three, first), ("mirror", five, second)):
        again = gate.tell(
            db, _proposal(f"again.{key}", text), gate.Writer(Channel.AGENT, "agent", A, LATER + 4000), session_id=None
        )
        out = trust is Trust.REJECTED or text in settled.gone
        assert (again.action == "refused") is out, again
    with pytest.raises(Conflict):
        gate.settle(db, finding["id"], "keep_old", person(), "again")


def _proposal(key: str, value: str) -> Proposal:
    return Proposal(f"project.{A.project_id}", key, value, MemoryKind.SEMANTIC, Origin.ASSISTANT_SAID, "test")


def conflict(db: store.Connection) -> int:
    """What a person said, and what an agent would put in its place."""
    add_memory(db, A, "queue", "We queue in SQLite")
    add_memory(db, A, "queue", "We queue in Redis", channel=Channel.AGENT, at_ms=NOW_MS + 5)
    (finding,) = findings.listing(db, A)
    return int(finding["id"])


@pytest.mark.parametrize(
    ("disposition", "said"),
    [
        ("keep_old", {"We queue in SQLite"}),
        ("keep_new", {"We queue in Redis"}),
        ("keep_both", {"We queue in SQLite", "We queue in Redis"}),
        ("remove_both", set()),
        ("manual", {"We queue in Postgres"}),
    ],
)
def test_a_losing_proposal_is_settled_and_what_was_false_stays_out(
    db: store.Connection, tmp_path: Path, disposition: str, said: set[str]
) -> None:
    finding = conflict(db)
    value = "We queue in Postgres" if disposition == "manual" else None
    settled = gate.settle(db, finding, disposition, person(), "so it is", value)
    looked(db, tmp_path, LATER + 2000)
    assert recalled(db, "queue SQLite Redis Postgres") == said
    assert findings.listing(db, None) == []
    assert reached.check(db, A, settled.kept, settled.gone, LATER + 3000).holds
    agent = gate.Writer(Channel.AGENT, "agent", A, LATER + 4000)
    for text in {"We queue in SQLite", "We queue in Redis"} - said:
        assert gate.tell(db, _proposal("elsewhere", text), agent).action == "refused"
    again = gate.tell(db, _proposal("queue", "We queue in Redis"), agent)
    assert again.action in ("refused", "unchanged", "corroborated")
    assert findings.listing(db, None) == []


def test_both_kept_stand_side_by_side_under_two_keys(db: store.Connection, tmp_path: Path) -> None:
    gate.settle(db, conflict(db), "keep_both", person(), "both hold")
    assert stands(db, "queue")[0] == "We queue in SQLite"
    assert stands(db, "queue.2") == ("We queue in Redis", Trust.VERIFIED, State.ACTIVE)
    looked(db, tmp_path, LATER + 2000)
    assert findings.listing(db, None) == []


@pytest.mark.parametrize(("disposition", "state"), [("keep_old", State.ACTIVE), ("keep_new", State.DELETED)])
def test_a_wish_to_delete_is_granted_or_not(db: store.Connection, disposition: str, state: State) -> None:
    add_memory(db, A, "queue", "We queue in SQLite")
    agent = gate.Writer(Channel.AGENT, "agent", A, NOW_MS + 5)
    assert gate.delete(db, f"project.{A.project_id}", "queue", agent, reason="old").action == "finding"
    (finding,) = findings.listing(db, A)
    with pytest.raises(GateRefused):
        gate.settle(db, finding["id"], "keep_both", person(), "no")
    assert findings.listing(db, A) == [finding]
    gate.settle(db, finding["id"], disposition, person(), "so it is")
    assert stands(db, "queue")[2] is state


def test_only_a_person_settles_and_of_another_project_nobody(db: store.Connection) -> None:
    finding = conflict(db)
    for writer in (gate.Writer(Channel.AGENT, "agent", A, LATER), person(B)):
        with pytest.raises(Exception, match="person|no finding"):
            gate.settle(db, finding, "keep_new", writer, "mine")
    assert stands(db, "queue")[0] == "We queue in SQLite"


def test_a_side_has_the_trust_it_had_before_the_dispute_and_the_past_is_whole(
    db: store.Connection, tmp_path: Path
) -> None:
    seen(db, "one", "Caching of pages is enabled in staging")
    seen(db, "two", "Caching of pages is disabled in staging")
    (finding,) = looked(db, tmp_path)
    assert recalled(db, "caching staging") == set()
    gate.settle(db, finding["id"], "keep_old", person(), "I looked")
    assert stands(db, "one")[:2] == ("Caching of pages is enabled in staging", Trust.VERIFIED)
    found = memories.find(db, f"project.{A.project_id}", "one")
    assert found is not None
    lines = memories.history(db, found.id)
    assert [(line["action"], line["trust"]) for line in lines] == [
        ("created", "verified"),
        ("disputed", "disputed"),
        ("settled", "verified"),
        ("decided", "verified"),
    ]
    assert lines[-1]["disposition"] == "keep_old" and lines[-1]["reason"] == "I looked"


def test_what_stood_against_a_rejected_memory_is_back_without_a_decision(db: store.Connection, tmp_path: Path) -> None:
    add_memory(db, A, "one", "Caching of pages is enabled in staging", channel=Channel.AGENT)
    add_memory(db, A, "two", "Caching of pages is disabled in staging", channel=Channel.AGENT)
    looked(db, tmp_path)
    gate.reject(db, f"project.{A.project_id}", "two", person(), reason="never so")
    assert looked(db, tmp_path, LATER + 2000) == []
    assert stands(db, "one")[1] is Trust.CANDIDATE
    gate.lift(db, f"project.{A.project_id}", "two", person(now_ms=LATER + 3000))
    assert len(looked(db, tmp_path, LATER + 4000)) == 1


def test_a_disputed_memory_changes_by_a_persons_word_alone(db: store.Connection, tmp_path: Path) -> None:
    add_memory(db, A, "one", "Caching of pages is enabled in staging", channel=Channel.AGENT)
    add_memory(db, A, "two", "Caching of pages is disabled in staging", channel=Channel.AGENT)
    looked(db, tmp_path)
    add_memory(db, A, "one", "Nothing is cached", channel=Channel.AGENT, at_ms=LATER + 10)
    assert stands(db, "one")[:2] == ("Caching of pages is enabled in staging", Trust.DISPUTED)
    add_memory(db, A, "one", "Nothing is cached", at_ms=LATER + 20)
    assert looked(db, tmp_path, LATER + 2000)[0]["kind"] == "conflict"
    assert stands(db, "two")[1] is Trust.CANDIDATE


def test_consolidation_reports_duplicates_and_changes_nothing(db: store.Connection) -> None:
    add_memory(db, A, "format", "Format the code with ruff before a commit")
    add_memory(db, A, "style", "Format code with ruff before commits")
    add_memory(db, A, "one", "Caching of pages is enabled in staging")
    add_memory(db, A, "two", "Caching of pages is disabled in staging")
    before = [memory.version_id for memory in memories.listing(db, A)]
    (found,) = gate.consolidate(db, A, LATER)
    assert gate.consolidate(db, A, LATER) == [found]
    assert [memory.version_id for memory in memories.listing(db, A)] == before
    assert [one["kind"] for one in findings.listing(db, A)] == ["duplicate"]
    gate.settle(db, found, "keep_old", person(), "once is enough")
    assert stands(db, "style")[2] is State.DELETED and stands(db, "style")[1] is Trust.VERIFIED
    assert gate.consolidate(db, A, LATER + 2000) == []


def test_looking_for_conflicts_waits_behind_live_work(db: store.Connection) -> None:
    add_memory(db, A, "one", "Caching of pages is enabled in staging")
    jobs.ask(db, "live", "x", due_ms=LATER, now_ms=LATER)
    first, second = (jobs.claim(db, LATER + 1) for _ in range(2))
    assert first is not None and second is not None
    assert (first.kind, second.kind) == ("live", gate.CONFLICTS)


SAID = "We deploy with helm from the main branch"


@pytest.mark.parametrize("into", [A, B])
def test_a_value_rejected_in_one_of_two_projects_does_not_stand_when_they_are_one(
    db: store.Connection, into: Scope
) -> None:
    add_memory(db, A, "deploy", SAID)
    gate.reject(db, f"project.{A.project_id}", "deploy", person(), reason="never so")
    add_memory(db, B, "how", f"{SAID}.")
    add_memory(db, B, "other", "Helm charts live in deploy/charts")
    (other,) = {A, B} - {into}
    assert into.project_id and other.project_id
    (gone,) = gate.merge(db, other.project_id, into.project_id, person(into))
    assert gone.value == f"{SAID}."
    assert recalled(db, "deploy helm charts", into) == {"Helm charts live in deploy/charts"}
    assert [line["action"] for line in memories.history(db, gone.id)] == ["created", "rejected"]
    (row,) = db.execute("select count(*) from audit where action = 'rejected'")
    assert row == (2,)


def test_what_was_rejected_is_refused_in_what_is_split_off_until_a_person_says_it(db: store.Connection) -> None:
    add_memory(db, A, "deploy", SAID)
    gate.reject(db, f"project.{A.project_id}", "deploy", person(), reason="never so")
    root = f"/home/user/{A.project_id}/sub"
    part = Project("sub-00000003", f"path:{root}", root, "sub")
    projects.split(db, root, part, LATER)

    def say(channel: Channel, scope: Scope, key: str) -> str:
        made = Proposal(f"project.{scope.project_id}", key, SAID, MemoryKind.SEMANTIC, Origin.ASSISTANT_SAID, "test")
        return gate.tell(db, made, gate.Writer(channel, "test", scope, LATER + 2000)).action

    assert say(Channel.AGENT, Scope(part.id), "x") == "refused"
    assert say(Channel.PERSON, Scope(part.id), "x") == "created"
    assert say(Channel.AGENT, Scope(part.id), "y") == "created"
    assert say(Channel.AGENT, A, "y") == "refused"


def test_what_is_pinned_before_it_is_approved_is_said_to_wait(db: store.Connection) -> None:
    add_memory(db, A, "deploy", SAID, channel=Channel.AGENT)
    where = (f"project.{A.project_id}", "deploy")
    assert "until it is approved" in gate.pin(db, *where, person(), pinned=True).reason
    gate.approve(db, *where, person())
    assert gate.pin(db, *where, person(), pinned=True).reason == ""
