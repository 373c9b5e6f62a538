"""A gated write beside a bare insert of the same memory and its history, each in a transaction of its own.

usage: python benchmarks/gate.py [--writes N] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from recorder import gate
from recorder.capture import ingest, wire
from recorder.config import Config
from recorder.models import Channel, Evidence, MemoryKind, Origin, Proposal, Scope
from recorder.store import indexes
from recorder.store.db import Connection, connect, transaction

NOW_MS = 1_790_000_000_000
WORDS = "use the parser with care because tests run against a real database and never against a copy of it".split()
EVENTS = 2_000


def filled(home: Path, rng: random.Random) -> tuple[Connection, Scope, list[str]]:
    """A store with events to cite: event n + 1 holds the n-th of the words said."""
    folder = home / "project"
    (folder / ".git").mkdir(parents=True)
    said = [" ".join(rng.choices(WORDS, k=20)) + f" {n}" for n in range(EVENTS)]
    given = [
        {"session_id": f"s{n // 200}", "cwd": str(folder), "prompt_id": f"p{n}", "prompt": text}
        for n, text in enumerate(said)
    ]
    batch = []
    for n, fields in enumerate(given):
        raw = json.dumps(fields | {"hook_event_name": "UserPromptSubmit"}).encode()
        batch.append(wire.parse(raw, name=f"{n}.json", received_ms=NOW_MS))
    config = Config(home=home)
    db = connect(config.db_path)
    prompts = [event for event in batch if event is not None]
    ingest.take(db, prompts, now_ms=NOW_MS, redact=lambda event: event, config=config)
    (project_id,) = next(iter(db.execute("select project_id from events limit 1")))
    return db, Scope(project_id), said


def bare(db: Connection, project_id: str, n: int, value: str, *, indexed: bool) -> None:
    """The rows a memory cannot do without, and those of search if `indexed`; nobody asks whether it may be written."""
    with transaction(db):
        db.execute(
            "insert into memories (namespace, key, scope_id, project_id, created_ms) values (?, ?, 2, ?, ?)",
            (f"project.{project_id}", f"bare.{indexed}.{n}", project_id, NOW_MS),
        )
        memory_id = db.last_insert_rowid()
        db.execute(
            "insert into memory_versions (memory_id, version, value, kind, trust, origin, channel, source, occurred_ms,"
            " recorded_ms) values (?, 1, ?, 'semantic', 'candidate', 'user_said', 'user_said', 'bench', ?, ?)",
            (memory_id, value, NOW_MS, NOW_MS),
        )
        version_id = db.last_insert_rowid()
        db.execute("update memories set version_id = ? where id = ?", (version_id, memory_id))
        db.execute(
            "insert into memory_history (memory_id, version_id, action, channel, actor, at_ms)"
            " values (?, ?, 'created', 'user_said', 'bench', ?)",
            (memory_id, version_id, NOW_MS),
        )
        if indexed:
            indexes.index_version(db, version_id, f"bare.{indexed}.{n}", value, "[]")


def gated(db: Connection, scope: Scope, n: int, value: str) -> None:
    proposal = Proposal(
        namespace=f"project.{scope.project_id}",
        key=f"gated.{n}",
        value=value,
        kind=MemoryKind.SEMANTIC,
        origin=Origin.USER_SAID,
        source="bench",
        evidence=(Evidence(n % EVENTS + 1, value),),
        occurred_ms=NOW_MS,
    )
    outcome = gate.propose(db, proposal, gate.Writer(Channel.USER_SAID, "bench", scope, NOW_MS))
    assert outcome.action == "created", outcome


def timed_ms(act: Callable[[], None]) -> tuple[float, float]:
    """(wall, processor) milliseconds."""
    began, busy = time.perf_counter(), time.process_time()
    act()
    return (time.perf_counter() - began) * 1000, (time.process_time() - busy) * 1000


def shown(name: str, took: list[tuple[float, float]]) -> str:
    wall = sorted(ms for ms, _ in took)
    quarter, middle, three = (wall[int(len(wall) * part)] for part in (0.25, 0.5, 0.75))
    cpu = statistics.median(ms for _, ms in took)
    return f"| {name} | {len(took)} | {middle:.2f} | {quarter:.2f}–{three:.2f} | {cpu:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=400)
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    took: dict[str, list[tuple[float, float]]] = {"bare": [], "indexed": [], "gated": []}
    with tempfile.TemporaryDirectory() as folder:
        db, scope, said = filled(Path(folder), rng)
        assert db.pragma("synchronous") == 2, "both are measured with full syncs"
        gate.redact_here(["the rules are loaded before the clock runs"])
        for n in range(chosen.writes):
            value = said[n % EVENTS]
            acts = {
                "bare": lambda n=n, value=value: bare(db, scope.project_id or "", n, value, indexed=False),
                "indexed": lambda n=n, value=value: bare(db, scope.project_id or "", n, value, indexed=True),
                "gated": lambda n=n, value=value: gated(db, scope, n, value),
            }
            for name in rng.sample(sorted(acts), len(acts)):
                took[name].append(timed_ms(acts[name]))
        db.close()
    print("| write, synchronous=FULL | n | median ms | quartiles | processor ms |")
    print("|---|---|---|---|---|")
    print(shown("bare insert with history", took["bare"]))
    print(shown("bare insert with history and search", took["indexed"]))
    print(shown("gated, with evidence, index and audit", took["gated"]))
    gated_ms, bare_ms, indexed_ms = (
        statistics.median(ms for ms, _ in took[name]) for name in ("gated", "bare", "indexed")
    )
    print(f"\ngated / bare {gated_ms / bare_ms:.2f}, gated / bare with search {gated_ms / indexed_ms:.2f}", end="")
    print(f"; seed {chosen.seed}; python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
