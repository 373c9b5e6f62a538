from __future__ import annotations

from pathlib import Path

import pytest

from recorder import gate, review
from recorder.config import Config
from recorder.errors import Conflict, GateRefused, NotFound
from recorder.gate import queue
from recorder.lifecycle import export, imports, shape
from recorder.models import Channel, Evidence, MemoryKind, Origin, PromptClass, Proposal, Scope, Trust
from recorder.recall import rank
from recorder.store import audit, events, findings, memories
from recorder.store.db import Connection
from tests.makers import T0, bash, event_of, project_folder, prompt, take


def person(scope: Scope, now_ms: int = T0) -> gate.Writer:
    return gate.Writer(Channel.PERSON, "terminal", scope, now_ms)


def agent(scope: Scope, now_ms: int = T0) -> gate.Writer:
    return gate.Writer(Channel.AGENT, "task:s1", scope, now_ms)


@pytest.fixture
def project(db: Connection, config: Config, own_home: Path) -> str:
    """A project with one typed prompt in each of three sessions, events 1, 2 and 3, and a call in each: 4, 5 and 6."""
    folder = str(project_folder(own_home))
    for n in (1, 2, 3):
        said = event_of(prompt("Always run the tests with pytest -q", session=f"s{n}", prompt_id=f"p{n}", cwd=folder))
        take(db, config, [said], now_ms=T0 + n)
    for n in (1, 2, 3):
        ran = event_of(bash("pytest -q", "3 passed", session=f"s{n}", use=f"toolu_{n}", prompt_id=f"p{n}", cwd=folder))
        take(db, config, [ran], now_ms=T0 + n)
    db.execute("update events set class = ? where kind = 'prompt'", (PromptClass.TYPED.value,))
    found = events.get(db, [1])[0].project_id
    assert found is not None
    return found


def proposal(project: str, value: str = "Run the tests with pytest -q", **more: object) -> Proposal:
    fields = {
        "namespace": f"project.{project}",
        "key": "command.test",
        "kind": MemoryKind.PROCEDURAL,
        "origin": Origin.OBSERVED,
        "source": "distil:test@1",
        "evidence": (Evidence(1, "run the tests with pytest -q"),),
        "occurred_ms": T0,
    }
    return Proposal(value=value, **(fields | more))


def put(db: Connection, given: Proposal, channel: Channel, project: str, now_ms: int = T0) -> gate.Outcome:
    return gate.propose(db, given, gate.Writer(channel, "test", Scope(project), now_ms))


def current(db: Connection, project: str) -> tuple[str, Trust, int]:
    found = memories.find(db, f"project.{project}", "command.test")
    assert found is not None
    return found.value, found.trust, found.version


@pytest.mark.parametrize(
    ("channel", "explicit", "trust"),
    [
        (Channel.PERSON, False, Trust.VERIFIED),
        (Channel.USER_SAID, True, Trust.VERIFIED),
        (Channel.USER_SAID, False, Trust.CANDIDATE),
        (Channel.OBSERVED, False, Trust.CANDIDATE),
        (Channel.AGENT, True, Trust.CANDIDATE),
        (Channel.API, True, Trust.CANDIDATE),
        (Channel.IMPORT, True, Trust.CANDIDATE),
        (Channel.CLAUDE_AUTO, True, Trust.CANDIDATE),
    ],
)
def test_a_channel_gives_no_more_trust_than_its_ceiling(
    db: Connection, project: str, channel: Channel, explicit: bool, trust: Trust
) -> None:
    outcome = put(db, proposal(project, explicit=explicit), channel, project)
    assert (outcome.action, current(db, project)[1]) == ("created", trust)


def test_an_explicit_rule_that_came_through_a_program_stays_a_candidate(db: Connection, project: str) -> None:
    db.execute("update events set class = 'sdk'")
    put(db, proposal(project, explicit=True), Channel.USER_SAID, project)
    assert current(db, project)[1] is Trust.CANDIDATE


def test_typed_rules_are_candidates_where_the_person_wants_it_so(db: Connection, project: str) -> None:
    writer = gate.Writer(Channel.USER_SAID, "test", Scope(project), T0, typed_is_verified=False)
    gate.propose(db, proposal(project, explicit=True), writer)
    assert current(db, project)[1] is Trust.CANDIDATE


