"""How long one recall takes: hybrid, warm, inside a scope.

    python benchmarks/recall_speed.py [--rows 10000 100000] [--million] [--questions 100]

Prints a markdown table. Stores are synthetic: words drawn by Zipf's law, random vectors, a memory for every hundred
events, a tenth of all rows in each of ten projects; the last column asks a store whose rows all lie in one project.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from recorder.models import Project, Scope
from recorder.recall import rank
from recorder.store import db as store
from recorder.store import events, projects, sessions, vectors

NOW_MS = 1_790_000_000_000
BUDGET_MS = {10_000: 15, 100_000: 50, 1_000_000: 200}
PROJECTS = 10
VOCABULARY = 30_000
EVENT_WORDS = 60
BATCH = 5_000


class Writer:
    """Text that looks like text to an index: few words often, many seldom, and names of files."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = ["".join(self.random.choices(letters, k=self.random.randint(3, 10))) for _ in range(VOCABULARY)]
        self.weights = list(accumulate(1 / (n + 1) for n in range(VOCABULARY)))

    def text(self, count: int) -> str:
        return " ".join(self.random.choices(self.words, cum_weights=self.weights, k=count))

    def name(self) -> str:
        return f"src/{self.random.choice(self.words)}/{self.random.choice(self.words)}_{self.random.randint(1, 99)}.py"

    def question(self) -> str:
        # A question is asked in words of all kinds: some from the most frequent two hundred, most from the middle.
        common = self.random.sample(self.words[20:200], 2)
        telling = self.random.sample(self.words[200:5_000], 3)
        return " ".join([*common, *telling, *([self.name()] if self.random.random() < 0.3 else [])])


def fill(db: store.Connection, rows: int, shares: Sequence[str], writer: Writer) -> None:
    """`rows` events spread over the projects, with vectors, and a memory for every hundred."""
    with store.transaction(db):
        scope_ids = [projects.scope_id(db, name) for name in shares]
        for name in shares:
            root = f"/home/user/{name}"
            projects.bind(db, Project(name, f"root:{root}", root, name), NOW_MS)
        for n in range(rows // 200 + 1):
            sessions.see(
                db,
                f"s{n}",
                first_ms=NOW_MS,
                last_ms=NOW_MS,
                cwd=None,
                project_id=shares[n % len(shares)],
                transcript_path=None,
                branch=None,
                hook_events=0,
            )
    for start in range(0, rows, BATCH):
        with store.transaction(db):
            for n in range(start, min(start + BATCH, rows)):
                share = n % len(shares)
                db.execute(
                    "insert into events (id, key, kind, session_id, project_id, scope_id, at_ms, received_ms, excerpt,"
                    " narrow, body, codec, body_hash) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'json', '')",
                    (
                        n + 1,
                        f"k{n}",
                        ("prompt", "tool_call", "assistant")[n % 3],
                        f"s{n // 200}",
                        shares[share],
                        scope_ids[share],
                        NOW_MS - n,
                        NOW_MS,
                        writer.text(EVENT_WORDS),
                        writer.name(),
                        b"{}",
                    ),
                )
                _vector(db, "event", n + 1, scope_ids[share], writer)
            events.index(db, start)
            for n in range(start, min(start + BATCH, rows), 100):
                _memory(db, n // 100 + 1, shares[n // 100 % len(shares)], scope_ids[n // 100 % len(shares)], writer)
    vectors.adopt(db, "synthetic")
    vectors.rebuild(db)
    db.execute("analyze")


def _vector(db: store.Connection, owner: str, owner_id: int, scope_id: int, writer: Writer) -> None:
    db.execute(
        "insert into embeddings (owner, owner_id, window, scope_id, model, content_hash, vector)"
        " values (?, ?, 0, ?, 'synthetic', '', ?)",
        (owner, owner_id, scope_id, writer.random.randbytes(vectors.DIMENSION)),
    )


def _memory(db: store.Connection, number: int, share: str, scope_id: int, writer: Writer) -> None:
    key, value = f"fact.{number}", writer.text(15)
    db.execute(
        "insert into memories (id, namespace, key, scope_id, project_id, version_id, created_ms)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        (number, f"project.{share}", key, scope_id, share, number, NOW_MS),
    )
    db.execute(
        "insert into memory_versions (id, memory_id, version, value, kind, trust, origin, channel, source, occurred_ms,"
        " recorded_ms) values (?, ?, 1, ?, 'semantic', 'verified', 'user_said', 'person', 'benchmark', ?, ?)",
        (number, number, value, NOW_MS, NOW_MS),
    )
    db.execute("insert into memory_words (rowid, key, value, tags) values (?, ?, ?, '[]')", (number, key, value))
    db.execute("insert into memory_trigrams (rowid, text) values (?, ?)", (number, f"{key} {value}"))
    _vector(db, "memory", number, scope_id, writer)


def measure(db: store.Connection, scope: Scope, writer: Writer, questions: int) -> list[float]:
    """Milliseconds of each question, after a few that warm the caches."""
    times = []
    for n in range(-10, questions):
        question, vector = writer.question(), writer.random.randbytes(vectors.DIMENSION)
        begun = time.perf_counter()
        answer = rank.recall(db, question, scope, k=10, vector=vector, vector_status="ok", now_ms=NOW_MS)
        took_ms = (time.perf_counter() - begun) * 1000
        assert set(answer.arms.values()) == {"ok"}, answer.arms
        if n >= 0:
            times.append(took_ms)
    return times


def row(rows: int, questions: int) -> str:
    cells = []
    for shares in ([f"project-{n}" for n in range(PROJECTS)], ["project-0"]):
        with tempfile.TemporaryDirectory() as folder:
            db = store.connect(Path(folder) / "recorder.db")
            writer = Writer(rows)
            fill(db, rows, shares, writer)
            times = measure(db, Scope("project-0"), writer, questions)
            db.close()
        cut = statistics.quantiles(times, n=100)
        median = statistics.median(times)
        cells.append(f"{median:.1f} / {cut[98]:.1f} ({cut[98] / median:.1f} ×)")
    return f"| {rows:,} | {BUDGET_MS.get(rows, '–')} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--questions", type=int, default=100)
    asked = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, n = {asked.questions}\n")
    print("| rows | budget, ms | a project of ten: median / p99, ms | all in one project: median / p99, ms |")
    print("|---|---|---|---|")
    for rows in [*asked.rows, *([1_000_000] if asked.million else [])]:
        print(row(rows, asked.questions), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    print(f"\np99 may be 3 × the median; peak memory of this run {peak:.0f} MB")


if __name__ == "__main__":
    main()
