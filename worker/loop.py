"""Claim a job, run it, complete it or put it back; leave when there is nothing to do."""

from __future__ import annotations

import logging
import queue
import resource
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recorder import gate
from recorder.capture import ingest, spool
from recorder.capture.redact import Redactor
from recorder.config import Config
from recorder.counted import many
from recorder.errors import RetryLater
from recorder.store import health, jobs, upkeep
from recorder.store.db import STORE_TROUBLE, Connection, connect, transaction
from worker import brief, daily
from worker.drain import Drain
from worker.handlers import HANDLERS, Context, Handler
from worker.index import Model, fill
from worker.memory_sync import MemorySync
from worker.reconcile import LOOK_EVERY_MS, RECONCILE, Look
from worker.watch import Watch

logger = logging.getLogger(__name__)

SLICE_MS = 200
EMBED_BATCH = 16
HOUR_MS = 3_600_000
UPKEEP_EVERY_MS = 60_000
CODE_CHECK_EVERY_MS = 30_000
TROUBLE_PAUSE_S = 5.0


def run_once(context: Context, handlers: Mapping[str, Handler], *, behind: bool = True) -> bool:
    """Run one job that is due. False when there was none. What waits behind all else comes last, or not at all."""
    db, now_ms = context.db, context.now_ms
    with transaction(db):
        job = jobs.claim(db, now_ms, behind=behind)
    if job is None:
        return False
    try:
        outcome = handlers[job.kind](context, job)
    except RetryLater as later:
        with transaction(db):
            jobs.retry(db, job, now_ms + later.after_ms)
    except STORE_TROUBLE:  # not the job's fault: its lease runs out and it is taken again
        raise
    except Exception as error:
        logger.exception("job %s %s failed, try %d", job.kind, job.subject.replace("\n", " "), job.attempts)
        with transaction(db):
            jobs.fail(db, job, repr(error), now_ms)
    else:
        with transaction(db):
            jobs.complete(db, job, outcome, now_ms)
            jobs.bump(db, f"done_{job.kind}", 1, now_ms)
    return True


@dataclass(slots=True)
class Wish:
    """Somebody waits until everything pending is done."""

    distil: bool
    done: threading.Event = field(default_factory=threading.Event)
    taken: int = 0
    error: str = ""


@dataclass(slots=True)
class Periodic:
    """What is done every so often, and when it is due next."""

    every_ms: int
    act: Callable[[Connection, int], object]
    due_ms: int = 0

    def if_due(self, db: Connection, now_ms: int) -> None:
        """Do it, when it is time."""
        if now_ms >= self.due_ms:
            self.due_ms = now_ms + self.every_ms
            self.act(db, now_ms)


