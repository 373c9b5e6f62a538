"""Whatever becomes of model and worker, words answer in time and the answer says what could not look."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from recorder import worker_socket
from recorder.errors import WorkerUnavailable
from recorder.store import vectors
from tests import tiny_model
from tests.built_model import needs_runtime
from tests.cli.terminal import ROOT, Terminal, environ
from worker import shelf

QUESTION = "how do we run the tests with pytest?"
DEADLINE_MS = 250
PATIENCE_S = 60.0


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@contextmanager
def worker(terminal: Terminal, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of this home that answers."""
    own = environ(terminal.home, RECORDER_WORKER_POLL_S="0.05", **more)
    running = subprocess.Popen([sys.executable, "-m", "worker"], env=own, cwd=ROOT)
    try:
        until(lambda: status(terminal) is not None)
        yield running
    finally:
        running.terminate()
        running.wait(timeout=PATIENCE_S)


def status(terminal: Terminal) -> dict[str, Any] | None:
    try:
        return worker_socket.request(terminal.home, "status", timeout_s=5)
    except WorkerUnavailable:
        return None


def searched(terminal: Terminal) -> tuple[dict[str, str], float]:
    """What the arms say, and how many seconds the answer took; words alone must have found the rule."""
    begun = time.monotonic()
    found = terminal.ok("search", QUESTION)
    took_s = time.monotonic() - begun
    by_words = found["hits"] or found["arms"]["vector"] == "ok"  # what the tiny model says may be beside the point
    assert found["arms"]["words"] == "ok" and by_words, found
    return found["arms"], took_s


def assert_words_answer(terminal: Terminal, said: str) -> None:
    """In no more than the deadline beyond what words take by themselves, and with the reason beside them."""
    terminal.set("RECORDER_EMBED_QUERY_TIMEOUT_MS", str(DEADLINE_MS))
    reasons = []

    def told() -> bool:
        arms, took_s = searched(terminal)
        assert arms["vector"].startswith("unavailable: "), arms
        assert took_s < DEADLINE_MS / 1000 + 2.0, f"{took_s} s"  # a busy machine may take its time over the words
        reasons.append(arms["vector"])
        return said in reasons[-1]

    until(told)


def truncated(models_dir: Path) -> None:
    network = tiny_model.make(models_dir, "tiny").folder / shelf.NETWORK
    network.write_bytes(network.read_bytes()[:200])


def no_network(models_dir: Path) -> None:
    """One whose digests are right and that cannot be read all the same."""
    folder = tiny_model.make(models_dir, "tiny").folder
    (folder / shelf.NETWORK).write_bytes(b"not a network")
    manifest = json.loads((folder / shelf.MANIFEST).read_text())
    manifest["sha256"][shelf.NETWORK] = shelf.digest_of(folder / shelf.NETWORK)
    (folder / shelf.MANIFEST).write_text(json.dumps(manifest))


def too_wide(models_dir: Path) -> None:
    tiny_model.make(models_dir, "tiny", 16, named=384)


@needs_runtime
@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(lambda models_dir: None, "no model (run `recorder models build`)", id="missing"),
        pytest.param(truncated, "model.onnx is not what was built", id="truncated"),
        pytest.param(no_network, "cannot be loaded", id="corrupt"),
        pytest.param(too_wide, "16 dimensions and not the 384", id="wrong dimension"),
    ],
)
def test_a_model_that_cannot_be_used_leaves_the_words_and_its_reason(
    terminal: Terminal, make: Callable[[Path], None], said: str
) -> None:
    make(terminal.home / "models")
    with worker(terminal):
        assert_words_answer(terminal, said)


@needs_runtime
def test_a_model_that_hangs_leaves_the_words_and_its_reason_and_is_replaced(terminal: Terminal) -> None:
    tiny_model.make(terminal.home / "models", "tiny")
    with worker(terminal):
        until(lambda: searched(terminal)[0]["vector"] == "ok")
        stopped = (status(terminal) or {})["model_pid"]
        os.kill(stopped, signal.SIGSTOP)
        assert_words_answer(terminal, "timed out")
        until(lambda: searched(terminal)[0]["vector"] == "ok")
        assert (status(terminal) or {})["model_pid"] != stopped


def test_a_worker_that_is_not_there_leaves_the_words_and_its_reason(terminal: Terminal) -> None:
    assert_words_answer(terminal, "the worker does not answer")


def test_a_worker_that_was_killed_leaves_the_words_and_its_reason(terminal: Terminal) -> None:
    with worker(terminal) as running:
        running.kill()
        running.wait()
        assert_words_answer(terminal, "the worker does not answer")


@contextmanager
def listening(terminal: Terminal, answer: bytes | None) -> Iterator[None]:
    """Somebody on the worker's socket who gives everybody this answer, or none."""
    over = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(worker_socket.socket_path(terminal.home)))
        listener.listen(64)
        listener.settimeout(0.05)
        links = []

        def serve() -> None:
            while not over.is_set():
                try:
                    link, _ = listener.accept()
                except TimeoutError:
                    continue
                links.append(link)
                if answer is not None:
                    link.sendall(answer)

        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield
        finally:
            over.set()
            serving.join()
            for link in links:
                link.close()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "timed out"),
        (b'{"ok": false, "error": "version", "v": 99}\n', "version"),
        (b"\xff\xfe\n", "does not answer"),
        (b'{"ok": true, "vectors": ["AAAA"], "model": "m"}\n', "a vector of 3 dimensions"),
        (b'{"ok": true}\n', "not a vector"),
    ],
    ids=["hung", "of another version", "noise", "of another dimension", "no vector"],
)
def test_whoever_listens_on_the_socket_the_words_answer(terminal: Terminal, answer: bytes | None, said: str) -> None:
    db = terminal.db()
    vectors.adopt(db, "m", 16)
    db.close()
    with listening(terminal, answer):
        assert_words_answer(terminal, said)


@needs_runtime
def test_another_model_is_taken_into_use_while_words_answer(terminal: Terminal) -> None:
    models = terminal.home / "models"
    tiny_model.make(models, "narrow", 8)
    tiny_model.make(models, "wide", 24)
    config = terminal.home / "config.toml"
    config.write_text("# mine\n[embed]\nmodel = 'narrow' # for now\nidle_minutes = 4.0\n")

    def listed() -> dict[str, tuple[bool, int, int | None]]:
        return {one["id"]: (one["used"], one["embedded"], one["waiting"]) for one in terminal.ok("models", "list")}

    with worker(terminal):
        until(lambda: listed()["narrow"][1] > 0 and listed()["narrow"][2] == 0)
        rows = listed()["narrow"][1]
        assert listed() == {"narrow": (True, rows, 0), "wide": (False, 0, None)}
        said = terminal.ok("models", "use", "wide")
        assert said == {"id": "wide", "changed": True, "worker": True, "to_embed": rows}
        assert config.read_text() == '# mine\n[embed]\nmodel = "wide" # for now\nidle_minutes = 4.0\n'

        def moved() -> bool:
            searched(terminal)
            return listed() == {"narrow": (False, 0, None), "wide": (True, rows, 0)}

        until(moved)
        until(lambda: searched(terminal)[0]["vector"] == "ok")
    db = terminal.db()
    assert list(db.execute("select distinct model, length(vector) from embeddings")) == [("wide", 24)]
    db.close()
