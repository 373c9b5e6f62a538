"""The past comes in: how fast, how evenly, in how much memory, what a live session notices, and what a kill leaves.

    python -m benchmarks.backfill [--mb 1000] [--small-mb 100] [--rounds 3] [--seed 7] [--transcripts DIR]

Real transcripts are repeated with new ids up to the size, and `recorder backfill --commit` reads them as a process of
its own into a fresh home. Prints markdown tables. Linux only: memory is read from /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import md5, sha256
from pathlib import Path

from benchmarks.ingest import STARTED_WITHIN_S, folder_of, hook_input, text_bytes
from recorder.capture import spool
from recorder.capture.redact import Redactor
from recorder.config import Capture, Config
from recorder.models import Scope
from recorder.store import events, search
from recorder.store.db import Connection, connect, connect_readonly, transaction
from recorder.store.upkeep import size_bytes

SHARED = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "transcripts"
ID = re.compile(
    rb"(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?:toolu|msg|req)_[A-Za-z0-9]+"
)
PING_EVERY_S = 0.2
LIVE_BEFORE_S = 30.0
LOST_AFTER_S = 60.0
ENDED_WITHIN_S = 10.0
FLOOR_ROWS = 500
FLOOR_TEXT = 2000
TEN_DAYS_S = 10 * 86_400


def with_new_ids(raw: bytes, copy: int) -> bytes:
    """The same transcript as of another session: an id that stood in two places still stands in both."""

    def other(found: re.Match[bytes]) -> bytes:
        old = found[0]
        digest = md5(b"%d " % copy + old, usedforsecurity=False).hexdigest().encode()
        head, mark, _ = old.partition(b"_")
        if mark:
            return head + mark + digest[:24]
        return b"-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))

    return ID.sub(other, raw)


def make(folder: Path, transcripts: Sequence[Path], top: Path, size: int) -> list[Path]:
    """`size` bytes of transcripts or a little more, as Claude Code would keep them, in the order of their age."""
    made: list[Path] = []
    left, copy = size, 0
    began = time.time() - TEN_DAYS_S
    while left > 0:
        for path in transcripts:
            if left <= 0:
                break
            raw = with_new_ids(path.read_bytes(), copy)
            inner = with_new_ids(str(path.relative_to(top)).encode(), copy).decode()
            to = folder / "projects" / f"-home-user-{copy}" / inner
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(raw)
            os.utime(to, (began + len(made), began + len(made)))
            made.append(to)
            left -= len(raw)
        copy += 1
    return made


@dataclass(slots=True)
class Run:
    """One backfill: when how many bytes were in, and the most memory its processes had together."""

    began_s: float
    code: int | None = None
    ended_s: float = 0.0
    cpu_s: float = 0.0
    rss_mb: float = 0.0
    marks: list[tuple[float, int]] = field(default_factory=list)
    left_running: list[int] = field(default_factory=list)

    @property
    def read_bytes(self) -> int:
        return self.marks[-1][1] if self.marks else 0

    @property
    def rate(self) -> float:
        """MB/s from the start of the process to its end, of what it read itself."""
        return self.mb / (self.ended_s - self.began_s)

    @property
    def mb(self) -> float:
        return (self.read_bytes - self.marks[0][1]) / 1e6

    def tenths(self) -> list[float]:
        """MB/s of each tenth of the bytes, the start of the process left out."""
        rates = []
        first = next(at for at, size in self.marks if size)
        last = (first, next(size for _, size in self.marks if size))
        for tenth in range(1, 11):
            goal = self.read_bytes * tenth / 10
            now = next(mark for mark in self.marks if mark[1] >= goal)
            if now[0] > last[0]:
                rates.append((now[1] - last[1]) / 1e6 / (now[0] - last[0]))
            last = now
        return rates


def environ_of(home: Path, claude: Path) -> dict[str, str]:
    return os.environ | {"HOME": str(home), "RECORDER_HOME": str(home / ".recorder"), "CLAUDE_CONFIG_DIR": str(claude)}


def backfill(home: Path, claude: Path, kill_at: int | None = None) -> Run:
    """Run it, killed when so many bytes are in."""
    db_path = home / ".recorder" / "recorder.db"
    cpu_before_s = children_cpu_s()
    with (home / "said.txt").open("ab") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "recorder", "backfill", "--commit"],
            env=environ_of(home, claude),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    run = Run(time.perf_counter())
    db: Connection | None = None
    family = {process.pid}
    try:
        while process.poll() is None:
            run.ended_s = time.perf_counter()
            family |= set(family_of(process.pid))
            run.rss_mb = max(run.rss_mb, sum(map(rss_mb, family_of(process.pid))))
            if db is None and db_path.exists():
                db = connect(db_path)
            if db is not None:
                run.marks.append((time.perf_counter(), read_bytes(db)))
            if kill_at is not None and run.read_bytes >= kill_at:
                os.kill(process.pid, signal.SIGKILL)
            time.sleep(0.1)
    finally:
        if process.poll() is None:
            process.kill()
        run.code = process.wait()
        if db is not None:
            run.marks.append((run.ended_s, read_bytes(db)))
            db.close()
    run.left_running = outlived(family)
    run.cpu_s = children_cpu_s() - cpu_before_s
    return run


def children_cpu_s() -> float:
    """Processor seconds of all that ran and ended here; this says more than the clock where the machine is shared."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read_bytes(db: Connection) -> int:
    return int(next(iter(db.execute("select coalesce(sum(offset), 0) from cursors")))[0])


