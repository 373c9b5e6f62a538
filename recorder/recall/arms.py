"""The arms of recall, asked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from recorder.models import Scope
from recorder.store import db as store
from recorder.store import search, vectors
from recorder.store.db import Connection
from recorder.store.only import Only
from recorder.store.search import Found

logger = logging.getLogger(__name__)

MOST: Mapping[str, int] = {"words": 60, "trigram": 40, "vector": 24}
"""Rows asked of each arm and type."""
MANY_BLOCKS = 32
"""With so many blocks of vectors in the scope (130,000 rows) the words are asked for in a thread of their own: that
takes a connection, 1 ms, and saves the shorter of the two."""
PARTIAL = "partial: a name of the question stands in too many rows, the newest of them were looked at"

Arm = Callable[[Connection], list[Found]]


def ask(
    db: Connection,
    question: str,
    scope: Scope,
    vector: bytes | None,
    now_ms: int,
    only: Only,
    *,
    many_blocks: int = MANY_BLOCKS,
) -> tuple[dict[str, list[Found]], dict[str, str]]:
    """What each arm found, and what became of it; the vectors are not asked without a vector of the question."""
    arms: dict[str, Arm] = {
        "words": lambda at: search.words(at, scope, question, MOST["words"], now_ms=now_ms, only=only),
        "trigram": lambda at: search.trigram(at, scope, question, MOST["trigram"], now_ms=now_ms, only=only),
    }
    if vector is not None:
        asked = vector
        arms["vector"] = lambda at: search.vector(at, scope, asked, MOST["vector"], now_ms=now_ms, only=only)
    found: dict[str, list[Found]] = {}
    status: dict[str, str] = {}
    with ExitStack() as stack:
        beside: dict[str, Future[list[Found]]] = {}
        # SQLite gives the interpreter's lock away while it searches, so that the vectors' bits are added up meanwhile.
        if vector is not None and _has_much(db, scope, many_blocks):
            threads = stack.enter_context(ThreadPoolExecutor(max_workers=1))
            beside["words"] = threads.submit(_apart, Path(db.filename), arms["words"])
        stack.enter_context(store.snapshot(db))
        for name in sorted(arms, key=lambda name: name in beside):
            try:
                found[name] = beside[name].result() if name in beside else arms[name](db)
                status[name] = "ok" if not isinstance(found[name], search.Partial) else PARTIAL
            except Exception as error:  # an arm may fail for reasons of its own; the others answer, and it is said
                logger.warning("arm %s failed: %s", name, type(error).__name__)
                status[name] = f"unavailable: {type(error).__name__}"
    return {name: found[name] for name in arms if name in found}, {name: status[name] for name in arms}


def _has_much(db: Connection, scope: Scope, many_blocks: int) -> bool:
    """Whether a second connection is worth its while, and sees what this one does."""
    return bool(db.filename) and not db.in_transaction and vectors.blocks(db, scope) >= many_blocks


def _apart(path: Path, arm: Arm) -> list[Found]:
    db = store.connect_readonly(path)
    try:
        return arm(db)
    finally:
        db.close()