def test_what_was_observed_in_two_sessions_is_verified_and_the_past_stays_a_candidate(
    db: Connection, project: str
) -> None:
    put(db, proposal(project, evidence=(Evidence(4, "pytest -q"),)), Channel.OBSERVED, project)
    again = proposal(project, evidence=(Evidence(5, "pytest -q"),))
    assert put(db, again, Channel.OBSERVED, project, T0 + 5).action == "corroborated"
    value, trust, version = current(db, project)
    assert (trust, version) == (Trust.VERIFIED, 2)
    found = memories.find(db, f"project.{project}", "command.test")
    assert found is not None and found.sessions == 2
    assert [line["trust"] for line in memories.history(db, found.id)] == ["candidate", "verified"]


def test_what_an_agent_says_is_no_observation(db: Connection, project: str) -> None:
    gate.tell(db, proposal(project, evidence=()), agent(Scope(project)), session_id="s1")
    seen = proposal(project, evidence=(Evidence(5, "pytest -q"),))
    assert put(db, seen, Channel.OBSERVED, project, T0 + 5).action == "corroborated"
    assert current(db, project)[1] is Trust.CANDIDATE


def test_the_same_observation_twice_in_one_session_stays_a_candidate(db: Connection, project: str) -> None:
    put(db, proposal(project), Channel.OBSERVED, project)
    assert put(db, proposal(project), Channel.OBSERVED, project).action == "unchanged"
    assert current(db, project)[1:] == (Trust.CANDIDATE, 1)


@pytest.mark.parametrize(
    "same", ["run THE tests  with pytest -q.", "Ｒun the tests with pytest -q", "Run the te​sts with pytest -q"]
)
def test_a_value_that_differs_in_form_alone_is_the_same_value(db: Connection, project: str, same: str) -> None:
    put(db, proposal(project), Channel.OBSERVED, project)
    assert put(db, proposal(project, same), Channel.OBSERVED, project).action == "unchanged"


def test_a_lower_standing_changes_nothing_and_opens_one_finding(db: Connection, project: str) -> None:
    put(db, proposal(project), Channel.PERSON, project)
    for _ in range(3):
        outcome = put(db, proposal(project, "Run the tests with make"), Channel.AGENT, project, T0 + 9)
        assert outcome.action == "finding"
    assert current(db, project) == ("Run the tests with pytest -q", Trust.VERIFIED, 1)
    (finding,) = findings.listing(db, Scope(project))
    assert finding["proposal"]["value"] == "Run the tests with make"


def test_an_equal_standing_said_later_supersedes_and_overwrites_nothing(db: Connection, project: str) -> None:
    put(db, proposal(project), Channel.OBSERVED, project)
    later = proposal(project, "Run the tests with tox", occurred_ms=T0 + 10)
    assert put(db, later, Channel.OBSERVED, project, T0 + 10).action == "superseded"
    assert current(db, project) == ("Run the tests with tox", Trust.CANDIDATE, 2)
    rows = list(db.execute("select value, retired_ms, valid_to_ms from memory_versions order by version"))
    old = "Run the tests with pytest -q"
    assert rows == [(old, None, T0 + 10), (old, T0 + 10, None), ("Run the tests with tox", None, None)]


def test_what_was_said_earlier_does_not_supersede_what_was_said_later(db: Connection, project: str) -> None:
    put(db, proposal(project, occurred_ms=T0 + 10), Channel.OBSERVED, project, T0 + 20)
    earlier = proposal(project, "Run the tests with tox", occurred_ms=T0)
    assert put(db, earlier, Channel.OBSERVED, project, T0 + 30).action == "finding"


def test_a_turn_that_is_distilled_again_opens_no_finding_for_what_it_lost_before(db: Connection, project: str) -> None:
    first = proposal(project, occurred_ms=T0)
    put(db, first, Channel.OBSERVED, project, T0 + 20)
    later = proposal(project, "Run the tests with tox", evidence=(Evidence(5, "pytest -q"),), occurred_ms=T0 + 10)
    put(db, later, Channel.OBSERVED, project, T0 + 30)
    assert put(db, first, Channel.OBSERVED, project, T0 + 40).action == "unchanged"
    assert findings.listing(db, Scope(project)) == []
    assert current(db, project)[0] == "Run the tests with tox"


def test_what_was_said_while_the_clock_was_ahead_can_be_corrected_when_it_is_right(
    db: Connection, project: str
) -> None:
    month_ms = 30 * 86_400_000
    put(db, proposal(project, occurred_ms=T0 + month_ms), Channel.OBSERVED, project, T0 + month_ms)
    right = proposal(project, "Run the tests with tox", occurred_ms=T0)
    assert put(db, right, Channel.OBSERVED, project, T0).action == "superseded"