def family_of(pid: int) -> Iterator[int]:
    yield pid
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family_of(int(child))
    except OSError:
        return


def rss_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS")), 0.0)


def outlived(pids: set[int]) -> list[int]:
    """Those of the processes that go on after their parent has ended."""
    until = time.perf_counter() + ENDED_WITHIN_S
    alive = [pid for pid in pids if rss_mb(pid)]
    while alive and time.perf_counter() < until:
        time.sleep(0.1)
        alive = [pid for pid in alive if rss_mb(pid)]
    return alive


@dataclass(frozen=True, slots=True)
class Kept:
    """What a home holds."""

    events: int
    indexed: int
    keys: str
    bytes: int


def kept(home: Path) -> Kept:
    db = connect(home / ".recorder" / "recorder.db")
    keys = sha256()
    for (key,) in db.execute("select key from events order by key"):
        keys.update(key.encode() + b"\n")
    # A row a document: https://sqlite.org/fts5.html#the_columnsize_option
    indexed = int(next(iter(db.execute("select count(*) from event_words_docsize")))[0])
    found = Kept(events.count(db), indexed, keys.hexdigest(), size_bytes(db))
    db.close()
    return found


def floor(home: Path, paths: Sequence[Path]) -> tuple[float, float]:
    """MB/s, and MB a processor second, of what nobody can do without.

    Every line is parsed and put into one table, its first words into one index.
    """
    db = connect(home / "bare.db")
    db.execute("create table raw (id integer primary key, body text)")
    db.execute("create virtual table raw_words using fts5 (body, content='', tokenize='porter unicode61')")
    began, cpu_s, size = time.perf_counter(), time.process_time(), 0
    rows: list[tuple[str, str]] = []

    def put() -> None:
        with transaction(db):
            for body, words in rows:
                db.execute("insert into raw (body) values (?)", (body,))
                db.execute("insert into raw_words (rowid, body) values (?, ?)", (db.last_insert_rowid(), words))
        rows.clear()

    for path in paths:
        with path.open("rb") as file:
            for line in file:
                size += len(line)
                try:
                    json.loads(line)
                except ValueError:
                    continue
                text = line.decode("utf-8", "replace")
                rows.append((text, text[:FLOOR_TEXT]))
                if len(rows) == FLOOR_ROWS:
                    put()
    put()
    took, cpu_s = time.perf_counter() - began, time.process_time() - cpu_s
    db.close()
    return size / 1e6 / took, size / 1e6 / cpu_s


