"""What a person decided for good: rejections and what is never taken in again, read and written with their keys."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Literal

from pydantic import Field

from recorder.models import Channel
from recorder.store import denials, tombstones
from recorder.store.db import Connection
from recorder.store.dump import id_at
from recorder.store.entries import Address, Ms, Short, Words

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}:[0-9a-f]{64}$")]
"""`<name of the key>:<hex>`."""


@dataclass(frozen=True, slots=True)
class Key:
    """What digests are made with. Its name is the start of its own SHA-256."""

    purpose: Literal["tombstone", "deny"]
    secret: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{43}=$")]
    created_ms: Ms

    @property
    def name(self) -> str:
        return name_of(base64.b64decode(self.secret))


@dataclass(frozen=True, slots=True)
class Rejection:
    """A tombstone."""

    scope: Short
    key_digest: Digest
    value_digest: Digest
    shape_digest: Digest
    cause: Short
    memory: Address | None
    created_ms: Ms
    actor: Short
    channel: Channel
    reason: Words | None
    lifted_ms: Ms | None
    lifted_by: Short | None
    words_digest: Digest | None = None


@dataclass(frozen=True, slots=True)
class Denial:
    """A deny rule."""

    what: Annotated[str, Field(pattern=r"^(event|record|value|words:[0-9]{1,5}:[0-9]{1,5}:[0-9]{1,4})$")]
    digest: Digest
    created_ms: Ms
    actor: Short
    reason: Words | None


def name_of(secret: bytes) -> str:
    """What a key is called where its number says nothing."""
    return sha256(secret).hexdigest()[:16]


def keys(db: Connection) -> list[Key]:
    """The keys of everything that was rejected or forgotten, the oldest first."""
    rows = db.execute(
        "select purpose, secret, created_ms from keys where purpose in (?, ?) order by created_ms, secret",
        (tombstones.PURPOSE, denials.PURPOSE),
    )
    return [Key(purpose, base64.b64encode(secret).decode(), created_ms) for purpose, secret, created_ms in rows]


def rejections(db: Connection, scope: str | None = None) -> list[Rejection]:
    """Every tombstone, or those of one scope; lifted ones included."""
    names = _names(db)
    rows = db.execute(
        "select t.scope, t.key_digest, t.value_digest, t.shape_digest, t.cause, m.namespace, m.key, t.created_ms,"
        " t.actor, t.channel, t.reason, t.lifted_ms, t.lifted_by, t.words_digest from tombstones t"
        " left join memories m on m.id = t.memory_id and m.state <> 'forgotten'"
        " where ?1 is null or t.scope = ?1 order by t.created_ms, t.id",
        (scope,),
    )
    return [
        Rejection(
            scope=row[0],
            key_digest=_spelled(row[1], names),
            value_digest=_spelled(row[2], names),
            shape_digest=_spelled(row[3], names),
            cause=row[4],
            memory=Address(row[5], row[6]) if row[5] else None,
            created_ms=row[7],
            actor=row[8],
            channel=Channel(row[9]),
            reason=row[10],
            lifted_ms=row[11],
            lifted_by=row[12],
            words_digest=_spelled(row[13], names) if row[13] else None,
        )
        for row in rows
    ]


def denials_made(db: Connection) -> list[Denial]:
    """Every deny rule."""
    names = _names(db)
    rows = db.execute("select what, digest, created_ms, actor, reason from deny_rules order by created_ms, id")
    return [Denial(what, _spelled(digest, names), at_ms, actor, why) for what, digest, at_ms, actor, why in rows]


def add_keys(db: Connection, found: list[Key]) -> dict[str, int]:
    """Name → the key's number in this store, where it is made when it is missing."""
    numbers = {}
    for key in found:
        try:
            secret = base64.b64decode(key.secret, validate=True)
        except binascii.Error:  # the shape was looked at before; a wrong last letter is no key of ours
            continue
        rows = list(db.execute("select id from keys where purpose = ? and secret = ?", (key.purpose, secret)))
        if not rows:
            # Below the newest: that one goes on being what new digests are made with.
            db.execute(
                "insert into keys (id, purpose, secret, created_ms) values"
                " ((select coalesce(min(id), 1) - 1 from keys), ?, ?, ?)",
                (key.purpose, secret, key.created_ms),
            )
        numbers[key.name] = rows[0][0] if rows else db.last_insert_rowid()
    return numbers


def add_rejections(db: Connection, found: list[Rejection], numbers: dict[str, int]) -> int:
    """Store tombstones that are missing, and lift those that were lifted; how many changed anything."""
    changed = 0
    for one in found:
        digests = [_numbered(text, numbers) for text in (one.key_digest, one.value_digest, one.shape_digest)]
        if None in digests:
            continue
        words = _numbered(one.words_digest, numbers) if one.words_digest else None
        there = list(
            db.execute(
                "select id, lifted_ms from tombstones where scope = ? and key_digest = ? and value_digest = ?"
                " and created_ms = ?",
                (one.scope, *digests[:2], one.created_ms),
            )
        )
        if not there:
            memory_id = id_at(db, one.memory.namespace, one.memory.key) if one.memory else None
            db.execute(
                "insert into tombstones (scope, key_digest, value_digest, shape_digest, words_digest, cause, memory_id,"
                " created_ms, actor, channel, reason, lifted_ms, lifted_by)"
                " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(one.scope, *digests, words, one.cause, memory_id, one.created_ms),
                    *(one.actor, one.channel.value, one.reason, one.lifted_ms, one.lifted_by),
                ),
            )
            changed += 1
        elif one.lifted_ms is not None and there[0][1] is None:
            db.execute(
                "update tombstones set lifted_ms = ?, lifted_by = ? where id = ?",
                (one.lifted_ms, one.lifted_by, there[0][0]),
            )
            changed += 1
    return changed


def add_denials(db: Connection, found: list[Denial], numbers: dict[str, int]) -> int:
    """Store deny rules that are missing; how many were."""
    added = 0
    for one in found:
        digest = _numbered(one.digest, numbers)
        if digest is not None:
            db.execute(
                "insert into deny_rules (what, digest, created_ms, actor, reason) values (?, ?, ?, ?, ?)"
                " on conflict do nothing",
                (one.what, digest, one.created_ms, one.actor, one.reason),
            )
            added += db.changes()
    return added


def _names(db: Connection) -> dict[str, str]:
    return {str(number): name_of(secret) for number, secret in db.execute("select id, secret from keys")}


def _spelled(digest: str, names: dict[str, str]) -> str:
    number, _, rest = digest.partition(":")
    return f"{names[number]}:{rest}"


def _numbered(digest: str, numbers: dict[str, int]) -> str | None:
    name, _, rest = digest.partition(":")
    return f"{numbers[name]}:{rest}" if name in numbers else None