def test_a_sentence_sent_by_a_program_does_not_overrule_a_verified_one(db: Connection, project: str) -> None:
    put(db, proposal(project, explicit=True), Channel.USER_SAID, project)
    db.execute("update events set class = 'sdk'")
    later = proposal(project, "Run the tests with tox", explicit=True, occurred_ms=T0 + 10)
    assert put(db, later, Channel.USER_SAID, project).action == "finding"


def test_nothing_automatic_revives_what_was_deleted_and_a_person_can(db: Connection, project: str) -> None:
    put(db, proposal(project), Channel.OBSERVED, project)
    where = (f"project.{project}", "command.test")
    gate.delete(db, *where, person(Scope(project), T0 + 1), reason="wrong")
    for channel in (Channel.OBSERVED, Channel.USER_SAID, Channel.AGENT, Channel.IMPORT):
        outcome = put(db, proposal(project, occurred_ms=T0 + 99), channel, project, T0 + 99)
        assert (outcome.action, outcome.reason.split(":")[0]) == ("refused", "deleted")
    assert put(db, proposal(project), Channel.PERSON, project, T0 + 100).action == "superseded"
    found = memories.find(db, *where)
    assert found is not None and not found.deleted


def test_another_value_for_what_was_deleted_waits_for_a_person(db: Connection, project: str) -> None:
    put(db, proposal(project), Channel.OBSERVED, project)
    where = (f"project.{project}", "command.test")
    gate.delete(db, *where, person(Scope(project), T0 + 1), reason="wrong")
    other = proposal(project, "Run the tests with tox", occurred_ms=T0 + 99)
    assert put(db, other, Channel.OBSERVED, project, T0 + 99).action == "finding"
    found = memories.find(db, *where)
    assert found is not None and found.deleted
    assert [f["proposal"]["value"] for f in findings.listing(db, Scope(project))] == ["Run the tests with tox"]


def test_a_rule_typed_after_the_deletion_stands_and_one_typed_before_does_not(db: Connection, project: str) -> None:
    put(db, proposal(project, explicit=True), Channel.USER_SAID, project)
    where = (f"project.{project}", "command.test")
    gate.delete(db, *where, person(Scope(project), T0 + 50), reason="wrong")
    before = proposal(project, explicit=True, occurred_ms=T0 + 49)
    assert put(db, before, Channel.USER_SAID, project, T0 + 99).action == "refused"
    after = proposal(project, explicit=True, occurred_ms=T0 + 51)
    assert put(db, after, Channel.USER_SAID, project, T0 + 99).action == "superseded"


def test_an_agents_wish_to_delete_what_is_verified_waits_for_a_person(db: Connection, project: str) -> None:
    put(db, proposal(project), Channel.PERSON, project)
    where = (f"project.{project}", "command.test")
    outcome = gate.delete(db, *where, agent(Scope(project)), reason="old")
    assert outcome.action == "finding"
    found = memories.find(db, *where)
    assert found is not None and not found.deleted
    assert [finding["kind"] for finding in findings.listing(db, Scope(project))] == ["delete_proposal"]


def test_an_agent_deletes_and_restores_its_own_candidate_but_not_what_a_person_deleted(
    db: Connection, project: str
) -> None:
    put(db, proposal(project), Channel.AGENT, project)
    where = (f"project.{project}", "command.test")
    scope = Scope(project)
    assert gate.delete(db, *where, agent(scope)).action == "deleted"
    assert gate.restore(db, *where, agent(scope)).action == "restored"
    gate.delete(db, *where, person(scope))
    with pytest.raises(GateRefused, match="only a person"):
        gate.restore(db, *where, agent(scope))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"namespace": "project.other-11111111"}, "scope"),
        ({"namespace": "projects"}, "namespace"),
        ({"namespace": "project.*"}, "namespace"),
        ({"namespace": "user.%"}, "namespace"),
        ({"namespace": "claude.somebody"}, "scope"),
        ({"key": ""}, "key"),
        ({"key": "two\nlines"}, "key"),
        ({"value": "   "}, "empty"),
        ({"value": "x" * 9000}, "size"),
        ({"evidence": ()}, "evidence"),
        ({"evidence": (Evidence(999, "x"),)}, "evidence"),
        ({"evidence": (Evidence(1, "never said"),)}, "evidence"),
        ({"kind": MemoryKind.PREFERENCE, "origin": Origin.TOOL_OUTPUT}, "origin"),
        ({"kind": MemoryKind.PREFERENCE, "origin": Origin.FILE_CONTENT}, "origin"),
    ],
)
def test_what_may_not_be_written_is_refused_with_a_reason_and_audited_without_its_content(
    db: Connection, project: str, change: dict[str, object], reason: str
) -> None:
    given = proposal(project, **({"value": "the launch code is xyzzy"} | change))
    outcome = put(db, given, Channel.AGENT, project)
    assert (outcome.action, outcome.reason.split(":")[0]) == ("refused", reason)
    rows = list(db.execute("select action, reason, subject, detail_digest from audit"))
    assert [row[:2] for row in rows] == [("refused", reason)]
    assert "xyzzy" not in repr(rows)
    assert list(db.execute("select id from memories")) == []


