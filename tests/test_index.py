"""The model's child: what it answers, how it ends, and how it comes back."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recorder.errors import WorkerUnavailable
from recorder.models import EventKind
from recorder.store import vectors
from recorder.store.db import Connection
from tests import tiny_model
from tests.built_model import MODELS, needs_model, needs_runtime
from tests.memory_samples import NOW_MS, A, B, add_event, add_memory, opened
from worker import shelf
from worker.index import ROOT, Model, backoff_s, fill


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    connection = opened(tmp_path / "store")
    yield connection
    connection.close()


@pytest.fixture
def model() -> Iterator[Model]:
    model = Model(MODELS)
    yield model
    model.close()


def until(met: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not met():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def cosine(left: bytes, right: bytes) -> float:
    signed = [[byte - 256 if byte > 127 else byte for byte in vector] for vector in (left, right)]
    a, b = signed
    return sum(x * y for x, y in zip(a, b, strict=True)) / (math.hypot(*a) * math.hypot(*b))


def broken_model(models_dir: Path, name: str = "broken") -> None:
    """A folder that looks built and holds nothing that runs."""
    folder = models_dir / name
    folder.mkdir(parents=True)
    (folder / shelf.NETWORK).write_bytes(b"not a network")
    (folder / shelf.TOKENIZER).write_text("{}")
    (folder / shelf.MANIFEST).write_text(
        json.dumps({"id": name, "dimension": 384, "precision": "int8", "built_ms": NOW_MS})
    )


def queue(db: Connection, owner: str, owner_id: int, at_ms: int = NOW_MS) -> None:
    db.execute("insert or ignore into embed_queue (owner, owner_id, at_ms) values (?, ?, ?)", (owner, owner_id, at_ms))


def test_the_worker_loads_none_of_the_models_libraries() -> None:
    code = (
        "import sys, worker.index;"
        "print([n for n in sys.modules if n.split('.')[0] in ('numpy', 'onnxruntime', 'tokenizers', 'torch')])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert said.stdout.strip() == "[]"


def test_the_wait_before_a_restart_doubles_up_to_five_minutes() -> None:
    assert [backoff_s(n) for n in (0, 1, 2, 3, 8, 9, 60)] == [0.0, 2.0, 4.0, 8.0, 256.0, 300.0, 300.0]


@needs_runtime
def test_without_a_model_the_status_names_the_command_that_makes_one(tmp_path: Path) -> None:
    model = Model(tmp_path)
    assert model.status == "unavailable: no model (run `recorder models build`)"
    assert model.chosen is None
    with pytest.raises(WorkerUnavailable, match="models build"):
        model.embed(["text"], 1.0)


def test_turned_off_nothing_is_started(tmp_path: Path) -> None:
    model = Model(MODELS, enabled=False)
    assert "turned off" in model.status
    with pytest.raises(WorkerUnavailable, match="turned off"):
        model.embed(["text"], 1.0)
    assert model.pid is None


def test_without_the_runtime_the_status_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "onnxruntime" else object())
    assert Model(tmp_path).status.startswith("unavailable: onnxruntime is not installed")


@needs_runtime
def test_a_model_that_cannot_be_loaded_is_an_answer_and_is_tried_again_later(tmp_path: Path) -> None:
    broken_model(tmp_path)
    now_ms = [1_000_000]
    model = Model(tmp_path, clock_ms=lambda: now_ms[0])
    with pytest.raises(WorkerUnavailable, match="cannot be loaded"):
        model.embed(["text"], 5.0)
    assert model.status.startswith("unavailable: model broken cannot be loaded") and "again in" in model.status
    assert model.pid is None
    now_ms[0] += 2_000
    assert model.status == "ok"


@needs_runtime
def test_nothing_is_lost_from_the_queue_while_no_model_is_there(db: Connection, tmp_path: Path) -> None:
    queue(db, "event", add_event(db, A, "waits"))
    assert fill(db, Model(tmp_path), 10) == 0
    assert vectors.waiting(db) == 1


@needs_runtime
def test_the_settings_name_the_model_by_its_name_or_its_source_and_the_packaged_one_is_meant_else(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    models = tmp_path / "models"
    for number, (name, source) in enumerate(
        (("packaged", shelf.PACKAGE), ("first", str(folder)), ("second", str(folder)), ("hub", "somebody/small"))
    ):
        tiny_model.make(models, name, source=source, built_ms=number)
    for wanted, run in (
        ("", "packaged"),
        ("first", "first"),
        (str(folder), "second"),
        (f"{folder}/../weights", "second"),
        ("somebody/small", "hub"),
        ("not/built", "hub"),
    ):
        model = Model(models, wanted=wanted)
        assert model.chosen is not None and model.chosen.id == run, wanted


@needs_runtime
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda network: network.write_bytes(network.read_bytes()[:-50]), "model.onnx is not what was built"),
        (lambda network: network.write_bytes(network.read_bytes()[:-1] + b"x"), "model.onnx is not what was built"),
        (lambda network: network.with_name(shelf.TOKENIZER).write_text("{}"), "tokenizer.json is not what was built"),
    ],
    ids=["truncated", "one byte changed", "another tokenizer"],
)
def test_a_damaged_model_is_not_run_and_the_status_says_how_to_mend_it(
    tmp_path: Path, spoil: Callable[[Path], object], said: str
) -> None:
    spoil(tiny_model.make(tmp_path, "tiny").folder / shelf.NETWORK)
    model = Model(tmp_path)
    with pytest.raises(WorkerUnavailable, match=said):
        model.embed(["text"], 30.0)
    assert "models build --force" in model.status and model.pid is None


@needs_runtime
def test_a_model_whose_vectors_are_not_as_long_as_it_says_is_not_run(tmp_path: Path) -> None:
    tiny_model.make(tmp_path, "tiny", 16, named=384)
    model = Model(tmp_path)
    with pytest.raises(WorkerUnavailable, match="16 dimensions and not the 384"):
        model.embed(["text"], 30.0)


@needs_runtime
def test_however_often_a_model_cannot_be_loaded_nothing_leaves_the_queue(db: Connection, tmp_path: Path) -> None:
    broken_model(tmp_path)
    now_ms = [NOW_MS]
    model = Model(tmp_path, clock_ms=lambda: now_ms[0])
    for text in ("one", "two"):
        queue(db, "event", add_event(db, A, text))
    for _ in range(5):
        now_ms[0] += 3_600_000
        assert fill(db, model, 10) == 0
    assert model.failures == 5 and vectors.waiting(db) == 2
    assert [item.at_ms for item in vectors.due(db, 5)] == [NOW_MS, NOW_MS]


@needs_runtime
def test_what_is_embedded_while_another_model_is_chosen_is_all_by_one_model(db: Connection, tmp_path: Path) -> None:
    old, new = tiny_model.make(tmp_path, "old", 8), tiny_model.make(tmp_path, "new", 12, built_ms=2)
    model = Model(tmp_path, wanted="old")

    def texts() -> Iterator[str]:
        yield "before"
        model.choose("new")
        yield "after"

    assert [len(vector) for vector in model.embed(texts(), 30.0)] == [old.dimension] * 2
    assert [len(vector) for vector in model.embed(["next"], 30.0)] == [new.dimension]
    model.close()


def test_a_half_copied_model_is_none(tmp_path: Path) -> None:
    broken_model(tmp_path)
    (tmp_path / "broken" / shelf.TOKENIZER).unlink()
    assert shelf.chosen(tmp_path) is None


@needs_model
def test_near_meanings_have_near_vectors(model: Model) -> None:
    question, answer, other = model.embed(
        ["which database did we choose?", "we decided to keep SQLite as the store", "the header is blue"], 30.0
    )
    assert len(question) == 384
    assert cosine(question, answer) > cosine(question, other) + 0.1


@needs_model
def test_a_vector_does_not_depend_on_its_batch(model: Model) -> None:
    texts = ["use uv", "word " * 400, "the deployment goes out on Tuesday", "", "\ud800 lone \x00 日本語"]
    together = model.embed(texts, 30.0)
    alone = [model.embed([text], 30.0)[0] for text in texts]
    assert min(cosine(a, b) for a, b in zip(alone, together, strict=True)) >= 0.999


@needs_model
def test_the_child_is_small_and_gives_way(model: Model) -> None:
    model.embed(["word " * 400] * 3, 60.0)
    assert model.pid is not None
    assert os.getpriority(os.PRIO_PROCESS, model.pid) >= min(os.getpriority(os.PRIO_PROCESS, 0) + 5, 19)
    assert 0 < model.rss_mb <= 250


@needs_model
def test_the_child_ends_when_it_was_idle_long_enough_and_comes_back_when_asked() -> None:
    now_ms = [NOW_MS]
    model = Model(MODELS, idle_minutes=5.0, clock_ms=lambda: now_ms[0])
    first = model.embed(["text"], 30.0)
    assert not model.idle(NOW_MS + 4 * 60_000)
    pid = model.pid
    assert pid is not None
    assert model.idle(NOW_MS + 5 * 60_000)
    assert model.pid is None and not alive(pid)
    assert model.embed(["text"], 30.0) == first
    model.close()


@needs_model
def test_a_killed_child_is_replaced_after_a_pause(model: Model) -> None:
    now_ms = [NOW_MS]
    model.clock_ms = lambda: now_ms[0]
    first = model.embed(["text"], 30.0)
    assert model.pid is not None
    os.kill(model.pid, signal.SIGKILL)
    # Whether the death is seen before or while asking, the next answer is the same or a reason.
    try:
        assert model.embed(["text"], 30.0) == first
    except WorkerUnavailable:
        assert "again in" in model.status
        now_ms[0] += 5_000
        assert model.embed(["text"], 30.0) == first


@needs_model
def test_a_child_above_its_memory_is_replaced() -> None:
    model = Model(MODELS, max_rss_mb=1)
    first = model.embed(["text"], 30.0)
    assert model.pid is None
    assert model.embed(["text"], 30.0) == first
    assert model.status == "ok"


@needs_model
def test_a_late_answer_is_never_taken_for_that_of_another_text(model: Model) -> None:
    right = model.embed(["right"], 30.0)
    assert model.pid is not None
    os.kill(model.pid, signal.SIGSTOP)
    with pytest.raises(WorkerUnavailable, match="in time"):
        model.embed(["late"], 0.01)
    model.retry_ms = 0
    assert model.embed(["right"], 30.0) == right


@needs_model
def test_the_child_ends_with_the_process_that_asked_it() -> None:
    code = (
        "import os, sys; from pathlib import Path; from worker.index import Model;"
        f"m = Model(Path({str(MODELS)!r})); m.embed(['x'], 30.0); print(m.pid, flush=True); sys.stdin.read()"
    )
    asker = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with asker:
        assert asker.stdout is not None
        child = int(asker.stdout.readline())
        assert alive(child)
        asker.kill()
    assert until(lambda: not alive(child) or _is_zombie(child))


def _is_zombie(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return state.stdout.strip().startswith("Z")


@needs_model
def test_questions_take_turns_with_the_texts_of_a_long_batch(model: Model) -> None:
    model.embed(["warm"], 30.0)
    begun, enough = threading.Event(), threading.Event()
    given = 0

    def texts() -> Iterator[str]:
        nonlocal given
        while not enough.is_set():
            given += 1
            yield f"text {given}"
            begun.set()

    batch = threading.Thread(target=lambda: model.embed(texts(), 120.0))
    batch.start()
    assert begun.wait(30)
    waited = []
    for _ in range(20):
        before = given
        model.embed(["question"], 60.0)
        waited.append(given - before)
    enough.set()
    batch.join()
    assert max(waited) <= 2


@needs_model
def test_what_waits_is_embedded_and_found_by_its_meaning_in_its_scope_alone(db: Connection, model: Model) -> None:
    event_id = add_event(db, A, "we decided to keep SQLite as the store")
    noise = add_event(db, A, "the header is blue", kind=EventKind.ASSISTANT)
    memory = add_memory(db, A, "decision.database", "SQLite stays the only database")
    for waiting in (event_id, noise):
        queue(db, "event", waiting)
    while fill(db, model, 2):
        pass
    assert vectors.waiting(db) == 0
    question = model.embed(["which database did we choose?"], 30.0)[0]
    found = [(near.owner, near.owner_id) for near in vectors.search(db, A, question, 5)]
    assert set(found[:2]) == {("event", event_id), ("memory", memory.version_id)}
    assert found[2] == ("event", noise)
    assert vectors.search(db, B, question, 5) == []


@needs_model
def test_a_text_a_scope_has_embedded_before_needs_no_model(db: Connection, model: Model) -> None:
    first, second = (add_event(db, A, "the very same words") for _ in range(2))
    queue(db, "event", first)
    assert fill(db, model, 5) == 1
    used_ms = model.used_ms
    queue(db, "event", second)
    assert fill(db, model, 5) == 1
    assert model.used_ms == used_ms
    rows = list(db.execute("select vector from embeddings where owner = 'event'"))
    assert len(rows) == 2 and rows[0] == rows[1]


@needs_model
def test_what_wants_no_vector_leaves_the_queue(db: Connection, model: Model) -> None:
    event_id = add_event(db, A, "not typed")
    db.execute("update events set class = 'injected' where id = ?", (event_id,))
    queue(db, "event", event_id)
    assert fill(db, model, 5) == 1
    assert vectors.waiting(db) == 0
    assert list(db.execute("select count(*) from embeddings")) == [(0,)]


@needs_model
def test_memory_does_not_grow_with_the_number_of_texts(model: Model) -> None:
    model.embed([f"warming up {n} " + "word " * (n % 60) for n in range(60)], 120.0)
    before = model.rss_mb
    model.embed([f"text {n} " + "word " * (n % 60) for n in range(250)], 240.0)
    assert model.rss_mb - before <= 2
