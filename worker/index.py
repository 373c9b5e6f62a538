"""Text to vectors, by a child that holds the model and ends when idle."""

from __future__ import annotations

import base64
import importlib.util
import json
import logging
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from recorder.embed import content_hash, windows
from recorder.errors import WorkerUnavailable
from recorder.store import vectors
from recorder.store.db import Connection
from worker import shelf

logger = logging.getLogger(__name__)

NEEDED = ("onnxruntime", "tokenizers", "numpy")
START_TIMEOUT_S = 30.0
EMBED_TIMEOUT_S = 10.0
LEAST_TIMEOUT_S = 2.0
MOST_WAITING = 50_000
"""The queue holds so many, the newest: of a backfill of years the rest waits in the store until they are done."""
MAX_RSS_MB = 350
"""A child above this is ended after its answer; the next text starts another."""
MOST_CHARS = 4000
"""More of a text is never read (256 tokens), and so a request always fits into the pipe at once."""
ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
ROOT = Path(__file__).resolve().parent.parent


def backoff_s(failures: int) -> float:
    """Seconds until a child that failed so often in a row is started again: none, 2, 4, … at most 5 minutes."""
    return 0.0 if failures == 0 else min(2.0**failures, 300.0)


class Model:
    """The model's child: started when first asked, ended when idle, started again when it died.

    Threads may share it; each text is a turn, and turns go round.
    """

    def __init__(
        self,
        models_dir: Path,
        *,
        wanted: str = "",
        enabled: bool = True,
        idle_minutes: float = 5.0,
        max_rss_mb: int = MAX_RSS_MB,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.models_dir = models_dir
        self.wanted = wanted
        self.enabled = enabled
        self.idle_minutes = idle_minutes
        self.max_rss_mb = max_rss_mb
        self.clock_ms = clock_ms
        self.child: subprocess.Popen[bytes] | None = None
        self.running: str | None = None
        self.loaded: str | None = None
        """The model whose child has said that it is ready."""
        self.when_loaded: Callable[[], None] = lambda: None
        """Called when the child was loaded, or could not be."""
        self.rss_mb = 0
        self.used_ms = 0
        self.failures = 0
        self.retry_ms = 0
        self.reason = ""
        # Who waits for the room holds the door, so that a long batch cannot slip in before a question.
        self.door = threading.Lock()
        self.room = threading.Lock()

    @property
    def status(self) -> str:
        """`ok`, or `unavailable: <why and what to do>`. Nothing is started to find out."""
        return self._missing() or "ok"

    @property
    def chosen(self) -> shelf.Built | None:
        """The model that is run, or would be."""
        return shelf.chosen(self.models_dir, self.wanted)

    def choose(self, wanted: str) -> None:
        """From the next text on run what `embed.model` means now. What failed before is tried again at once."""
        self.wanted, self.failures = wanted, 0

    @property
    def pid(self) -> int | None:
        """The child's, while there is one."""
        return self.child.pid if self.child and self.child.poll() is None else None

    def embed(self, texts: Iterable[str], timeout_s: float, built: shelf.Built | None = None) -> list[bytes]:
        """The vector of each text, one byte a dimension (`worker.child.as_int8`), all by this model or the chosen one.

        Raises: WorkerUnavailable when there is no model, it is late, or it died; the reason is in `status` too.
        """
        deadline = time.monotonic() + timeout_s
        built = built or self.chosen
        found = []
        for text in texts:
            with self.door:
                if not self.room.acquire(timeout=max(0.0, deadline - time.monotonic())):
                    raise WorkerUnavailable(f"the model is busy: no vector within {timeout_s} s")
            try:
                found.append(self._one(text, deadline, built))
            finally:
                self.room.release()
        return found

    def warm(self, built: shelf.Built | None = None) -> bool:
        """Have the child running before the first question comes. False when it cannot be; `status` says why."""
        built = built or self.chosen
        with self.room:
            if self._missing() is not None or built is None:
                return False
            try:
                self._started(built)
            except WorkerUnavailable:  # logged by now
                return False
            finally:
                self.when_loaded()
            self.used_ms = self.clock_ms()
            return True

    def ready(self, built: shelf.Built) -> bool:
        """Whether the child can be asked at once. Where it cannot, it is started beside: a model may take half a minute
        to load, or never come to an end of it, and nobody waits for that but who asks for a vector."""
        if self.loaded == built.id and self.pid is not None:
            return True
        if self._missing() is None and not self.room.locked():
            threading.Thread(target=self.warm, args=(built,), name="load", daemon=True).start()
        return False

    def idle(self, now_ms: int) -> bool:
        """End the child when it was not used for long enough. True when it was ended."""
        if not self.room.acquire(blocking=False):  # it is at work, or being loaded
            return False
        try:
            if self.child is None or now_ms - self.used_ms < self.idle_minutes * 60_000:
                return False
            self._end()
            return True
        finally:
            self.room.release()

    def close(self) -> None:
        """End the child."""
        child = self.child
        if child is not None and self.loaded is None:  # whoever waits for it to load holds the room
            child.kill()
        with self.room:
            self._end()

    def _missing(self) -> str | None:
        if not self.enabled:
            return "unavailable: turned off (embed.enabled)"
        absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
        if absent:
            return f"unavailable: {absent[0]} is not installed (pip install 'claude-recorder[semantic]')"
        if self.chosen is None:
            return f"unavailable: {shelf.NO_MODEL}"
        wait_ms = self.retry_ms - self.clock_ms()
        if self.failures and wait_ms > 0:
            return f"unavailable: {self.reason}; tried again in {wait_ms // 1000 + 1} s"
        return None

    def _one(self, text: str, deadline: float, built: shelf.Built | None) -> bytes:
        # What runs need not be looked for: 0.2 ms of every text.
        if built is None or self.pid is None or self.running != built.id:
            missing = self._missing()
            if missing or built is None:
                raise WorkerUnavailable((missing or shelf.NO_MODEL).removeprefix("unavailable: "))
        child = self._started(built)
        deadline = max(deadline, time.monotonic() + LEAST_TIMEOUT_S)  # the start took its time, not the text
        line = json.dumps({"text": text[:MOST_CHARS]}).encode() + b"\n"
        try:
            assert child.stdin is not None
            child.stdin.write(line)
            child.stdin.flush()
        except OSError as error:
            raise self._failed(f"the model's process ended ({error})") from error
        answer = self._answer(child, deadline)
        self.failures = 0
        self.used_ms = self.clock_ms()
        if "vector" not in answer:
            raise WorkerUnavailable(f"the model cannot read this text: {answer.get('error')}")
        self._mind_memory(int(answer.get("rss_mb", 0)))
        return base64.b64decode(answer["vector"])

    def _started(self, built: shelf.Built) -> subprocess.Popen[bytes]:
        if self.child is not None and (self.child.poll() is not None or self.running != built.id):
            self._end()
        if self.child is None:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "worker.child", "--model", str(built.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=ROOT,
                env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ} | {"HF_HUB_OFFLINE": "1"},
                start_new_session=True,
            )
            self.running = built.id
            hello = self._answer(self.child, time.monotonic() + START_TIMEOUT_S)
            if "ready" not in hello:
                raise self._failed(f"model {built.id} cannot be loaded: {hello.get('error')}")
            self.loaded = built.id
            self.rss_mb = int(hello.get("rss_mb", 0))
            logger.info("model %s runs as process %d with %s MB", built.id, self.child.pid, hello.get("rss_mb"))
        return self.child

    def _answer(self, child: subprocess.Popen[bytes], deadline: float) -> dict[str, Any]:
        """One line from the child. A late child is ended: its answer would be taken for that of the next text."""
        assert child.stdout is not None
        line = b""
        poll = select.poll()
        poll.register(child.stdout, select.POLLIN)
        while not line.endswith(b"\n"):
            left_ms = (deadline - time.monotonic()) * 1000
            if left_ms <= 0 or not poll.poll(left_ms):
                raise self._failed("the model did not answer in time")
            block = os.read(child.stdout.fileno(), 65536)
            if not block:
                raise self._failed("the model's process ended")
            line += block
        try:
            answer = json.loads(line)
        except ValueError as error:
            raise self._failed(f"the model's answer cannot be read ({error})") from error
        return answer if isinstance(answer, dict) else {}

    def _mind_memory(self, rss_mb: int) -> None:
        self.rss_mb = rss_mb
        if rss_mb > self.max_rss_mb:
            logger.info("model child ended at %d MB, more than %d", rss_mb, self.max_rss_mb)
            self._end()

    def _failed(self, reason: str) -> WorkerUnavailable:
        self._end()
        self.failures += 1
        self.retry_ms = self.clock_ms() + int(backoff_s(self.failures) * 1000)
        self.reason = reason
        logger.warning("%s (failure %d in a row)", reason, self.failures)
        return WorkerUnavailable(reason)

    def _end(self) -> None:
        child, self.child, self.running, self.loaded = self.child, None, None, None
        if child is None:
            return
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
        child.kill()
        child.wait()


