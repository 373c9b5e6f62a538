"""How long a question takes when model, worker or socket are not what they should be, beside words alone.

    python benchmarks/away.py --models ~/.recorder/models [--rounds 30]

One question after another through `recorder.embed` and `recorder.recall`, over 2,000 made events, each state of the
vector arm in turn with the arm switched off. Prints a markdown table; the budget is 300 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recorder import embed, worker_socket
from recorder.config import Config, Embed
from recorder.errors import WorkerUnavailable
from recorder.models import Scope
from recorder.recall import rank
from recorder.store.db import Connection
from tests.memory_samples import A, add_event, opened
from worker import shelf

ROOT = Path(__file__).resolve().parent.parent
QUESTION = "which queue did we choose for the ingest service?"


@contextmanager
def worker(home: Path) -> Iterator[int]:
    running = subprocess.Popen(
        [sys.executable, "-m", "worker"], env={**os.environ, "RECORDER_HOME": str(home)}, cwd=ROOT
    )
    try:
        deadline = time.monotonic() + 60
        while not answers(home):
            assert time.monotonic() < deadline, "the worker does not start"
            time.sleep(0.1)
        yield running.pid
    finally:
        running.kill()
        running.wait()


def answers(home: Path) -> bool:
    try:
        worker_socket.request(home, "status", timeout_s=1)
    except WorkerUnavailable:
        return False
    return True


@contextmanager
def silent(home: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mute:
        worker_socket.socket_path(home).unlink(missing_ok=True)
        mute.bind(str(worker_socket.socket_path(home)))
        mute.listen(256)
        yield


def asked(db: Connection, config: Config, scope: Scope) -> tuple[float, str]:
    """Milliseconds, and what the vector arm says."""
    begun = time.perf_counter()
    vector, status = embed.of_question(db, config, QUESTION)
    found = rank.recall(db, QUESTION, scope, k=10, vector=vector, vector_status=status, now_ms=1_800_000_000_000)
    assert found.arms["words"] == "ok" and (found.hits or found.misses)
    return (time.perf_counter() - begun) * 1000, found.arms["vector"]


def measured(name: str, db: Connection, config: Config, rounds: int) -> None:
    alone = config.model_copy(update={"embed": Embed(enabled=False)})
    with_arm, without, said = [], [], ""
    for _ in range(rounds):
        took_ms, said = asked(db, config, A)
        with_arm.append(took_ms)
        without.append(asked(db, alone, A)[0])
    columns = " | ".join(f"{statistics.median(ms):.0f} ({min(ms):.0f}–{max(ms):.0f})" for ms in (with_arm, without))
    print(f"| {name} | {columns} | {said.replace(str(config.home), '~/.recorder')} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=30)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        config = Config(home=Path(folder))
        db = opened(config.home)
        db.pragma("synchronous", 0)
        for n in range(2000):
            add_event(db, A, f"event {n}: the ingest service reads queue {n % 7} and writes table {n % 11}")
        db.execute("delete from embed_queue")
        print(f"n = {chosen.rounds} a row, load {os.getloadavg()[0]:.1f}\n")
        print("| state | ms: median (least–most) | words alone | the arm says |\n|---|---|---|---|")
        measured("no worker", db, config, chosen.rounds)
        with silent(config.home):
            measured("socket hung", db, config, chosen.rounds)
        with worker(config.home):
            measured("no model", db, config, chosen.rounds)
        built = shelf.chosen(chosen.models)
        assert built is not None, f"no model in {chosen.models}"
        copy = config.models_dir / built.id
        shutil.copytree(built.folder, copy)
        with worker(config.home):
            while embed.ask(config.home, QUESTION, 5000)[0] is None:
                time.sleep(0.1)
            measured("all well", db, config, chosen.rounds)
            os.kill(worker_socket.request(config.home, "status", timeout_s=5)["model_pid"], signal.SIGSTOP)
            measured("model hung", db, config, chosen.rounds)
        with (copy / shelf.NETWORK).open("r+b") as network:
            network.truncate(1_000_000)
        with worker(config.home):
            measured("model truncated", db, config, chosen.rounds)
        shutil.rmtree(copy)
        shutil.copytree(built.folder, copy)
        manifest = {**built.manifest, "dimension": 768}
        (copy / shelf.MANIFEST).write_text(json.dumps(manifest))
        with worker(config.home):
            measured("model of another dimension", db, config, chosen.rounds)
        db.close()


if __name__ == "__main__":
    main()