def test_of_a_word_that_is_refused_nothing_stays_but_the_audit_row(db: Connection, project: str) -> None:
    before = events.count(db)
    given = proposal(project, "x" * 9000, evidence=())
    outcome = gate.tell(db, given, agent(Scope(project)), session_id="s9")
    assert (outcome.action, events.count(db)) == ("refused", before)
    assert list(db.execute("select id from sessions where id = 's9'")) == []
    assert [row[0] for row in db.execute("select reason from audit")] == ["size"]


def test_an_agents_word_about_the_person_is_seen_in_its_project_only_until_verified(
    db: Connection, project: str
) -> None:
    given = proposal(project, "The user likes tabs", namespace="user", key="preference.tabs", evidence=())
    gate.tell(db, given, agent(Scope(project)), session_id="s1")
    elsewhere = Scope("elsewhere-11111111")
    assert [m.key for m in memories.listing(db, Scope(project))] == ["preference.tabs"]
    assert memories.listing(db, elsewhere) == []
    with pytest.raises(NotFound):
        gate.approve(db, "user", "preference.tabs", person(elsewhere))
    gate.approve(db, "user", "preference.tabs", person(Scope(project), T0 + 1), reason="so it is")
    assert [m.key for m in memories.listing(db, elsewhere)] == ["preference.tabs"]


@pytest.mark.parametrize("channel", [Channel.AGENT, Channel.API, Channel.IMPORT])
def test_a_word_about_the_person_from_no_project_is_recalled_in_none_until_a_person_verifies_it(
    db: Connection, project: str, channel: Channel
) -> None:
    nowhere = gate.Writer(channel, "api:home", Scope(None), T0)
    given = proposal(project, "The user likes quiet fonts", namespace="user", key="d.pref", evidence=())
    assert [gate.tell(db, given, nowhere).action for _ in range(2)] == ["created", "unchanged"]
    assert [m.key for m in memories.listing(db, Scope(None))] == ["d.pref"]
    scopes = [Scope(project), Scope("elsewhere-11111111")]
    for scope in scopes:
        found = rank.recall(db, "quiet fonts", scope, k=5, vector=None, vector_status="off", now_ms=T0 + 5)
        assert [hit.text for hit in (*found.hits, *found.misses)] == []
        assert memories.listing(db, scope) == []

    _, file = export.sealed(db, project_id=None, now_ms=T0 + 5)
    imports.take(db, shape.read(file, "export"), skip=False, actor="test", now_ms=T0 + 6, by_person=True)
    here = Scope(project, undecided=True)
    (waits,) = queue.waiting(db, here, T0 + 5)
    verb = review.Decision("approve", "so it is")
    item = review.found(db, waits.id, here)
    review.decide(db, item, verb, gate.Writer(Channel.PERSON, "terminal", here, T0 + 9))
    assert [[m.key for m in memories.listing(db, scope)] for scope in scopes] == [["d.pref"]] * 2


def test_a_change_against_an_old_version_is_refused(db: Connection, project: str) -> None:
    put(db, proposal(project), Channel.PERSON, project)
    with pytest.raises(Conflict, match="version 1 now, not 7"):
        gate.delete(db, f"project.{project}", "command.test", person(Scope(project)), expected_version=7)


def test_outside_the_scope_a_memory_answers_like_one_that_does_not_exist(db: Connection, project: str) -> None:
    put(db, proposal(project), Channel.PERSON, project)
    other = Scope("other-11111111")
    texts = []
    for key in ("command.test", "command.none"):
        with pytest.raises(NotFound) as caught:
            gate.delete(db, f"project.{project}", key, person(other))
        texts.append(str(caught.value).replace(key, "KEY"))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("channel", list(Channel))
def test_outside_the_scope_nobody_writes_not_even_a_person(db: Connection, project: str, channel: Channel) -> None:
    put(db, proposal(project), Channel.PERSON, project)
    other = gate.Writer(channel, "test", Scope("other-11111111"), T0 + 10)
    for change in ({"value": "npm test"}, {"key": "command.new"}):
        outcome = gate.tell(db, proposal(project, **change), other)
        assert (outcome.action, outcome.reason.split(":")[0]) == ("refused", "scope")
    assert list(db.execute("select key, value from memories join memory_versions v on v.id = version_id")) == [
        ("command.test", current(db, project)[0])
    ]