def fill(db: Connection, model: Model, limit: int, *, wait: bool = True) -> int:
    """Embed what waits, newest first; how many were dealt with. No transaction is open while the model works.

    Without `wait` nothing is embedded before the model is loaded.
    """
    built = model.chosen if model.status == "ok" else None
    if built is None:
        return 0
    vectors.adopt(db, built.id, built.dimension, most=MOST_WAITING)
    vectors.bound_queue(db, MOST_WAITING)
    done = 0
    for item in vectors.due(db, limit):
        texts = windows(item.role, item.text, item.at_ms)
        hashes = [content_hash(text) for text in texts]
        found = vectors.known(db, item.scope_id, built.id, hashes)
        wanted = {key: text for key, text in zip(hashes, texts, strict=True) if key not in found}
        if wanted and not (model.warm(built) if wait else model.ready(built)):
            break  # no text's fault: all of them wait until it is loaded
        try:
            found |= zip(wanted, model.embed(wanted.values(), EMBED_TIMEOUT_S, built), strict=True)
        except WorkerUnavailable as error:
            logger.warning("no vector for %s %d: %s", item.owner, item.owner_id, error)
            vectors.postpone(db, item.owner, item.owner_id)
            break
        vectors.store(db, item.owner, item.owner_id, built.id, [(key, found[key]) for key in hashes])
        done += 1
    return done
