"""What a person corrected stays corrected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recorder import gate
from recorder.config import Config
from recorder.errors import Conflict, GateRefused
from recorder.models import Channel, Evidence, MemoryKind, Origin, PromptClass, Proposal, Scope, State, Trust
from recorder.recall import rank
from recorder.store import memories
from recorder.store.db import Connection
from recorder.store.only import Only
from tests.makers import T0, event_of, project_folder, prompt, take

SAID = "We deploy with helm from the main branch"
OTHER = "We deploy with terraform from tags"


@pytest.fixture
def project(db: Connection, config: Config, own_home: Path) -> str:
    """A project with the same words typed at T0 and at T0 + 1000, events 1 and 2."""
    folder = str(project_folder(own_home))
    for n, at_ms in ((1, T0), (2, T0 + 1000)):
        said = event_of(prompt(SAID, session=f"s{n}", prompt_id=f"p{n}", cwd=folder), at_ms=at_ms)
        take(db, config, [said], now_ms=at_ms)
    db.execute("update events set class = ?", (PromptClass.TYPED.value,))
    found = next(iter(db.execute("select project_id from events where id = 1")))[0]
    assert isinstance(found, str)
    return found


def writer(project: str, channel: Channel = Channel.PERSON, now_ms: int = T0 + 10) -> gate.Writer:
    return gate.Writer(channel, "test", Scope(project), now_ms)


def given(project: str, value: str = SAID, *, event: int = 1, key: str = "decision.deploy", **more: object) -> Proposal:
    fields = {
        "namespace": f"project.{project}",
        "key": key,
        "value": value,
        "kind": MemoryKind.SEMANTIC,
        "origin": Origin.USER_SAID,
        "source": "test",
        "evidence": (Evidence(event, SAID),),
        "occurred_ms": T0 if event == 1 else T0 + 1000,
    }
    return Proposal(**(fields | more))


def recalled(db: Connection, project: str, *, now_ms: int = T0 + 5000, **when: int) -> dict[str, str | None]:
    asked: Any = {"k": 10, "vector": None, "vector_status": "off", "now_ms": now_ms, "only": Only(**when)}
    found = rank.recall(db, "deploy helm terraform", Scope(project), **asked)
    return {hit.text: hit.trust for hit in found.hits if hit.type == "memory"}


@pytest.mark.parametrize("channel", [Channel.OBSERVED, Channel.AGENT, Channel.API, Channel.IMPORT, Channel.CLAUDE_AUTO])
@pytest.mark.parametrize(
    "again",
    [
        SAID,
        SAID.upper(),
        f"  {SAID.replace(' ', '  ')}. ",
        SAID.replace("e", "е"),  # Cyrillic
        SAID.replace("h", "\u200bh"),
        f"\u202e{SAID}\u202c",
        f"Remember: {SAID}",
        f"Please remember that {SAID}!",
        SAID.replace("helm", "`helm`"),
    ],
)
def test_a_rejected_value_is_refused_in_every_form_from_every_channel_under_every_key(
    db: Connection, project: str, channel: Channel, again: str
) -> None:
    gate.propose(db, given(project), writer(project, Channel.OBSERVED))
    gate.reject(db, f"project.{project}", "decision.deploy", writer(project, now_ms=T0 + 20), reason="never so")
    for key in ("decision.deploy", "how.we.deploy"):
        outcome = gate.propose(db, given(project, again, key=key), writer(project, channel, T0 + 30))
        assert (outcome.action, outcome.reason.split(":")[0]) == ("refused", "tombstone")
    assert recalled(db, project) == {}


def test_another_value_takes_the_place_of_a_rejected_one_and_the_rejected_one_stays_out(
    db: Connection, project: str
) -> None:
    gate.propose(db, given(project), writer(project, Channel.OBSERVED))
    gate.reject(db, f"project.{project}", "decision.deploy", writer(project, now_ms=T0 + 20), reason="never so")
    other = given(project, OTHER, occurred_ms=T0 + 25)
    assert gate.propose(db, other, writer(project, Channel.AGENT, T0 + 30)).action == "superseded"
    assert recalled(db, project) == {OTHER: "candidate"}
    assert gate.propose(db, given(project), writer(project, Channel.OBSERVED, T0 + 40)).action == "refused"


def test_only_a_prompt_typed_after_the_rejection_brings_the_value_back(db: Connection, project: str) -> None:
    gate.propose(db, given(project), writer(project, Channel.OBSERVED))
    gate.reject(db, f"project.{project}", "decision.deploy", writer(project, now_ms=T0 + 20), reason="never so")
    before = given(project, explicit=True)
    assert gate.propose(db, before, writer(project, Channel.USER_SAID, T0 + 2000)).action == "refused"
    after = given(project, explicit=True, event=2)
    outcome = gate.propose(db, after, writer(project, Channel.USER_SAID, T0 + 2000))
    assert outcome.action == "superseded"
    assert recalled(db, project) == {SAID: "verified"}
    agent = gate.propose(db, given(project, key="note"), writer(project, Channel.AGENT, T0 + 3000))
    assert agent.action == "created"


def test_what_a_person_replaced_does_not_come_back_by_itself(db: Connection, project: str) -> None:
    gate.propose(db, given(project), writer(project, Channel.OBSERVED))
    gate.propose(db, given(project, OTHER, occurred_ms=T0 + 20), writer(project, now_ms=T0 + 20))
    again = gate.propose(db, given(project, key="other.key"), writer(project, Channel.AGENT, T0 + 30))
    assert (again.action, again.reason.split(":")[0]) == ("refused", "tombstone")
    assert gate.propose(db, given(project), writer(project, now_ms=T0 + 40)).action == "superseded"
    assert gate.propose(db, given(project, OTHER, key="x"), writer(project, Channel.AGENT, T0 + 50)).action == "refused"


def test_lifting_a_rejection_makes_the_value_a_candidate_again_with_its_evidence(db: Connection, project: str) -> None:
    gate.propose(db, given(project), writer(project))
    where = (f"project.{project}", "decision.deploy")
    gate.reject(db, *where, writer(project, now_ms=T0 + 20), reason="never so")
    assert gate.lift(db, *where, writer(project, now_ms=T0 + 30)).action == "lifted"
    assert recalled(db, project) == {SAID: "candidate"}
    found = memories.find(db, *where)
    assert found is not None and [quote for _, quote in memories.evidence(db, found.version_id)] == [SAID]


def test_what_was_drawn_from_a_rejected_memory_goes_and_comes_with_it(db: Connection, project: str) -> None:
    space = f"project.{project}"
    for key, value in (("decision.deploy", SAID), ("how.deploy", OTHER), ("note.deploy", "terraform needs a token")):
        gate.propose(db, given(project, value, key=key), writer(project))
    gate.link(db, (space, "how.deploy"), (space, "decision.deploy"), gate.DERIVED, writer(project))
    gate.link(db, (space, "note.deploy"), (space, "how.deploy"), gate.DERIVED, writer(project))
    gate.link(db, (space, "decision.deploy"), (space, "note.deploy"), gate.DERIVED, writer(project))
    assert gate.reject(db, space, "decision.deploy", writer(project, now_ms=T0 + 20), reason="no").also == 2
    assert recalled(db, project) == {}
    assert gate.lift(db, space, "decision.deploy", writer(project, now_ms=T0 + 30)).also == 2
    assert len(recalled(db, project)) == 3


def test_an_agents_link_hides_nothing_that_outranks_it(db: Connection, project: str) -> None:
    space, agent = f"project.{project}", writer(project, Channel.AGENT)
    gate.propose(db, given(project), writer(project))
    gate.propose(db, given(project, "terraform holds the state of helm", key="seen"), writer(project, Channel.OBSERVED))
    gate.propose(db, given(project, "helm is pinned by me", key="pinned"), agent)
    gate.pin(db, space, "pinned", writer(project), pinned=True)
    for key in ("bait", "own", "further"):
        gate.tell(db, given(project, f"The {key} of helm is here", key=key), agent)
    for key in ("decision.deploy", "seen", "pinned", "own"):
        gate.link(db, (space, key), (space, "bait"), gate.DERIVED, agent)
    gate.link(db, (space, "further"), (space, "decision.deploy"), gate.DERIVED, agent)
    told = gate.reject(db, space, "bait", writer(project, now_ms=T0 + 20), reason="a bait")
    assert (told.also, told.reason) == (1, f"1 drawn from it, hidden with it: {space}/own")
    standing = {SAID, "terraform holds the state of helm", "helm is pinned by me", "The further of helm is here"}
    assert set(recalled(db, project)) == standing
    gate.lift(db, space, "bait", writer(project, now_ms=T0 + 30))
    planned = gate.plan(db, space, "bait", writer(project, now_ms=T0 + 40))
    assert [one.key for one in planned.derived] == ["own"]


def test_a_persons_link_is_taken_away_by_a_person_alone(db: Connection, project: str) -> None:
    space, agent = f"project.{project}", writer(project, Channel.AGENT)
    for key in ("one", "two"):
        gate.propose(db, given(project, f"The {key} of helm is here", key=key), agent)
    ends = ((space, "one"), (space, "two"))
    made = gate.link(db, *ends, gate.DERIVED, agent)
    assert gate.link(db, *ends, gate.DERIVED, writer(project)) == made
    with pytest.raises(GateRefused, match="higher standing"):
        gate.unlink(db, made, agent)
    gate.unlink(db, made, writer(project))
    gate.unlink(db, gate.link(db, *ends, gate.DERIVED, agent), agent)


def test_recall_of_another_time_gives_what_held_or_was_believed_then(db: Connection, project: str) -> None:
    gate.propose(db, given(project), writer(project, Channel.OBSERVED, T0 + 10))
    gate.approve(db, f"project.{project}", "decision.deploy", writer(project, now_ms=T0 + 20))
    gate.propose(db, given(project, OTHER, occurred_ms=T0 + 100), writer(project, now_ms=T0 + 100))
    assert recalled(db, project) == {OTHER: "verified"}
    assert recalled(db, project, valid_at_ms=T0 + 50) == {SAID: "verified"}
    assert recalled(db, project, as_of_ms=T0 + 15) == {SAID: "candidate"}
    assert recalled(db, project, as_of_ms=T0 + 50) == {SAID: "verified"}
    assert recalled(db, project, as_of_ms=T0 + 5) == {}
    gate.reject(db, f"project.{project}", "decision.deploy", writer(project, now_ms=T0 + 200), reason="no")
    assert recalled(db, project) == {}
    assert recalled(db, project, as_of_ms=T0 + 150) == {OTHER: "verified"}
    assert recalled(db, project, valid_at_ms=T0 + 50) == {SAID: "verified"}


def test_a_deleted_memory_was_believed_before_it_was_deleted(db: Connection, project: str) -> None:
    gate.propose(db, given(project), writer(project))
    gate.delete(db, f"project.{project}", "decision.deploy", writer(project, now_ms=T0 + 100))
    assert recalled(db, project) == {}
    assert recalled(db, project, as_of_ms=T0 + 50) == {SAID: "verified"}
    assert recalled(db, project, as_of_ms=T0 + 150) == {}


def test_an_earlier_version_is_put_in_force_again_and_its_successor_stays_out(db: Connection, project: str) -> None:
    where = (f"project.{project}", "decision.deploy")
    gate.propose(db, given(project), writer(project))
    gate.propose(db, given(project, OTHER, occurred_ms=T0 + 20), writer(project, now_ms=T0 + 20))
    outcome = gate.revert(db, *where, writer(project, now_ms=T0 + 30), version=1)
    assert outcome.memory is not None and (outcome.memory.value, outcome.memory.version) == (SAID, 3)
    assert gate.propose(db, given(project, OTHER), writer(project, Channel.AGENT, T0 + 40)).action == "refused"
    assert [line["action"] for line in memories.history(db, outcome.memory.id)] == ["created", "superseded", "reverted"]


def test_code_from_before_states_hides_and_shows_by_the_date_alone(db: Connection, project: str) -> None:
    gate.propose(db, given(project), writer(project))
    where = (f"project.{project}", "decision.deploy")
    for value, state in ((T0 + 50, State.DELETED), (None, State.ACTIVE)):
        db.execute("update memories set deleted_ms = ?", (value,))
        found = memories.find(db, *where)
        assert found is not None and found.state is state


def test_a_person_may_approve_only_what_was_looked_at(db: Connection, project: str) -> None:
    gate.propose(db, given(project), writer(project, Channel.OBSERVED))
    where = (f"project.{project}", "decision.deploy")
    with pytest.raises(Conflict):
        gate.approve(db, *where, writer(project), expected_version=2)
    with pytest.raises(Conflict):
        gate.approve(db, *where, writer(project), expected_value=OTHER)
    assert gate.approve(db, *where, writer(project), expected_version=1, expected_value=SAID).action == "approved"
    found = memories.find(db, *where)
    assert found is not None and found.trust is Trust.VERIFIED


WORDED = "we-deploy_with.helm-from-the-main-branch"


def test_who_approves_or_restores_what_is_rejected_is_told_to_lift_that_first(db: Connection, project: str) -> None:
    gate.propose(db, given(project), writer(project))
    where = (f"project.{project}", "decision.deploy")
    gate.reject(db, *where, writer(project, now_ms=T0 + 20), reason="not so")
    for verb in (gate.approve, gate.restore):
        outcome = verb(db, *where, writer(project, now_ms=T0 + 30))
        assert (outcome.action, "lift that first" in outcome.reason) == ("unchanged", True)


AROUND = (
    "{slug}",
    "{slug2}",
    "We 'deploy' with \"helm\"",
    "We deploy, with helm",
    '["{said}", "{said}"]',
    "{said}\n{said}",
    "{said}. {said}.",
    '{{"rule": "{said}", "ok": true}}',
    "{said} \u2705",
    "{said} (verified)",
    "Answer: {said}",
    "The rule is: {said}",
)


@pytest.mark.parametrize("form", AROUND)
@pytest.mark.parametrize("turned", [False, True])
def test_what_says_nothing_around_a_rejected_value_does_not_make_it_another_one(
    db: Connection, project: str, form: str, turned: bool
) -> None:
    said = "We deploy with helm"
    slug = said.lower().replace(" ", "_")
    other = form.format(said=said, slug=slug, slug2=slug.replace("_", "-"))
    first, then = (other, said) if turned else (said, other)
    gate.propose(db, given(project, first), writer(project))
    gate.reject(db, f"project.{project}", "decision.deploy", writer(project, now_ms=T0 + 20), reason="not so")
    again = given(project, then, key="other.key")
    assert gate.propose(db, again, writer(project, Channel.AGENT, T0 + 30)).reason.startswith("tombstone")


@pytest.mark.parametrize(
    ("rejected", "said"),
    [
        ("use tabs in the code", "never use tabs in the code"),
        ("no, use tabs here please", "no use tabs here please"),
        ("the wanted version is 1.2", "the wanted version is 12"),
        ("run git-lfs pull origin main", "run git lfs pull origin main"),
        ('echo "a b c d" --flag x', "echo a b c d --flag x"),
        ('{"rule": "use the trunk branch", "ok": true}', '{"rule": "use the trunk branch", "ok": false}'),
        ("use the trunk branch", "use the trunk branch \u274c"),
        ("use the trunk branch", "use the trunk branch (deprecated)"),
        ("the ports are 80, 443", "the ports are 80 443"),
        ("it is in src/app_main.py", "it is in src/app-main.py"),
        ("[ ] write the migration docs", "[x] write the migration docs"),
        ("80 percent coverage is wanted", "> 80 percent coverage is wanted"),
        ("2**10 pages and 3**2 lines", "210 pages and 32 lines"),
        ("set the glob to **/*.py", "set the glob to /*.py"),
        ("deploy when the status \u2260 green", "deploy when the status = green"),
    ],
)
def test_what_says_something_else_is_not_refused_for_what_was_rejected(
    db: Connection, project: str, rejected: str, said: str
) -> None:
    gate.propose(db, given(project, rejected), writer(project))
    gate.reject(db, f"project.{project}", "decision.deploy", writer(project, now_ms=T0 + 20), reason="not so")
    outcome = gate.propose(db, given(project, said, key="other.key"), writer(project, Channel.AGENT, T0 + 30))
    assert outcome.action == "created", outcome.reason


@pytest.mark.parametrize("form", AROUND)
@pytest.mark.parametrize("turned", [False, True])
def test_what_says_the_rejected_value_in_other_signs_is_hidden_with_it_and_named(
    db: Connection, project: str, form: str, turned: bool
) -> None:
    said, space = "We deploy with helm", f"project.{project}"
    slug = said.lower().replace(" ", "_")
    other = form.format(said=said, slug=slug, slug2=slug.replace("_", "-"))
    first, then = (other, said) if turned else (said, other)
    gate.propose(db, given(project, first), writer(project))
    gate.propose(db, given(project, then, key="other.key"), writer(project, Channel.AGENT, T0 + 10))
    outcome = gate.reject(db, space, "decision.deploy", writer(project, now_ms=T0 + 20), reason="not so")
    assert "other.key" in outcome.reason
    gate.lift(db, space, "decision.deploy", writer(project, now_ms=T0 + 30), reason="so after all")
    there = memories.find(db, space, "other.key")
    assert there is not None and not there.deleted


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("my-great-python-lib", "my_great_python_lib"),
        ("grep foo file for hits", "grep 'foo' file for hits"),
        ("grep 'foo' file for hits", "grep foo file for hits"),
        ("We deploy, with helm", "We deploy with helm"),
        ("We deploy with helm", "We deploy with helm (verified)"),
    ],
)
def test_a_value_a_person_put_right_in_its_signs_stands_at_every_door_and_the_wrong_one_is_refused(
    db: Connection, project: str, wrong: str, right: str
) -> None:
    space, at = f"project.{project}", "decision.deploy"
    gate.propose(db, given(project, wrong), writer(project))
    gate.tell(db, given(project, right, evidence=()), writer(project, now_ms=T0 + 20))
    agent = writer(project, Channel.AGENT, T0 + 30)
    assert gate.tell(db, given(project, right, evidence=()), agent).action in ("corroborated", "unchanged")
    assert gate.tell(db, given(project, right, key="other.key", evidence=()), agent).action == "created"
    again = gate.tell(db, given(project, wrong, key="third.key", evidence=()), agent)
    assert again.reason.startswith("tombstone"), again
    gate.delete(db, space, at, writer(project, now_ms=T0 + 40))
    assert gate.restore(db, space, at, writer(project, now_ms=T0 + 50)).action == "restored"


@pytest.mark.parametrize("verb", ["reject", "forget"])
@pytest.mark.parametrize(
    "change",
    [
        {"namespace": "{space}.we_deploy_with_helm"},
        {"namespace": "{space}.we-deploy", "key": "with.helm"},
        {"tags": ("we deploy", "with helm")},
        {"key": "we.deploy", "value": "with helm"},
    ],
)
def test_a_namespace_tags_and_a_key_with_its_value_say_it_no_more_than_a_value_does(
    db: Connection, project: str, change: dict[str, str], verb: str
) -> None:
    space = f"project.{project}"
    gate.propose(db, given(project, "We deploy with helm"), writer(project))
    if verb == "reject":
        gate.reject(db, space, "decision.deploy", writer(project, now_ms=T0 + 20), reason="not so")
    else:
        gate.forget(db, space, "decision.deploy", writer(project, now_ms=T0 + 20))
    told = {name: one.format(space=space) if name == "namespace" else one for name, one in change.items()}
    said = given(project, **({"value": "it is so", "key": "some.key", "evidence": ()} | told))
    outcome = gate.tell(db, said, writer(project, Channel.AGENT, T0 + 30))
    assert outcome.reason.startswith("tombstone" if verb == "reject" else "forgotten"), outcome


@pytest.mark.parametrize(
    "change",
    [{"key": "decision.redis-streams"}, {"tags": ("redis-streams",)}, {"key": "queue.redis", "value": "streams"}],
)
def test_a_name_that_was_rejected_as_a_value_may_stand_in_what_is_filed_under_it(
    db: Connection, project: str, change: dict[str, str]
) -> None:
    gate.propose(db, given(project, "redis-streams", key="queue.backend"), writer(project))
    gate.reject(db, f"project.{project}", "queue.backend", writer(project, now_ms=T0 + 20), reason="not so")
    agent = writer(project, Channel.AGENT, T0 + 30)
    about = given(project, **({"value": "We dropped it for another", "key": "why", "evidence": ()} | change))
    assert gate.tell(db, about, agent).action == "created"
    again = gate.tell(db, given(project, "redis-streams", key="other.backend", evidence=()), agent)
    assert again.reason.startswith("tombstone")


@pytest.mark.parametrize(
    "change",
    [{"key": WORDED}, {"key": f"note.{WORDED}.2"}, {"tags": (SAID,)}, {"tags": ("one", WORDED)}],
    ids=["key", "part of a key", "tag", "joined tag"],
)
@pytest.mark.parametrize("gone", ["reject", "forget"])
def test_a_key_or_a_tag_does_not_say_what_a_value_may_not(
    db: Connection, project: str, gone: str, change: dict[str, object]
) -> None:
    gate.tell(db, given(project), writer(project, Channel.AGENT))
    where = (f"project.{project}", "decision.deploy")
    if gone == "reject":
        gate.reject(db, *where, writer(project, now_ms=T0 + 20), reason="never so")
    else:
        gate.forget(db, *where, writer(project, now_ms=T0 + 20))
    other = given(project, OTHER, **({"key": "free"} | change))
    outcome = gate.tell(db, other, writer(project, Channel.AGENT, T0 + 30))
    assert (outcome.action, outcome.reason.split(":")[0]) == (
        "refused",
        "tombstone" if gone == "reject" else "forgotten",
    )
    assert gate.tell(db, given(project, OTHER, key="free"), writer(project, Channel.AGENT, T0 + 40)).action == "created"
    assert gate.tell(db, other, writer(project, now_ms=T0 + 50)).action != "refused", "a person may"


def test_a_relation_or_a_reason_does_not_say_it_either(db: Connection, project: str) -> None:
    space, agent = f"project.{project}", writer(project, Channel.AGENT, T0 + 30)
    gate.propose(db, given(project), writer(project, Channel.OBSERVED))
    for key in ("one", "two"):
        gate.propose(db, given(project, f"terraform {key}", key=key), agent)
    gate.reject(db, space, "decision.deploy", writer(project, now_ms=T0 + 20), reason=f"no: {SAID}")
    for name in (SAID, WORDED):
        with pytest.raises(GateRefused) as refused:
            gate.link(db, (space, "one"), (space, "two"), name, agent)
        assert refused.value.reason == "tombstone"
    gate.delete(db, space, "one", agent, reason=f"Because, as we know, {SAID.lower()}!")
    gate.delete(db, space, "two", agent, reason="It is about terraform")
    rows = list(db.execute("select reason from memory_history where action = 'deleted' order by id"))
    assert rows == [("[left out]",), ("It is about terraform",)]


@pytest.mark.parametrize("key", ["Decision.deploy", "decision.deploy2", "x"])
def test_what_a_person_deleted_comes_back_under_no_other_key_by_itself(db: Connection, project: str, key: str) -> None:
    space = f"project.{project}"
    gate.propose(db, given(project), writer(project, Channel.OBSERVED))
    gate.delete(db, space, "decision.deploy", writer(project, now_ms=T0 + 20))
    for channel in (Channel.OBSERVED, Channel.AGENT, Channel.IMPORT, Channel.USER_SAID):
        again = given(project, SAID.upper(), key=key, namespace=f"{space}.x", occurred_ms=T0)
        outcome = gate.propose(db, again, writer(project, channel, T0 + 30))
        assert (outcome.action, outcome.reason.split(":")[0]) == ("refused", "deleted")
    gate.restore(db, space, "decision.deploy", writer(project, now_ms=T0 + 40))
    again = given(project, key=key, namespace=f"{space}.x")
    assert gate.propose(db, again, writer(project, Channel.OBSERVED, T0 + 50)).action == "created"
    gate.delete(db, space, "decision.deploy", writer(project, now_ms=T0 + 60))
    refused = gate.propose(db, again, writer(project, Channel.AGENT, T0 + 70))
    assert refused.action == "refused", "what says the same there was hidden with it"
    ruled = given(project, key="typed", explicit=True, occurred_ms=T0 + 80)
    assert gate.propose(db, ruled, writer(project, Channel.USER_SAID, T0 + 80)).action == "created"


def test_what_was_proposed_about_the_person_elsewhere_stays_as_it_is_and_unseen(db: Connection, project: str) -> None:
    def say(value: str, scope: str, now_ms: int) -> gate.Outcome:
        made = given(project, value, namespace="user", key="preference.deploy", evidence=(), occurred_ms=now_ms)
        return gate.tell(db, made, gate.Writer(Channel.AGENT, "agent", Scope(scope), now_ms), expected_version=None)

    elsewhere = "other-11111111"
    say(SAID, project, T0 + 10)
    told = say(OTHER, elsewhere, T0 + 20)
    assert (told.action, told.memory and told.memory.key) == ("created", "preference.deploy.2")
    assert "helm" not in told.reason
    assert say(f"{OTHER} only", elsewhere, T0 + 30).action == "superseded"
    assert recalled(db, project) == {SAID: "candidate"}
    assert recalled(db, elsewhere) == {f"{OTHER} only": "candidate"}


def test_what_held_before_a_rejection_and_a_revert_is_still_known(db: Connection, project: str) -> None:
    where = (f"project.{project}", "decision.deploy")
    gate.propose(db, given(project), writer(project))
    gate.propose(db, given(project, OTHER, occurred_ms=T0 + 100), writer(project, now_ms=T0 + 100))
    gate.propose(db, given(project, f"{OTHER} now", occurred_ms=T0 + 200), writer(project, now_ms=T0 + 200))
    gate.reject(db, *where, writer(project, now_ms=T0 + 300), reason="no")
    gate.revert(db, *where, writer(project, now_ms=T0 + 400), version=1)
    assert recalled(db, project) == {SAID: "verified"}
    for at_ms, held in ((T0 + 50, SAID), (T0 + 150, OTHER), (T0 + 450, SAID)):
        assert recalled(db, project, valid_at_ms=at_ms) == {held: "verified"}
    assert recalled(db, project, valid_at_ms=T0 + 350) == {}


def test_what_ends_before_it_begins_is_refused_with_both_dates(db: Connection, project: str) -> None:
    day_ms = 86_400_000
    odd = given(project, valid_from_ms=20_000 * day_ms, valid_to_ms=19_000 * day_ms)
    outcome = gate.propose(db, odd, writer(project))
    assert outcome.action == "refused"
    assert all(date in outcome.reason for date in ("2024-10-04", "2022-01-08"))


def test_a_person_may_spell_the_same_anew(db: Connection, project: str) -> None:
    gate.propose(db, given(project), writer(project, Channel.OBSERVED))
    spelled = SAID.replace("helm", "Helm") + "."
    assert gate.tell(db, given(project, spelled), writer(project, now_ms=T0 + 20)).action == "superseded"
    assert recalled(db, project) == {spelled: "verified"}


@pytest.mark.parametrize(
    "again", [SAID.upper(), SAID.replace("e", "е"), f"Remember: {SAID}", SAID.replace("h", "\u200bh")]
)
def test_a_rejection_reaches_what_says_the_same_under_another_key_and_takes_it_back(
    db: Connection, project: str, again: str
) -> None:
    space = f"project.{project}"
    gate.propose(db, given(project), writer(project))
    same = gate.tell(db, given(project, again, key="deploy.how"), writer(project, Channel.AGENT, T0 + 2)).memory
    drawn = gate.tell(
        db, given(project, "So terraform is not used", key="drawn"), writer(project, Channel.AGENT)
    ).memory
    assert same is not None and drawn is not None
    gate.link(db, (space, "drawn"), (space, "deploy.how"), gate.DERIVED, writer(project))
    told = gate.reject(db, space, "decision.deploy", writer(project, now_ms=T0 + 20), reason="no")
    assert told.reason == f"1 saying the same, hidden with it: {space}/deploy.how" and recalled(db, project) == {}
    assert gate.lift(db, space, "decision.deploy", writer(project, now_ms=T0 + 30)).also == 2
    assert set(recalled(db, project)) == {SAID, again, "So terraform is not used"}


def test_what_is_rejected_of_the_person_goes_in_every_project_and_what_of_a_project_there_alone(
    db: Connection, project: str
) -> None:
    gate.propose(db, given(project), writer(project))
    own = gate.tell(db, given(project, key="own", namespace="user"), writer(project, now_ms=T0 + 12)).memory
    assert own is not None and own.trust is Trust.VERIFIED
    gate.reject(db, f"project.{project}", "decision.deploy", writer(project, now_ms=T0 + 20), reason="not here")
    assert set(recalled(db, project)) == {SAID}, "the person says so of themselves, and that was not rejected"
    gate.lift(db, f"project.{project}", "decision.deploy", writer(project, now_ms=T0 + 30))
    gate.reject(db, "user", "own", writer(project, now_ms=T0 + 40), reason="nowhere")
    assert recalled(db, project) == {}
