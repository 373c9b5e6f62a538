"""What is never taken in again: known by keyed digests, kept in no other form."""

from __future__ import annotations

import json
from collections.abc import Sequence

from recorder.canonical import canonical, shape
from recorder.store import digests
from recorder.store.db import Connection

PURPOSE = "deny"


def deny(db: Connection, what: str, texts: Sequence[str], *, actor: str, reason: str | None, now_ms: int) -> None:
    """Never take these in again. `what`: event (by its key), record (by its uuid), value."""
    db.executemany(
        "insert into deny_rules (what, digest, created_ms, actor, reason) values (?, ?, ?, ?, ?)"
        " on conflict do nothing",
        [(what, digests.of(db, PURPOSE, f"{what}:{text}", now_ms), now_ms, actor, reason) for text in texts],
    )


def deny_value(db: Connection, value: str, *, actor: str, reason: str | None, now_ms: int) -> None:
    """Never take the value in again, in whatever form."""
    deny(db, "value", sorted({canonical(value), shape(value)}), actor=actor, reason=reason, now_ms=now_ms)


def any_at_all(db: Connection) -> bool:
    """Whether there is any rule: most stores have none."""
    return bool(list(db.execute("select 1 from deny_rules limit 1")))


def denied(db: Connection, what: str, texts: Sequence[str]) -> set[str]:
    """Those of the texts that are never to be taken in."""
    by_digest = digests.under_every_key(db, PURPOSE, [f"{what}:{text}" for text in texts])
    rows = db.execute(
        "select d.digest from json_each(?) j join deny_rules d on d.what = ? and d.digest = j.value",
        (json.dumps(list(by_digest)), what),
    )
    return {by_digest[digest].removeprefix(f"{what}:") for (digest,) in rows}


def of_value(db: Connection, value: str) -> list[int]:
    """When the value was forgotten, for each rule that says so."""
    forms = [f"value:{form}" for form in {canonical(value), shape(value)}]
    rows = db.execute(
        "select created_ms from deny_rules where what = 'value' and digest in (select value from json_each(?))",
        (json.dumps(list(digests.under_every_key(db, PURPOSE, forms))),),
    )
    return [row[0] for row in rows]


def lift_value(db: Connection, value: str) -> None:
    """Let the value come again."""
    forms = [f"value:{form}" for form in {canonical(value), shape(value)}]
    db.execute(
        "delete from deny_rules where what = 'value' and digest in (select value from json_each(?))",
        (json.dumps(list(digests.under_every_key(db, PURPOSE, forms))),),
    )
