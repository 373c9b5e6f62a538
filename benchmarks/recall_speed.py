"""How long one recall takes: hybrid and by words alone, warm, inside a scope.

    python -m benchmarks.recall_speed [--rows 10000 100000 1000000] [--questions 200] [--keep FOLDER]

Prints markdown tables. Stores are synthetic: words drawn by Zipf's law, vectors of 400 subjects with noise, a memory
for every hundred events, all of it spread over 300 projects by Zipf's law too (the largest holds a sixth). A question
is asked of a project drawn by its rows, for people ask where they work; then of the largest alone; then a store whose
rows all lie in one project. Beside them, in the same run and on the same rows: numpy comparing the vector with each
row of the scope and of the store (float32, in memory; the limit), and the words in one FTS5 table without any scope.
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
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy

from recorder.models import Project, Scope
from recorder.recall import rank
from recorder.store import db as store
from recorder.store import events, projects, search, sessions, vectors

NOW_MS = 1_790_000_000_000
BUDGET_MS = {10_000: 15, 100_000: 50, 1_000_000: 200}
PROJECTS = 300
SUBJECTS = 400
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
        self.numbers = numpy.random.default_rng(seed)
        self.subjects = self.numbers.normal(size=(SUBJECTS, vectors.DIMENSION))

    def text(self, count: int) -> str:
        return " ".join(self.random.choices(self.words, cum_weights=self.weights, k=count))

    def vectors(self, count: int) -> list[bytes]:
        subjects = self.subjects[self.numbers.integers(0, SUBJECTS, count)]
        parts = 0.6 * subjects + self.numbers.normal(size=subjects.shape)
        scaled = numpy.rint(parts * (127.0 / numpy.abs(parts).max(axis=1, keepdims=True)))
        return [row.tobytes() for row in scaled.astype(numpy.int8)]

    def name(self) -> str:
        return f"src/{self.random.choice(self.words)}/{self.random.choice(self.words)}_{self.random.randint(1, 99)}.py"

    def question(self) -> str:
        # A question is asked in words of all kinds: some from the most frequent two hundred, most from the middle.
        common = self.random.sample(self.words[20:200], 2)
        telling = self.random.sample(self.words[200:5_000], 3)
        return " ".join([*common, *telling, *([self.name()] if self.random.random() < 0.3 else [])])


def fill(db: store.Connection, rows: int, shares: Sequence[str], writer: Writer) -> None:
    """`rows` events spread over the projects, most in the first, with vectors, and a memory for every hundred."""
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
    weights = list(accumulate(1 / (n + 1) for n in range(len(shares))))
    for start in range(0, rows, BATCH):
        ids = range(start, min(start + BATCH, rows))
        share_of = writer.random.choices(range(len(shares)), cum_weights=weights, k=len(ids))
        with store.transaction(db):
            db.executemany(
                "insert into events (id, key, kind, session_id, project_id, scope_id, at_ms, received_ms, excerpt,"
                " narrow, body, codec, body_hash) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'json', '')",
                [
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
                    )
                    for n, share in zip(ids, share_of, strict=True)
                ],
            )
            for n, share, vector in zip(ids, share_of, writer.vectors(len(ids)), strict=True):
                _vector(db, "event", n + 1, scope_ids[share], vector)
                if n % 100 == 0:
                    _memory(db, n // 100 + 1, shares[share], scope_ids[share], writer)
            events.index(db, start)
    vectors.adopt(db, "synthetic")
    db.execute("analyze")


def _vector(db: store.Connection, owner: str, owner_id: int, scope_id: int, vector: bytes) -> None:
    db.execute(
        "insert into embeddings (owner, owner_id, window, scope_id, model, content_hash, vector)"
        " values (?, ?, 0, ?, 'synthetic', '', ?)",
        (owner, owner_id, scope_id, vector),
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
    _vector(db, "memory", number, scope_id, writer.vectors(1)[0])


def timed(ask: Callable[[str, bytes], Any], asked: Sequence[tuple[str, bytes]]) -> str:
    """p50 / p95 / p99 in milliseconds of these questions and the median of their processor time, after a tenth of them
    that warm the caches."""
    times, busy = [], []
    for n, (question, vector) in enumerate([*asked[: len(asked) // 10], *asked]):
        begun, begun_busy = time.perf_counter(), time.process_time()
        ask(question, vector)
        if n >= len(asked) // 10:
            times.append((time.perf_counter() - begun) * 1000)
            busy.append((time.process_time() - begun_busy) * 1000)
    cut = statistics.quantiles(times, n=100)
    return f"{cut[49]:.1f} / {cut[94]:.1f} / {cut[98]:.1f} ({statistics.median(busy):.1f})"


class Asker:
    """Asks a store as a server does: a connection of its own for each question."""

    def __init__(self, path: Path, scopes: Sequence[str], seed: int) -> None:
        self.path = path
        self.scopes = scopes
        self.random = random.Random(seed)

    def recall(self, question: str, vector: bytes | None) -> None:
        scope = Scope(self.random.choice(self.scopes))
        db = store.connect(self.path)
        status = "ok" if vector is not None else "off"
        answer = rank.recall(db, question, scope, k=10, vector=vector, vector_status=status, now_ms=NOW_MS)
        assert answer.arms["words"] == "ok" and (vector is None or answer.arms["vector"] == "ok"), answer.arms
        db.close()

    def by_words(self, question: str, vector: bytes) -> None:
        self.recall(question, None)


def drawn(db: store.Connection, count: int, dice: random.Random) -> list[str]:
    """Projects, each as often as it has rows."""
    rows = list(db.execute("select project_id, count(*) from events group by project_id"))
    return dice.choices([row[0] for row in rows], weights=[row[1] for row in rows], k=count)


def beside(path: Path, scope: str, asked: Sequence[tuple[str, bytes]]) -> list[str]:
    """What numpy needs for the rows of the scope and for all, and FTS5 for the words in all rows."""
    db = store.connect(path)
    rows = db.execute(
        "select b.vector, s.name = ? from embeddings b join scopes s on s.id = b.scope_id where b.owner = 'event'",
        (scope,),
    )
    packed, inside = zip(*rows, strict=True)
    every = numpy.frombuffer(b"".join(packed), dtype=numpy.int8).reshape(len(packed), -1).astype(numpy.float32)
    every /= numpy.linalg.norm(every, axis=1, keepdims=True)
    of_scope = every[numpy.array(inside, dtype=bool)]

    def nearest(rows: Any) -> Callable[[str, bytes], Any]:
        def ask(question: str, vector: bytes) -> Any:
            alike = rows @ numpy.frombuffer(vector, dtype=numpy.int8).astype(numpy.float32)
            return numpy.argpartition(alike, -min(10, len(alike)))[-10:]

        return ask

    def words(question: str, vector: bytes) -> Any:
        match = " OR ".join(f'"{term}"' for term in search.terms(question))
        return list(
            db.execute(
                "select rowid from event_words where event_words match ? order by bm25(event_words) limit 10", (match,)
            )
        )

    try:
        return [timed(nearest(of_scope), asked), timed(nearest(every), asked), timed(words, asked)]
    finally:
        db.close()


def made(folder: Path, rows: int, shares: Sequence[str]) -> Path:
    """The store of so many rows, made where it is not there yet."""
    path = folder / f"{rows}-in-{len(shares)}.db"
    if not path.exists():
        db = store.connect(path)
        db.pragma("synchronous", 0)
        fill(db, rows, shares, Writer(rows))
        store.checkpoint(db)
        db.close()
    return path


def report(folder: Path, rows: int, questions: int) -> None:
    """The lines of one size."""
    shares = [f"project-{n}" for n in range(PROJECTS)]
    writer = Writer(rows)  # the words of the store
    asked = list(zip((writer.question() for _ in range(questions)), writer.vectors(questions), strict=True))
    path = made(folder, rows, shares)
    db = store.connect(path)
    anywhere = drawn(db, questions, writer.random)
    largest, narrowest = _ends(db)
    db.close()
    _fills(path, narrowest, asked[0])
    of_rows, all_rows, bare = beside(path, "project-0", asked)
    alone = made(folder, rows, ["project-0"])
    for name, asker, limits in (
        ("a project drawn by its rows", Asker(path, anywhere, rows), ("", all_rows, bare)),
        (f"the largest project, {largest:,} rows", Asker(path, ["project-0"], rows), (of_rows, all_rows, bare)),
        ("all in one project", Asker(alone, ["project-0"], rows), (all_rows, all_rows, bare)),
    ):
        cells = [timed(asker.recall, asked), timed(asker.by_words, asked), *limits]
        print(f"| {rows:,} | {name} | {' | '.join(cells)} | {BUDGET_MS.get(rows, '')} |", flush=True)


def _ends(db: store.Connection) -> tuple[int, str]:
    counts = "select count(*), project_id from events group by project_id order by 1"
    rows = list(db.execute(counts))
    return rows[-1][0], next(name for count, name in rows if count >= 10 or rows[-1][1] == name)


def _fills(path: Path, scope: str, asked: tuple[str, bytes]) -> None:
    db = store.connect(path)
    found = search.vector(db, Scope(scope), asked[1], 10, now_ms=NOW_MS)
    db.close()
    assert sum(row.type == "event" for row in found) == 10, f"{scope} has ten rows and {len(found)} were found"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="where the stores are made, and found the next time")
    asked = parser.parse_args()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load}")
    print(f"n = {asked.questions} a cell; p50 / p95 / p99 in ms (median of processor time)\n")
    print(
        "| rows | asked of | hybrid | words alone | numpy, rows of the scope | numpy, all rows | bare FTS5, all rows"
        " | budget, p50 of hybrid |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as room:
        folder = asked.keep or Path(room)
        folder.mkdir(parents=True, exist_ok=True)
        for rows in asked.rows:
            report(folder, rows, asked.questions)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"\np99 may be 3 × the median; load at the end {load}; peak memory {peak:.0f} MB, numpy's rows included")


if __name__ == "__main__":
    main()
