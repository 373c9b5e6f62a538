"""The date of a memory is when it was said, whatever is done with it later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from recorder import gate
from recorder.models import Channel, MemoryKind, Origin, Proposal, Scope, Trust
from recorder.recall import rank
from recorder.store import memories
from recorder.store.db import Connection
from recorder.store.only import Only

SAID_MS = 1_758_000_000_000
DAY_MS = 86_400_000
LATER_MS = SAID_MS + 400 * DAY_MS
KEY = "preference.tea"


def writer(channel: Channel = Channel.PERSON, now_ms: int = LATER_MS) -> gate.Writer:
    return gate.Writer(channel, "test", Scope(None), now_ms)


def tell(db: Connection, value: str, now_ms: int, channel: Channel = Channel.API) -> None:
    said = Proposal("user", KEY, value, MemoryKind.PREFERENCE, Origin.ASSISTANT_SAID, "test", explicit=True)
    assert gate.tell(db, said, writer(channel, now_ms)).action in ("created", "superseded")


def approve(db: Connection) -> gate.Outcome:
    return gate.approve(db, "user", KEY, writer(), reason="so it is")


def label(db: Connection) -> gate.Outcome:
    return gate.label(db, "user", KEY, writer(), gate.Labels(tags=("drinks",)))


def restore(db: Connection) -> gate.Outcome:
    gate.delete(db, "user", KEY, writer())
    return gate.restore(db, "user", KEY, writer())


def lift(db: Connection) -> gate.Outcome:
    gate.reject(db, "user", KEY, writer(), reason="it is not so")
    return gate.lift(db, "user", KEY, writer())


def revert(db: Connection) -> gate.Outcome:
    tell(db, "I drink mate", LATER_MS - DAY_MS, Channel.PERSON)
    return gate.revert(db, "user", KEY, writer(), version=1)


@pytest.mark.parametrize("done", [approve, label, restore, lift, revert])
def test_a_decision_about_a_memory_does_not_move_the_date_it_was_said_at(
    db: Connection, done: Callable[[Connection], gate.Outcome]
) -> None:
    tell(db, "I drink tea", SAID_MS)
    assert done(db).memory is not None
    asked: dict[str, Any] = {"k": 10, "vector": None, "vector_status": "off", "now_ms": LATER_MS + 1}
    then = rank.recall(db, "", Scope(None), only=Only(until_ms=SAID_MS + DAY_MS), **asked).hits
    since = rank.recall(db, "", Scope(None), only=Only(since_ms=SAID_MS + DAY_MS), **asked).hits
    assert [(hit.text, hit.occurred_ms) for hit in then if hit.type == "memory"] == [("I drink tea", SAID_MS)]
    assert [hit for hit in since if hit.type == "memory"] == []


def test_words_put_in_force_again_hold_from_then_on_and_keep_the_date_they_were_said_at(db: Connection) -> None:
    tell(db, "I drink tea", SAID_MS)
    assert revert(db).action == "reverted"
    memory = memories.find(db, "user", KEY)
    assert memory is not None and memory.trust is Trust.VERIFIED
    assert memory.valid_from_ms == LATER_MS, "not while the other words held"


def test_a_finding_taken_over_keeps_the_date_its_words_were_said_at(db: Connection) -> None:
    tell(db, "I drink mate", SAID_MS - DAY_MS, Channel.PERSON)
    said = Proposal("user", KEY, "I drink tea", MemoryKind.PREFERENCE, Origin.ASSISTANT_SAID, "test", explicit=True)
    found = gate.tell(db, said, writer(Channel.API, SAID_MS))
    assert found.action == "finding"
    number = next(iter(db.execute("select id from findings where state = 'open'")))[0]
    gate.settle(db, number, "keep_new", writer(), reason="so it is by now")
    memory = memories.find(db, "user", KEY)
    assert memory is not None and memory.value == "I drink tea" and memory.valid_from_ms == LATER_MS
    assert memories.occurred_ms(db, memory.version_id) == SAID_MS
