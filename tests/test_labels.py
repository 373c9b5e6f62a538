"""What is said of a memory beside its words: changed by itself, kept in the history, and by nobody who may not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recorder import dates, gate
from recorder.errors import Conflict, GateRefused
from recorder.gate import queue
from recorder.models import Channel, Memory, MemoryKind, Origin, Precision, Proposal, Scope, Trust
from recorder.recall import rank
from recorder.review import Decision, decide
from recorder.store import audit, findings, memories
from recorder.store import db as store
from tests.memory_samples import NOW_MS, A, add_memory, opened

SPACE = f"project.{A.project_id}"
LATER = NOW_MS + 1_000


def writer(channel: Channel = Channel.PERSON, now_ms: int = LATER, scope: Scope = A) -> gate.Writer:
    return gate.Writer(channel, "terminal" if channel is Channel.PERSON else "task:s1", scope, now_ms)


@pytest.fixture
def db(own_home: Path) -> store.Connection:
    db = opened(own_home)
    add_memory(db, A, "fact.queue", "We queue jobs in SQLite", channel=Channel.AGENT, tags=("queue",))
    add_memory(db, A, "fact.port", "The shop listens on port 8080")
    return db


def at(db: store.Connection, key: str) -> Memory:
    found = memories.find(db, SPACE, key)
    assert found is not None
    return found


def label(db: store.Connection, key: str, given: gate.Labels, by: gate.Writer, version: int | None = None) -> str:
    return gate.label(db, SPACE, key, by, given, expected_version=version).action


def recalled(db: store.Connection, question: str, now_ms: int = LATER + 1) -> set[str]:
    found = rank.recall(db, question, A, k=10, vector=None, vector_status="not asked", now_ms=now_ms)
    return {hit.text for hit in found.hits if hit.type == "memory"}


def test_labels_change_and_the_words_their_trust_their_evidence_and_the_past_stay(db: store.Connection) -> None:
    before = at(db, "fact.queue")
    stood_on = memories.evidence(db, before.version_id)
    given = gate.Labels(kind=MemoryKind.PROCEDURAL, tags=("queue", "jobs", "queue"), importance=0.9)
    assert label(db, "fact.queue", given, writer(), before.version) == "labelled"
    now = at(db, "fact.queue")
    assert (now.kind, now.tags, now.importance, now.version) == (MemoryKind.PROCEDURAL, ("queue", "jobs"), 0.9, 2)
    assert (now.value, now.trust, now.source) == (before.value, Trust.CANDIDATE, before.source)
    assert memories.evidence(db, now.version_id) == stood_on != []
    then = memories.believed(db, now.id, as_of_ms=LATER - 1)
    assert then is not None and then.tags == ("queue",) and then.kind is MemoryKind.SEMANTIC
    line = memories.history(db, now.id)[-1]
    assert line["labels"] == "kind: semantic → procedural; tags: queue → queue, jobs; importance: 0.5 → 0.9"
    assert audit.verify(db).state == "pass"
    assert now.value in recalled(db, "queue jobs")
    assert label(db, "fact.queue", given, writer()) == "unchanged" and at(db, "fact.queue").version == 2


def test_a_date_is_set_unknown_and_open_again_by_itself(db: store.Connection) -> None:
    def dated(**given: tuple[int | None, Precision | None]) -> Memory:
        assert label(db, "fact.port", gate.Labels(**given), writer()) == "labelled"
        return at(db, "fact.port")

    ended = dated(valid_from=dates.parse("2020"), valid_to=dates.parse("2021-03"))
    assert (ended.valid_from_precision, ended.valid_to_precision) == (Precision.YEAR, Precision.MONTH)
    assert recalled(db, "shop port") == set()
    unknown = dated(valid_to=dates.parse("unknown"))
    assert (unknown.valid_to_ms, unknown.valid_to_precision) == (None, Precision.UNKNOWN)
    assert unknown.valid_from_ms == ended.valid_from_ms and recalled(db, "shop port") == set()
    reopened = dated(valid_to=dates.parse("open"), valid_from=dates.parse(""))
    assert (reopened.valid_to_precision, reopened.valid_from_ms, reopened.valid_from_precision) == (None, None, None)
    assert recalled(db, "shop port") == {reopened.value}
    expiring = dated(expires=(LATER + 5, None))
    assert recalled(db, "shop port", LATER + 4) == {expiring.value} and recalled(db, "shop port", LATER + 6) == set()
    assert dated(expires=(dates.expiry("never", LATER), None)).expires_ms is None


def test_the_same_words_said_again_with_other_tags_keep_the_dates_they_had(db: store.Connection) -> None:
    label(db, "fact.port", gate.Labels(valid_from=dates.parse("2020"), valid_to=dates.parse("2099-03")), writer())
    before = at(db, "fact.port")
    said = Proposal(
        before.namespace, before.key, before.value, before.kind, Origin.USER_SAID, "terminal", tags=("net",)
    )
    assert gate.tell(db, said, writer(now_ms=LATER + 1)).action == "superseded"
    now = at(db, "fact.port")
    assert now.tags == ("net",)
    assert (now.valid_from_ms, now.valid_to_ms) == (before.valid_from_ms, before.valid_to_ms) != (None, None)


def test_another_version_or_an_end_before_the_beginning_changes_nothing(db: store.Connection) -> None:
    with pytest.raises(Conflict):
        label(db, "fact.port", gate.Labels(tags=("x",)), writer(), 7)
    with pytest.raises(GateRefused, match="cannot end"):
        label(db, "fact.port", gate.Labels(valid_from=dates.parse("2022"), valid_to=dates.parse("2021")), writer())
    gate.reject(db, SPACE, "fact.port", writer(), reason="no")
    assert label(db, "fact.port", gate.Labels(tags=("x",)), writer()) == "unchanged"
    assert at(db, "fact.port").tags == ()


def test_who_is_outranked_asks_and_a_person_grants_it_or_not(db: store.Connection) -> None:
    agent = writer(Channel.AGENT)
    assert label(db, "fact.queue", gate.Labels(tags=("mine",)), agent) == "labelled"
    wish = gate.Labels(kind=MemoryKind.EPISODIC, tags=("net",), valid_to=dates.parse("2099"))
    for _ in range(2):
        assert label(db, "fact.port", wish, agent) == "finding"
    assert at(db, "fact.port").version == 1
    (found,) = findings.listing(db, A)
    item = queue.item(db, f"f{found['id']}")
    assert item is not None and item.kind == "label_proposal"
    assert item.reason == "kind: semantic → episodic; tags: none → net; until: open → 2099"
    with pytest.raises(GateRefused, match="keep_old"):
        decide(db, item, Decision("keep_both", "so"), writer())
    done = decide(db, item, Decision("keep_new", "it is right"), writer())
    assert done.reached is not None and done.reached.holds
    now = at(db, "fact.port")
    assert (now.kind, now.tags, now.valid_to_precision) == (MemoryKind.EPISODIC, ("net",), Precision.YEAR)
    assert now.trust is Trust.VERIFIED and findings.open_count(db) == 0
    assert label(db, "fact.port", gate.Labels(importance=0.1), agent) == "finding"
    item = queue.item(db, f"f{findings.listing(db, A)[0]['id']}")
    assert item is not None
    decide(db, item, Decision("keep_old", "no"), writer())
    assert at(db, "fact.port").importance == now.importance and findings.open_count(db) == 0


def test_a_tag_that_says_what_was_rejected_is_refused_and_a_secret_in_one_is_taken_out(db: store.Connection) -> None:
    gate.reject(db, SPACE, "fact.queue", writer(), reason="no")
    with pytest.raises(GateRefused, match="tag"):
        label(db, "fact.port", gate.Labels(tags=("we queue jobs in sqlite",)), writer(Channel.AGENT))
    secret = "AKIA" + "ABCDEFGH234567YZ"
    assert label(db, "fact.port", gate.Labels(tags=(secret,)), writer()) == "labelled"
    assert not any(secret in tag for tag in at(db, "fact.port").tags)


def test_a_version_with_other_labels_is_put_in_force_again_with_its_dates(db: store.Connection) -> None:
    label(db, "fact.port", gate.Labels(tags=("one",), valid_to=dates.parse("2099")), writer())
    label(db, "fact.port", gate.Labels(tags=("two",), valid_to=dates.parse("open")), writer(now_ms=LATER + 1))
    gate.revert(db, SPACE, "fact.port", writer(now_ms=LATER + 2), version=2)
    now = at(db, "fact.port")
    assert now.tags == ("one",) and now.valid_to_precision is Precision.YEAR


def test_forgetting_leaves_no_label_in_the_history_or_the_review(db: store.Connection) -> None:
    label(db, "fact.port", gate.Labels(tags=("zebra",)), writer())
    label(db, "fact.port", gate.Labels(tags=("quagga",)), writer(Channel.AGENT))
    gate.forget(db, SPACE, "fact.port", writer(now_ms=LATER + 3))
    held = "".join(
        str(row)
        for table in ("memory_history", "findings", "memory_versions", "audit")
        for row in db.execute(f"select * from {table}")
    )
    assert "zebra" not in held and "quagga" not in held


def test_the_history_says_what_became_of_the_labels_when_the_words_changed_too(db: store.Connection) -> None:
    began, ended = dates.parse("2030")[0], dates.parse("2031")[0]
    said, year = "The shop listens on 9090", Precision.YEAR
    words = Proposal(SPACE, "fact.port", said, MemoryKind.PROCEDURAL, Origin.USER_SAID, "terminal")
    given = replace(words, tags=("net",), valid_to_ms=ended, valid_to_precision=year)
    assert gate.tell(db, given, writer()).action == "superseded"
    later = replace(given, value="The shop listens on 9091", valid_from_ms=began, valid_from_precision=year)
    gate.tell(db, later, writer(now_ms=LATER + 1))
    gate.revert(db, SPACE, "fact.port", writer(now_ms=LATER + 2), version=1)
    lines = memories.history(db, at(db, "fact.port").id)
    told = [(line["value"], line["labels"]) for line in lines if "labels" in line]
    assert told[0] == (said, "kind: semantic → procedural; tags: none → net; until: open → 2031")
    assert told[1][0] == "The shop listens on 9091" and told[1][1].endswith(" → 2030")
    assert told[2][0] == "The shop listens on port 8080"
    assert "kind: procedural → semantic; tags: net → none" in told[2][1]
