"""Spool → events: how fast, how soon found, how large, and what the worker costs when idle.

usage: python benchmarks/ingest.py [--events N] [--pings N]
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

from recorder.capture import spool
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.models import Scope
from recorder.store import search
from recorder.store.db import connect, transaction
from recorder.store.upkeep import size_bytes
from worker.drain import Drain

WORDS = (
    "parser returns empty list when the input file has no records so the caller fails with index error in "
    "report builder after the cache was cleared by another session while tests run against sqlite database"
).split()
IDLE_S = 20.0


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


def bare(home: Path, inputs: list[bytes]) -> float:
    """Seconds for the same files into one table with one words index, nothing else: the floor."""
    db = connect(home / "bare.db")
    db.execute("create table raw (id integer primary key, body text)")
    db.execute("create virtual table raw_words using fts5 (body, content='raw', content_rowid='id', tokenize='porter')")
    began = time.perf_counter()
    for start in range(0, len(inputs), 500):
        with transaction(db):
            for raw in inputs[start : start + 500]:
                body = json.loads(raw)["tool_response"]["stdout"]
                db.execute("insert into raw (body) values (?)", (body,))
                db.execute("insert into raw_words (rowid, body) values (?, ?)", (db.last_insert_rowid(), body))
    took = time.perf_counter() - began
    db.close()
    return took


def speed(home: Path, count: int, rounds: int, seed: int) -> None:
    rng = random.Random(seed)
    folder = folder_of(home)
    config = Config(home=home / ".recorder")
    redactor = Redactor(config.capture)
    redactor.text("warm")
    rates, floors, sizes = [], [], []
    for round_ in range(rounds):
        inputs = [hook_input(rng, round_ * count + n, folder) for n in range(count)]
        fill(config, inputs, str(round_))
        db = connect(config.db_path)
        before = size_bytes(db)
        began = time.perf_counter()
        Drain(config, redactor).once(db, time.time_ns() // 1_000_000)
        took = time.perf_counter() - began
        rates.append(count / took)
        said = sum(n for (n,) in db.execute("select sum(length(excerpt)) from events where session_id >= ?", ("",)))
        sizes.append((size_bytes(db) - before) / sum(len(raw) for raw in inputs))
        db.close()
        floors.append(count / bare(Path(tempfile.mkdtemp(dir=home)), inputs))
        assert said
    print("| spool → events + FTS, 2 KB events | events/s | floor: bare insert + one FTS | ratio |")
    print("|---|---|---|---|")
    print(
        f"| {rounds} rounds of {count} | median {statistics.median(rates):,.0f} ({min(rates):,.0f}–{max(rates):,.0f})"
        f" | {statistics.median(floors):,.0f} | {statistics.median(rates) / statistics.median(floors):.2f} |"
    )
    print(f"\nstore size: {statistics.median(sizes):.2f} × the input's bytes (no vectors)\n")


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
                if time.perf_counter() - began > 30:
                    raise SystemExit("not found after 30 s")
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


def _found(db: object, mark: str) -> bool:
    rows = db.execute("select project_id from events limit 1").fetchall()  # type: ignore[attr-defined]
    if not rows:
        return False
    scope = Scope(rows[0][0])
    return bool(search.words(db, scope, mark, 1, now_ms=time.time_ns() // 1_000_000))  # type: ignore[arg-type]


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
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        speed(Path(home), chosen.events, chosen.rounds, chosen.seed)
    with tempfile.TemporaryDirectory() as home:
        latency(Path(home), chosen.pings, chosen.seed)
    print(
        f"\nthis process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB at most; seed {chosen.seed}"
    )


if __name__ == "__main__":
    main()
