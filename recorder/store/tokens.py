"""Tokens of the HTTP service, by their digest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from recorder.store.db import Connection

_COLUMNS = "id, digest, rights, project_id, created_ms, revoked_ms"


class Rights(StrEnum):
    """What a token may do; each includes the ones before."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was minted; the token itself is nowhere."""

    id: int
    digest: str
    rights: str
    project_id: str | None
    created_ms: int
    revoked_ms: int | None

    @property
    def fingerprint(self) -> str:
        """What history and audit call its holder."""
        return self.digest[:8]


def add(db: Connection, digest: str, rights: str, project_id: str | None, now_ms: int) -> int:
    """Let the token with this digest in; its number."""
    db.execute(
        "insert into tokens (digest, rights, project_id, created_ms) values (?, ?, ?, ?)",
        (digest, rights, project_id, now_ms),
    )
    return db.last_insert_rowid()


def find(db: Connection, digest: str) -> Token | None:
    """The token with this digest, unless it was revoked."""
    for row in db.execute(f"select {_COLUMNS} from tokens where digest = ? and revoked_ms is null", (digest,)):
        return Token(*row)
    return None


def listing(db: Connection) -> list[Token]:
    """Every token that still opens something, the oldest first."""
    return [Token(*row) for row in db.execute(f"select {_COLUMNS} from tokens where revoked_ms is null order by id")]


def revoke(db: Connection, token_id: int, now_ms: int) -> bool:
    """Let the token open nothing from now on. False when it opened nothing before."""
    db.execute("update tokens set revoked_ms = ? where id = ? and revoked_ms is null", (now_ms, token_id))
    return bool(db.changes())


def carry(live: Connection, older: Connection) -> None:
    """Let the older database that takes the place of the live one know the tokens of that one alone: what was revoked
    since stays revoked. Runs inside the caller's transaction."""
    older.execute("delete from tokens")
    rows = live.execute(f"select {_COLUMNS} from tokens")
    older.executemany(f"insert into tokens ({_COLUMNS}) values (?, ?, ?, ?, ?, ?)", rows)
