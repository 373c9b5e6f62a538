"""What is never taken in again: known by keyed digests, kept in no other form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from recorder.canonical import canonical, shape
from recorder.models import Event, EventKind, PromptClass, StoredEvent
from recorder.store import digests, retold
from recorder.store.db import Connection

PURPOSE = "deny"
LONGEST_VALUE = 8_000
CLOCKS_DIFFER_MS = 60_000
"""How far ahead a time may lie that is believed."""


def deny(db: Connection, what: str, texts: Sequence[str], *, actor: str, reason: str | None, now_ms: int) -> None:
    """Never take these in again. `what`: event (by its key), record (by its uuid), value."""
    db.executemany(
        "insert into deny_rules (what, digest, created_ms, actor, reason) values (?, ?, ?, ?, ?)"
        " on conflict do nothing",
        [(what, digests.of(db, PURPOSE, f"{what}:{text}", now_ms), now_ms, actor, reason) for text in texts],
    )


def deny_value(db: Connection, value: str, *, actor: str, reason: str | None, now_ms: int) -> None:
    """Never take the value in again, in whatever form, alone or inside another text."""
    deny(db, "value", sorted({canonical(value), shape(value)}), actor=actor, reason=reason, now_ms=now_ms)
    if not retold.is_telling(value):
        return
    key_id, secret = digests.newest(db, PURPOSE, now_ms)
    db.executemany(
        "insert into deny_rules (what, digest, created_ms, actor, reason) values (?, ?, ?, ?, ?)"
        " on conflict do nothing",
        [(what, f"{key_id}:{digest}", now_ms, actor, reason) for what, digest in retold.spelled(secret, value)],
    )


def any_at_all(db: Connection) -> bool:
    """Whether there is any rule: most stores have none."""
    return bool(list(db.execute("select 1 from deny_rules limit 1")))


def denied(db: Connection, what: str, texts: Sequence[str]) -> set[str]:
    """Those of the texts that are never to be taken in."""
    by_digest = digests.under_every_key(db, PURPOSE, [f"{what}:{text}" for text in texts])
    rows = db.execute(
        # A cross join keeps the order: left alone, SQLite goes through every rule and for each through the list.
        "select d.digest from json_each(?) j cross join deny_rules d on d.what = ? and d.digest = j.value",
        (json.dumps(list(by_digest)), what),
    )
    return {by_digest[digest].removeprefix(f"{what}:") for (digest,) in rows}


def names(event: Event | StoredEvent) -> tuple[str, ...]:
    """What an event is known by: its key, and what a copy of it in another session has in common with it."""
    bare = event.key.replace(f":{event.session_id}:", "::", 1)
    if event.key.startswith("t:"):
        # An id alone is not enough to tell a call by (see `ingest`): what it was called with must be the same.
        given = json.dumps(event.body.get("input"), sort_keys=True)
        return (event.key, f"{bare}:{given}") if "input" in event.body else (event.key,)
    if event.key.startswith("p:"):
        return (event.key, f"{bare}:{event.body['text']}") if "text" in event.body else (event.key,)
    return (event.key, bare) if event.key.startswith(("a:", "l:", "q:")) else (event.key,)


def forgotten(db: Connection, batch: Sequence[Event], now_ms: int | None = None) -> set[str]:
    """The keys of those events that are never to be taken in: the event itself was forgotten, or the record it is
    read from, or all it says is a value that was. What a person types after that is something new."""
    if not batch or not any_at_all(db):
        return set()
    known = denied(db, "event", [name for event in batch for name in names(event)])
    records = denied(db, "record", [event.uuid for event in batch if event.uuid is not None])
    forms = {event.key: _forms(event) for event in batch}
    values = denied(db, "value", [form for of_event in forms.values() for form in of_event])
    return {
        event.key
        for event in batch
        if event.uuid in records
        or not known.isdisjoint(names(event))
        or (
            not values.isdisjoint(forms[event.key])
            and not _typed_since(event, _exactly(db, str(event.body["text"])), now_ms)
        )
    }


def blanked(db: Connection, batch: Sequence[Event], now_ms: int | None = None) -> dict[str, Event]:
    """Key → the event with `[forgotten]` for what was forgotten, of those that hold it among other words. What a person
    types after that is something new."""
    sought = retold.standing(db)
    if sought is None:
        return {}
    found = {}
    for event in batch:
        # Nobody types the branch with a prompt.
        branch = None if event.branch is not None and sought.in_text(event.branch) else event.branch
        times = sought.since("\n".join(retold.strings(event.body)))
        if times and not _typed_since(event, times, now_ms):
            found[event.key] = replace(event, body=sought.blanked(event.body), branch=branch)
        elif branch != event.branch:
            found[event.key] = replace(event, branch=branch)
    return found


def holds(sought: retold.Retold, event: StoredEvent) -> bool:
    """Whether a stored event holds what was forgotten, and is not what a person typed since."""
    texts = (*retold.strings(event.body), event.text)
    times = [at_ms for text in texts for at_ms in sought.since(text)]
    return bool(times) and not _typed_since(event, times, None)


def _typed_since(event: Event | StoredEvent, times: Sequence[int], now_ms: int | None) -> bool:
    """Whether a person typed it after these times. Nobody has typed what is yet to come."""
    typed = event.kind is EventKind.PROMPT and event.klass in (None, PromptClass.TYPED)
    known = now_ms is None or event.at_ms <= now_ms + CLOCKS_DIFFER_MS
    return typed and known and all(event.at_ms > at_ms for at_ms in times)


def _forms(event: Event) -> set[str]:
    said = event.body.get("text")
    if not isinstance(said, str) or not said.strip() or len(said) > LONGEST_VALUE:
        return set()
    return {canonical(said), shape(said)}


def of_value(db: Connection, value: str) -> list[int]:
    """When the value, or what it holds, was forgotten, for each rule that says so."""
    sought = retold.standing(db)
    return [*_exactly(db, value), *(sought.since(value) if sought is not None else ())]


def _exactly(db: Connection, value: str) -> list[int]:
    if not digests.any_key(db, PURPOSE):
        return []
    forms = [f"value:{form}" for form in {canonical(value), shape(value)}]
    rows = db.execute(
        "select created_ms from deny_rules where what = 'value' and digest in (select value from json_each(?))",
        (json.dumps(list(digests.under_every_key(db, PURPOSE, forms))),),
    )
    return [row[0] for row in rows]


def lift_value(db: Connection, value: str) -> None:
    """Let the value come again, and what it holds."""
    forms = [f"value:{form}" for form in {canonical(value), shape(value)}]
    sought = retold.standing(db)
    inside = [value[start:end] for start, end, _ in sought.spans(value)] if sought is not None else []
    forms += [f"value:{form}" for one in inside for form in {canonical(one), shape(one)}]
    gone = list(digests.under_every_key(db, PURPOSE, forms))
    gone += [
        f"{key_id}:{digest}"
        for key_id, secret in digests.every(db, PURPOSE)
        for one in (value, *inside)
        for _, digest in retold.spelled(secret, one)
    ]
    db.execute("delete from deny_rules where digest in (select value from json_each(?))", (json.dumps(gone),))