@dataclass(slots=True)
class Loop:
    """The worker: one pass takes in the spool, runs due jobs for a moment, embeds a little when nothing was taken in,
    and for another moment runs what waits behind all else."""

    config: Config
    clock_ms: Callable[[], int]
    redactor: Redactor
    model: Model
    stop: threading.Event = field(default_factory=threading.Event)
    wake: threading.Event = field(default_factory=threading.Event)
    wishes: queue.SimpleQueue[Wish] = field(default_factory=queue.SimpleQueue)
    drain: Drain = field(init=False)
    look: Look = field(init=False)
    periodic: tuple[Periodic, ...] = field(init=False)
    briefed: tuple[int, str | None, int] = (-1, None, 0)
    code_check_due_ms: int = 0
    code_stamp_ns: int = 0
    busy_ms: int = 0
    taken: int = 0

    def __post_init__(self) -> None:
        self.drain = Drain(self.config, self.redactor)
        self.look = Look(self.config)
        self.periodic = (Periodic(UPKEEP_EVERY_MS, self._keep_up), Periodic(LOOK_EVERY_MS, self.look.once))
        self.code_stamp_ns = code_stamp_ns()
        self.model.when_loaded = self.wake.set

    def one_pass(self, db: Connection, *, distil: bool = True, embed: bool = True, wait: bool = False) -> bool:
        """One round. True when something was done, so that another may find more. `wait`: for the model to load, and
        for nothing else."""
        now_ms = self.clock_ms()
        taken = self.drain.once(db, now_ms)
        self.taken += taken
        if self.drain.session_began:
            # Its first question comes soon, and the model takes longer to load than a question waits.
            self.drain.session_began = False
            threading.Thread(target=self.model.warm, name="warm", daemon=True).start()
        ran = self._run(db, behind=False, patient=not wait) if distil else 0
        self._keep_briefs(db, now_ms)
        for one in self.periodic:
            one.if_due(db, now_ms)
        embedded = fill(db, self.model, EMBED_BATCH, wait=wait) if embed and not taken else 0
        ran += self._run(db, behind=True, patient=not wait) if distil else 0
        if taken or ran or embedded:
            self.busy_ms = now_ms
        return bool(taken or ran or embedded)

    def _run(self, db: Connection, *, behind: bool, patient: bool) -> int:
        """Run jobs that are due, for a moment: the spool is looked at again soon. How many."""
        ran, until_ms = 0, self.clock_ms() + SLICE_MS
        while (now_ms := self.clock_ms()) < until_ms and not self.stop.is_set():
            if not run_once(Context(db, self.config, self.redactor, now_ms, patient), HANDLERS, behind=behind):
                break
            ran += 1
        return ran

    def everything(self, db: Connection, *, distil: bool = True) -> int:
        """Take in, distil and index all that is pending, turns that are still open included; files taken in."""
        before = self.taken
        with transaction(db):
            jobs.release(db, self.clock_ms())
        self.taken += self.drain.once(db, self.clock_ms())
        if distil:
            self.look.once(db, self.clock_ms())
        more = True
        while more and not self.stop.is_set():
            if distil:
                with transaction(db):
                    jobs.hasten(db, ingest.DISTIL, "", due_ms=self.clock_ms())
                    jobs.hasten_ended(db, ingest.CLOSE, due_ms=self.clock_ms())
                    jobs.hasten(db, RECONCILE, "", due_ms=self.clock_ms())
            more = self.one_pass(db, distil=distil, wait=True)
        self._keep_briefs(db, self.clock_ms())
        return self.taken - before

    def run(self) -> None:
        """Work until told to stop, or until there is a reason to leave."""
        spool.prepare(self.config.spool)
        watch = Watch(self.config.spool / "new", self.wake.set)
        watch.start()
        memory = MemorySync(self.config, self.clock_ms, self.redactor.texts, self.wake.set)
        memory.start()
        self.busy_ms = self.clock_ms()
        db = connect(self.config.db_path)
        troubled = False
        try:
            while not self.stop.is_set():
                self.wake.clear()
                try:
                    if troubled:  # what was begun then is not done, and nobody else will do it
                        with transaction(db):
                            jobs.release(db, self.clock_ms())
                        troubled = False
                    self._grant_wishes(db)
                    if self.one_pass(db):
                        continue
                except STORE_TROUBLE as error:
                    logger.error("the store cannot be used (%s): tried again in %d s", error, TROUBLE_PAUSE_S)
                    troubled = True
                    self.stop.wait(TROUBLE_PAUSE_S)
                    continue
                reason = self.reason_to_leave(db)
                if reason:
                    logger.info("leaving: %s", reason)
                    return
                self.wake.wait(self._nap_s(db))
        finally:
            watch.stop()
            memory.stop()
            self.model.close()
            db.close()

    def reason_to_leave(self, db: Connection) -> str | None:
        """Why the worker may end itself now, or None."""
        now_ms = self.clock_ms()
        if now_ms >= self.code_check_due_ms:
            self.code_check_due_ms = now_ms + CODE_CHECK_EVERY_MS
            if code_stamp_ns() > self.code_stamp_ns:
                return "newer code lies on disk"
        if rss_mb() > self.config.worker.max_rss_mb:
            return f"more than {self.config.worker.max_rss_mb} MB of memory were in use"
        idle_ms = now_ms - self.busy_ms
        if idle_ms < self.config.worker.idle_minutes * 60_000:
            return None
        # A session that can still be closed has its job in the queue.
        if jobs.next_due_ms(db) is not None or spool.pending(self.config.spool):
            return None
        return f"nothing to do for {many(idle_ms // 60_000, 'minute')}"

    def _grant_wishes(self, db: Connection) -> None:
        while not self.wishes.empty():
            wish = self.wishes.get()
            try:
                wish.taken = self.everything(db, distil=wish.distil)
            except Exception as error:
                wish.error = str(error)
                raise
            finally:
                wish.done.set()

    def _nap_s(self, db: Connection) -> float:
        due_ms = jobs.next_due_ms(db)
        poll_s = self.config.worker.poll_s
        if due_ms is None:
            return poll_s
        return min(poll_s, max(0.05, (due_ms - self.clock_ms()) / 1000))

    def _keep_briefs(self, db: Connection, now_ms: int) -> None:
        # Days, months and years begin with an hour: by then another version may hold.
        mark = upkeep.change_mark(db, now_ms), health.stuck(db, now_ms), now_ms // HOUR_MS
        if mark != self.briefed:
            gate.turn_due(db, now_ms)
            brief.write_all(db, self.config, now_ms)
            self.briefed = mark

    def _keep_up(self, db: Connection, now_ms: int) -> None:
        spool.adopt_leftovers(self.config.spool, now_ms / 1000)
        spool.sweep_bad(self.config.spool, now_ms / 1000)
        upkeep.bound_size(db, self.config.store.max_mb)
        gate.finish_forgets(db, now_ms)
        upkeep.shrink(db)
        daily.keep(db, self.config, now_ms, busy_ms=self.busy_ms)
        self.model.idle(now_ms)

    def status(self) -> dict[str, Any]:
        """What the worker says of itself."""
        model = {"model": self.model.status, "model_pid": self.model.pid, "model_mb": self.model.rss_mb}
        return {"taken": self.taken, "busy_ms": self.busy_ms, "rss_mb": rss_mb(), **model}


def system_clock_ms() -> int:
    """The wall clock."""
    return time.time_ns() // 1_000_000


def rss_mb() -> int:
    """The memory this process holds, in MB; where the system does not tell, the most it ever held.

    Source: proc(5), statm: pages resident. getrusage(2): ru_maxrss is in KB on Linux, where a program also inherits
    the peak of the one that started it, and in bytes on macOS.
    """
    try:
        with open("/proc/self/statm", encoding="ascii") as told:
            return int(told.read().split()[1]) * resource.getpagesize() // (1024 * 1024)
    except (OSError, ValueError, IndexError):  # no Linux
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024 * 1024) if sys.platform == "darwin" else peak // 1024


def code_stamp_ns() -> int:
    """When the youngest of our source files was changed."""
    root = Path(__file__).resolve().parent.parent
    files = [path for top in ("recorder", "worker") for path in (root / top).rglob("*.py")]
    return max((path.stat().st_mtime_ns for path in files), default=0)