@contextmanager
def worker(home: Path, claude: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", "worker"], env=environ_of(home, claude), start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Live:
    """A session beside it: drops a hook input every 200 ms, and looks for each one's word until search finds it."""

    def __init__(self, home: Path, rng: random.Random) -> None:
        self.config = Config(home=home / ".recorder")
        self.folder = folder_of(home)
        self.rng = rng
        self.found: list[tuple[float, float]] = []
        """(when it was dropped, milliseconds until it was found)"""
        self.waiting: deque[tuple[str, float]] = deque()
        self.stop = threading.Event()
        self.trouble = ""
        spool.prepare(self.config.spool)
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        db = connect(self.config.db_path)
        try:
            patience_s, n, due = STARTED_WITHIN_S, 0, time.perf_counter()
            while not self.stop.is_set() or self.waiting:
                now = time.perf_counter()
                if now >= due and not self.stop.is_set():
                    self._drop(n)
                    n, due = n + 1, due + PING_EVERY_S
                while self.waiting and _found(db, self.waiting[0][0]):
                    _, at = self.waiting.popleft()
                    self.found.append((at, (time.perf_counter() - at) * 1000))
                    patience_s = LOST_AFTER_S
                if self.waiting and time.perf_counter() - self.waiting[0][1] > patience_s:
                    self.trouble = f"{self.waiting[0][0]} was not found after {patience_s:.0f} s"
                    return
                time.sleep(0.01)
        finally:
            db.close()

    def _drop(self, n: int) -> None:
        mark = f"needle{n}x{self.rng.randrange(10**9)}"
        fields = json.loads(hook_input(self.rng, n, self.folder)) | {"tool_input": {"command": f"echo {mark}"}}
        fields["session_id"] = "live"
        draft = self.config.spool / "tmp" / f"{n}.json"
        draft.write_bytes(json.dumps(fields).encode())
        self.waiting.append((mark, time.perf_counter()))
        draft.rename(self.config.spool / "new" / f"{n:09}.json")

    def row(self, name: str, between: tuple[float, float]) -> str:
        took = sorted(ms for at, ms in self.found if between[0] <= at < between[1])
        if len(took) < 2:
            return f"| {name} | {len(took)} | – | – | – |"
        p95 = took[int(0.95 * len(took))]
        return f"| {name} | {len(took)} | {statistics.median(took):.0f} | {p95:.0f} | {took[-1]:.0f} |"


def _found(db: Connection, mark: str) -> bool:
    for (project_id,) in db.execute("select project_id from sessions where id = 'live'"):
        return bool(search.words(db, Scope(project_id), mark, 1, now_ms=time.time_ns() // 1_000_000))
    return False


def wait_for(true: Callable[[], bool], seconds: float) -> None:
    until = time.perf_counter() + seconds
    while not true() and time.perf_counter() < until:
        time.sleep(0.05)


def spread(pairs: Sequence[tuple[float, float]]) -> str:
    columns = zip(*pairs, strict=True)
    return " | ".join(f"{statistics.median(c):.1f} ({min(c):.1f}–{max(c):.1f}; n = {len(c)})" for c in columns)


def checked(run: Run, home: Path) -> Run:
    if run.code != 0 or run.left_running:
        said = (home / "said.txt").read_text(errors="replace")[-2000:]
        raise SystemExit(f"backfill ended with {run.code}, left running: {run.left_running}\n{said}")
    return run


def fresh(top: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix="home-", dir=top))


def small(top: Path, claude: Path, paths: Sequence[Path], rounds: int, rng: random.Random) -> None:
    """Beside the floor, in turn; and killed on the way."""
    rates: list[tuple[float, float]] = []
    floors: list[tuple[float, float]] = []
    killed, whole = [], None
    total = sum(path.stat().st_size for path in paths)
    for _ in range(rounds):
        home = fresh(top)
        run = checked(backfill(home, claude), home)
        rates.append((run.rate, run.mb / run.cpu_s))
        floors.append(floor(home, paths))
        undisturbed = kept(home)
        whole = whole or undisturbed
        assert undisturbed == whole or undisturbed.keys == whole.keys, "two runs differ"
        home = fresh(top)
        # Somewhere in the middle third.
        run = backfill(home, claude, kill_at=int(total * (1 + rng.random()) / 3))
        at_kill = kept(home).events
        again = checked(backfill(home, claude), home)
        after = kept(home)
        same = (after.events, after.indexed, after.keys) == (whole.events, whole.indexed, whole.keys)
        killed.append(
            f"| {run.read_bytes / 1e6:.0f} MB | {at_kill} | {again.rate:.1f} | {after.events} of {whole.events}"
            f" | {'same' if same else 'DIFFERENT'} | {len(run.left_running)} |"
        )
    print(
        f"| {total / 1e6:.0f} MB, {len(paths)} files, alone, in turn | MB/s, median (range) | MB a processor second |"
    )
    print("|---|---|---|")
    print(f"| `recorder backfill --commit`, from start to end | {spread(rates)} |")
    print(f"| floor: json.loads, one insert, one FTS5 of the first {FLOOR_TEXT} characters | {spread(floors)} |")
    ratios = [statistics.median(a[n] / b[n] for a, b in zip(rates, floors, strict=True)) for n in (0, 1)]
    print(f"| ratio | {ratios[0]:.2f} | {ratios[1]:.2f} |\n")
    print("| killed (SIGKILL) at | events then | MB/s of the second run | events after it | keys | left running |")
    print("|---|---|---|---|---|---|")
    print("\n".join(killed) + "\n")


def tell(name: str, run: Run, home: Path) -> None:
    found = kept(home)
    db = connect_readonly(home / ".recorder" / "recorder.db")
    text = text_bytes(db)
    db.close()
    tenths = " ".join(f"{rate:.0f}" for rate in run.tenths())
    print(
        f"| {name} | {run.mb:.0f} | {run.rate:.1f} | {run.mb / run.cpu_s:.1f} | {tenths} | {run.rss_mb:.0f}"
        f" | {found.events} | {found.indexed} | {found.bytes / run.read_bytes:.2f} | {found.bytes / text:.2f} |"
    )


def large(top: Path, claude: Path, rng: random.Random) -> None:
    """All of it, alone; then beside a live session."""
    print(
        "| run | MB | MB/s | MB a processor second | MB/s of each tenth | MB of memory, all | events | in FTS"
        " | store/raw | store/text |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    home = fresh(top)
    tell("alone", checked(backfill(home, claude), home), home)
    home = fresh(top)
    live = Live(home, rng)
    with worker(home, claude) as beside:
        live.thread.start()
        try:
            wait_for(lambda: bool(live.found), STARTED_WITHIN_S)
            quiet = time.perf_counter()
            time.sleep(LIVE_BEFORE_S)
            run = checked(backfill(home, claude), home)
        finally:
            live.stop.set()
            live.thread.join()
            if beside.poll() is not None:  # as when its code changes under it
                live.trouble = f"the worker ended with {beside.poll()}: {live.trouble}"
    tell("worker and live session beside", run, home)
    print("\n| hook input → found by words | n | median ms | p95 ms | max ms |\n|---|---|---|---|---|")
    print(live.row("before", (quiet, run.began_s)))
    print(live.row("during", (run.began_s, run.ended_s)))
    if live.trouble:
        raise SystemExit(live.trouble)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--small-mb", type=int, default=100, help="for the rounds beside the floor, and the kills")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--transcripts", type=Path, default=SHARED, help="a folder of session JSONL")
    chosen = parser.parse_args()
    transcripts = sorted(chosen.transcripts.rglob("*.jsonl"))
    if not transcripts:
        raise SystemExit(f"no transcripts in {chosen.transcripts}: name a folder of session JSONL with --transcripts")
    rng = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        os.environ["KF_RULE_CACHE_DIR"] = str(top / "cache")
        Redactor(Capture()).text("compile the rules once, for all that run here")
        load = os.getloadavg()[0]
        if chosen.rounds:
            paths = make(top / "small", transcripts, chosen.transcripts, chosen.small_mb * 1_000_000)
            small(top, top / "small", paths, chosen.rounds, rng)
        if chosen.mb:
            make(top / "large", transcripts, chosen.transcripts, chosen.mb * 1_000_000)
            large(top, top / "large", rng)
        print(f"\nload {load:.1f}–{os.getloadavg()[0]:.1f}; {os.cpu_count()} cores; seed {chosen.seed}")


if __name__ == "__main__":
    main()
