"""Spool → events: how fast, how soon found, how large, and what the worker costs when idle.

usage: python benchmarks/ingest.py [--events N] [--rounds N] [--pings N] [--seed N] [--transcripts DIR]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recorder.capture import reading, spool
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import Scope
from recorder.store import events, search
from recorder.store.db import Connection, connect, transaction
from recorder.store.upkeep import size_bytes
from worker.drain import Drain

WORDS = (
    "parser returns empty list when the input file has no records so the caller fails with index error in "
    "report builder after the cache was cleared by another session while tests run against sqlite database"
).split()
IDLE_S = 20.0
# A first worker of a home compiles the rules of redaction: 6 s of an idle processor, many times that of a busy one.
STARTED_WITHIN_S = 180.0
FOUND_WITHIN_S = 30.0


def text(rng: random.Random, size: int) -> str:
    said = []
    while sum(map(len, said)) + len(said) < size:
        said.append(rng.choice(WORDS) if rng.random() < 0.9 else f"name_{rng.randrange(10_000)}")
    return " ".join(said)[:size]


def hook_input(rng: random.Random, n: int, folder: str, size: int = 2048) -> bytes:
    fields = {
        "session_id": f"session-{n // 400}",
        "transcript_path": "/nowhere.jsonl",
        "cwd": folder,
        "prompt_id": f"prompt-{n // 20}",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"pytest tests/test_{n % 97}.py -q"},
        "tool_response": {"stdout": "", "stderr": "", "interrupted": False},
        "tool_use_id": f"toolu_{n}",
    }
    bare = len(json.dumps(fields))
    fields["tool_response"] = {"stdout": text(rng, max(0, size - bare)), "stderr": "", "interrupted": False}
    return json.dumps(fields).encode() + b"\n"


def folder_of(home: Path) -> str:
    folder = home / "project"
    (folder / ".git").mkdir(parents=True)
    return str(folder)


def fill(config: Config, inputs: list[bytes], stem: str) -> None:
    spool.prepare(config.spool)
    for n, raw in enumerate(inputs):
        (config.spool / "new" / f"{stem}-{n:06}.json").write_bytes(raw)


def clocks() -> tuple[float, float]:
    """(wall, processor) seconds so far."""
    return time.perf_counter(), time.process_time()


def since(began: tuple[float, float]) -> tuple[float, float]:
    wall, cpu = clocks()
    return wall - began[0], cpu - began[1]


def bare(home: Path, inputs: list[bytes]) -> tuple[float, float]:
    """Seconds for the same files into one table with one words index, nothing else: the floor."""
    db = connect(home / "bare.db")
    db.execute("create table raw (id integer primary key, body text)")
    db.execute("create virtual table raw_words using fts5 (body, content='raw', content_rowid='id', tokenize='porter')")
    began = clocks()
    for start in range(0, len(inputs), 500):
        with transaction(db):
            for raw in inputs[start : start + 500]:
                body = json.loads(raw)["tool_response"]["stdout"]
                db.execute("insert into raw (body) values (?)", (body,))
                db.execute("insert into raw_words (rowid, body) values (?, ?)", (db.last_insert_rowid(), body))
    took = since(began)
    db.close()
    return took


def text_bytes(db: Connection) -> int:
    """How long the redacted text of all events is: their bodies as JSON."""
    total = 0
    for body, codec, excerpt in db.execute("select body, codec, excerpt from events"):
        total += len(json.dumps(events.decode(body, codec, excerpt), ensure_ascii=False).encode("utf-8", "replace"))
    return total


def rate(count: int, took: list[tuple[float, float]]) -> str:
    wall = [count / seconds for seconds, _ in took]
    cpu = statistics.median(count / seconds for _, seconds in took)
    return f"{statistics.median(wall):,.0f} ({min(wall):,.0f}–{max(wall):,.0f}) | {cpu:,.0f}"


def speed(home: Path, count: int, rounds: int, seed: int) -> None:
    rng = random.Random(seed)
    folder = folder_of(home)
    config = Config(home=home / ".recorder")
    redactor = Redactor(config.capture)
    redactor.text("warm")
    drained, floors, sizes = [], [], []
    for round_ in range(rounds):
        inputs = [hook_input(rng, round_ * count + n, folder) for n in range(count)]
        fill(config, inputs, str(round_))
        db = connect(config.db_path)
        began = clocks()
        assert Drain(config, redactor).once(db, time.time_ns() // 1_000_000) == count
        drained.append(since(began))
        sizes.append(size_bytes(db) / text_bytes(db))
        db.close()
        floors.append(bare(Path(tempfile.mkdtemp(dir=home)), inputs))
    print(f"| 2 KB events, {rounds} rounds of {count} | events/s, median (range) | events per processor second |")
    print("|---|---|---|")
    print(f"| spool → events + FTS | {rate(count, drained)} |")
    print(f"| floor: bare insert + one FTS | {rate(count, floors)} |")
    print(f"\nstore size: {sizes[-1]:.2f} × redacted text (no vectors; each is to have 1 KB more)\n")


def corpus(home: Path, folder: Path) -> None:
    """The same for the events of real transcripts."""
    config = Config(home=home / ".recorder")
    redactor = Redactor(config.capture)
    redactor.text("warm")
    db = connect(config.db_path)
    paths = sorted(folder.rglob("*.jsonl"))
    reader = reading.Reader(db, time.time_ns() // 1_000_000, redactor.event, config)
    began = clocks()
    for path in paths:
        reading.catch_up(reader, path, path.stem)
    wall, cpu = since(began)
    raw_mb = sum(path.stat().st_size for path in paths) / 1e6
    print("| transcripts | MB | events | MB/s | MB per processor second | store / redacted text |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {len(paths)} | {raw_mb:.0f} | {events.count(db)} | {raw_mb / wall:.1f} | {raw_mb / cpu:.1f}"
        f" | {size_bytes(db) / text_bytes(db):.2f} |\n"
    )
    db.close()


def latency(home: Path, pings: int, seed: int) -> None:
    rng = random.Random(seed)
    folder = folder_of(home)
    config = Config(home=home / ".recorder")
    spool.prepare(config.spool)
    environ = os.environ | {"RECORDER_HOME": str(config.home)}
    worker = subprocess.Popen([sys.executable, "-m", "worker"], env=environ, start_new_session=True)
    try:
        found_after = []
        db = connect(config.db_path)
        for n in range(pings):
            mark = f"needle{n}x{rng.randrange(10**9)}"
            fields = json.loads(hook_input(rng, n, folder)) | {"tool_input": {"command": f"echo {mark}"}}
            draft, path = config.spool / "tmp" / f"{n}.json", config.spool / "new" / f"{n}.json"
            draft.write_bytes(json.dumps(fields).encode())
            began = time.perf_counter()
            draft.rename(path)
            while not _found(db, mark):
                patience_s = FOUND_WITHIN_S if n else STARTED_WITHIN_S
                if time.perf_counter() - began > patience_s or worker.poll() is not None:
                    raise SystemExit(f"event {n} was not found after {patience_s:.0f} s, worker {worker.poll()}")
                time.sleep(0.002)
            if n >= 3:  # the first ones wait for the worker to start
                found_after.append((time.perf_counter() - began) * 1000)
            time.sleep(0.05)
        db.close()
        found_after.sort()
        p95 = found_after[int(0.95 * len(found_after))]
        print("| event → found by words, worker awake | median ms | p95 ms | max ms |")
        print("|---|---|---|---|")
        print(f"| n = {len(found_after)} | {statistics.median(found_after):.0f} | {p95:.0f} | {found_after[-1]:.0f} |")
        idle(worker.pid)
    finally:
        worker.terminate()
        worker.wait(timeout=15)


def _found(db: Connection, mark: str) -> bool:
    for (project_id,) in db.execute("select project_id from events limit 1"):
        return bool(search.words(db, Scope(project_id), mark, 1, now_ms=time.time_ns() // 1_000_000))
    return False


def idle(pid: int) -> None:
    def cpu_s() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    time.sleep(3)
    began = cpu_s()
    time.sleep(IDLE_S)
    share = 100 * (cpu_s() - began) / IDLE_S
    status = Path(f"/proc/{pid}/status").read_text()
    rss = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024
    print(f"\nworker idle for {IDLE_S:.0f} s: {share:.2f} % of a core, {rss:.0f} MB resident")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pings", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--transcripts", type=Path, help="a folder of session JSONL to take in as well")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        speed(Path(home), chosen.events, chosen.rounds, chosen.seed)
    if chosen.transcripts:
        with tempfile.TemporaryDirectory() as home:
            corpus(Path(home), chosen.transcripts)
    with tempfile.TemporaryDirectory() as home:
        latency(Path(home), chosen.pings, chosen.seed)
    print(
        f"\nthis process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB at most; seed {chosen.seed}"
    )


if __name__ == "__main__":
    main()