def test_a_secret_in_a_value_is_redacted_before_it_is_stored(db: Connection, project: str, config: Config) -> None:
    secret = "gh" + "p_" + "Zq3" * 12
    given = proposal(project, f"deploy with {secret}", evidence=())
    gate.tell(db, given, agent(Scope(project)), session_id="s1")
    db.execute("pragma wal_checkpoint(truncate)").get
    assert secret.encode() not in config.db_path.read_bytes()
    assert current(db, project)[0].startswith("deploy with [redacted")


def test_the_audit_chain_passes_and_names_the_first_row_that_was_tampered_with(db: Connection, project: str) -> None:
    assert audit.verify(db).state == "unverified"
    for n in range(5):
        put(db, proposal(project, f"value {n}", occurred_ms=T0 + n), Channel.PERSON, project, T0 + n)
    assert audit.verify(db) == audit.Verdict("pass", 5)
    db.execute("drop trigger audit_no_update")
    db.execute("update audit set actor = 'somebody else' where id = 3")
    assert audit.verify(db) == audit.Verdict("fail", 2, 3)


GONE = {
    "the last row": "delete from audit where id = (select max(id) from audit)",
    "all but two rows": "delete from audit where id > 2",
    "every row": "delete from audit",
    "the last line of the history": "delete from memory_history where id = (select max(id) from memory_history)",
    "a line of the history": "delete from memory_history where id = 2",
    "every line of the history": "delete from memory_history",
    "a rejection": "delete from tombstones where id = 1",
    "every rejection": "delete from tombstones",
}


@pytest.mark.parametrize("what", GONE)
def test_what_is_taken_off_the_end_of_the_audit_or_out_of_what_it_is_about_is_missed(
    db: Connection, project: str, what: str
) -> None:
    for n in range(5):
        put(db, proposal(project, f"the value number {n}", occurred_ms=T0 + n), Channel.PERSON, project, T0 + n)
    assert audit.verify(db).state == "pass"
    for (trigger,) in list(db.execute("select name from sqlite_schema where type = 'trigger' and sql like '%raise%'")):
        db.execute(f"drop trigger {trigger}")
    db.execute(GONE[what])
    verdict = audit.verify(db)
    assert verdict.state == "fail" and verdict.missing.endswith("are gone")
    for n in range(9):
        put(db, proposal(project, f"the value number {n}", key="other.key"), Channel.PERSON, project, T0 + 9 + n)
    assert audit.verify(db).state == "fail" or "row" not in what, "and who writes on does not mend it"


@pytest.mark.parametrize("channel", [c for c in Channel if c is not Channel.PERSON])
def test_only_a_person_approves_pins_rejects_lifts_and_reverts(db: Connection, project: str, channel: Channel) -> None:
    put(db, proposal(project), Channel.AGENT, project)
    where = (f"project.{project}", "command.test")
    by = gate.Writer(channel, "x", Scope(project), T0)
    for verb, more in (
        (gate.approve, {}),
        (gate.pin, {"pinned": True}),
        (gate.reject, {"reason": "no"}),
        (gate.lift, {}),
        (gate.revert, {"version": 1}),
    ):
        with pytest.raises(GateRefused, match="only a person"):
            verb(db, *where, by, **more)
    assert current(db, project)[1:] == (Trust.CANDIDATE, 1)


def test_a_person_gives_the_same_words_other_tags_and_another_kind_and_the_evidence_stays(
    db: Connection, project: str
) -> None:
    first = put(db, proposal(project, tags=("one",)), Channel.AGENT, project).memory
    assert first is not None
    retold = proposal(project, tags=("two",), kind=MemoryKind.PREFERENCE)
    assert put(db, retold, Channel.AGENT, project, T0 + 1).action != "superseded"
    told = gate.tell(db, retold, person(Scope(project), T0 + 2))
    assert told.action == "superseded" and told.memory is not None
    assert (told.memory.tags, told.memory.kind, told.memory.value) == (("two",), MemoryKind.PREFERENCE, first.value)
    kept = {event.id for event, _ in memories.evidence(db, first.version_id)}
    assert kept and kept < {event.id for event, _ in memories.evidence(db, told.memory.version_id)}
    assert gate.tell(db, retold, person(Scope(project), T0 + 3)).action != "superseded"
