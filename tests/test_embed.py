"""Text to vector by asking the worker, and the windows a text is embedded in."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from recorder import embed
from recorder.config import Config, Embed
from recorder.recall import rank
from recorder.store import vectors
from recorder.store.vectors import DIMENSION
from recorder.worker_socket import socket_path
from tests.built_model import needs_runtime
from tests.memory_samples import NOW_MS, A, add_event, opened
from worker import shelf
from worker.desk import Answer, Desk, as_text
from worker.index import Model


def test_a_short_text_is_one_window_with_its_date_and_role() -> None:
    assert embed.windows("user", "use uv,\n not pip", 0) == ["[1970-01-01] user: use uv, not pip"]


def test_an_empty_text_has_no_window() -> None:
    assert embed.windows("user", " \n ", 0) == []


def test_prose_has_a_window_each_two_hundred_words_and_none_is_left_out() -> None:
    words = [f"w{n}" for n in range(450)]
    found = embed.windows("assistant", " ".join(words), 0)
    assert [len(window.split()) - 2 for window in found] == [200, 200, 50]
    assert [word for window in found for word in window.split()[2:]] == words


def test_very_long_prose_keeps_eight_windows_of_its_start_and_its_end() -> None:
    found = embed.windows("assistant", " ".join(f"w{n}" for n in range(5000)), 0)
    assert len(found) == 8
    assert found[0].split()[2] == "w0" and found[-1].split()[-1] == "w4999"


def test_one_endless_word_is_cut() -> None:
    assert len(embed.windows("tool", "x" * 100_000, 0)[0]) < 2100


def test_the_same_text_has_the_same_hash_whatever_it_holds() -> None:
    assert embed.content_hash("\ud800") == embed.content_hash("\ud800") != embed.content_hash("\ud801")


def test_without_a_worker_there_is_no_vector_and_a_reason(tmp_path: Path) -> None:
    vector, reason = embed.ask(tmp_path, "question", 200)
    assert vector is None
    assert "worker" in reason


def answering(home: Path, answer: Mapping[str, Any]) -> Desk:
    desk = Desk(home, {"embed": lambda asked: answer})
    desk.open()
    return desk


def test_the_workers_vector_comes_back_as_it_was_made(tmp_path: Path) -> None:
    desk = answering(tmp_path, {"vectors": [base64.b64encode(b"\x01\xff").decode()]})
    try:
        assert embed.ask(tmp_path, "question", 2000) == (b"\x01\xff", "ok")
    finally:
        desk.close()


@pytest.mark.parametrize("answer", [{}, {"vectors": []}, {"vectors": ["not base64!"]}, {"vectors": 7}])
def test_an_answer_that_holds_no_vector_is_a_reason_and_no_error(tmp_path: Path, answer: Mapping[str, Any]) -> None:
    desk = answering(tmp_path, answer)
    try:
        vector, reason = embed.ask(tmp_path, "question", 2000)
    finally:
        desk.close()
    assert vector is None and "not a vector" in reason


def test_a_worker_that_is_late_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.bind(str(socket_path(tmp_path)))
        silent.listen()
        started = time.monotonic()
        vector, reason = embed.ask(tmp_path, "question", 100)
    assert vector is None and "timed out" in reason
    assert time.monotonic() - started < 5.0


def test_a_worker_that_answers_byte_by_byte_holds_nobody_up(tmp_path: Path) -> None:
    done = threading.Event()

    def drip(listener: socket.socket) -> None:
        link, _ = listener.accept()
        with link:
            while not done.wait(0.05):
                link.sendall(b" ")

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(socket_path(tmp_path)))
        listener.listen()
        dripping = threading.Thread(target=drip, args=(listener,))
        dripping.start()
        started = time.monotonic()
        vector, reason = embed.ask(tmp_path, "question", 300)
        took_s = time.monotonic() - started
        done.set()
        dripping.join()
    assert vector is None and "timed out" in reason
    assert took_s < 5.0


def test_a_vector_of_another_model_than_the_index_holds_is_none(tmp_path: Path) -> None:
    desk = answering(tmp_path, {"vectors": [base64.b64encode(b"\x01\xff").decode()], "model": "new"})
    try:
        assert embed.ask(tmp_path, "question", 2000, model="new") == (b"\x01\xff", "ok")
        vector, reason = embed.ask(tmp_path, "question", 2000, model="old")
    finally:
        desk.close()
    assert vector is None and "new" in reason and "old" in reason


def test_a_question_gets_no_vector_that_does_not_compare_with_what_is_stored(tmp_path: Path) -> None:
    config = Config(home=tmp_path, embed=Embed(query_timeout_ms=5000))
    db = opened(tmp_path)
    vectors.adopt(db, "m", 2)
    for model, vector, said in (
        ("m", b"\x01\xff", "ok"),
        ("new", b"\x01\xff", "new is being taken into use"),
        ("m", b"\x01", "a vector of 1 dimensions does not compare with those of 2"),
    ):
        desk = answering(tmp_path, {"vectors": as_text([vector]), "model": model})
        try:
            found, status = embed.of_question(db, config, "question")
        finally:
            desk.close()
        assert (found == vector) is (said == "ok") and said in status
    off = Config(home=tmp_path, embed=Embed(enabled=False))
    assert embed.of_question(db, off, "question") == (None, "unavailable: turned off (embed.enabled)")
    db.close()


def no_model(home: Path) -> Model:
    return Model(home / "models")


def corrupt_model(home: Path) -> Model:
    folder = home / "models" / "broken"
    folder.mkdir(parents=True)
    (folder / shelf.NETWORK).write_bytes(b"not a network")
    (folder / shelf.TOKENIZER).write_text("{}")
    manifest = {"id": "broken", "dimension": DIMENSION, "precision": "int8", "built_ms": NOW_MS}
    (folder / shelf.MANIFEST).write_text(json.dumps(manifest))
    return Model(home / "models")


def of_a_model(make: Callable[[Path], Model]) -> Callable[[Path], Answer]:
    """The worker's answer with this model."""

    def answer(home: Path) -> Answer:
        model = make(home)
        return lambda asked: {"vectors": as_text(model.embed([str(asked["texts"][0])], 5.0)), "model": "m"}

    return answer


def never(home: Path) -> Answer:
    def wait(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        threading.Event().wait(60)
        return {}

    return wait


def too_wide(home: Path) -> Answer:
    return lambda asked: {"vectors": as_text([b"\x01" * 768]), "model": "m"}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        pytest.param(of_a_model(no_model), "models build", marks=needs_runtime, id="missing"),
        pytest.param(of_a_model(corrupt_model), "", marks=needs_runtime, id="corrupt"),
        pytest.param(never, "timed out", id="slow"),
        pytest.param(too_wide, "StoreError", id="wrong dimension"),
    ],
)
def test_whatever_is_wrong_with_the_model_words_answer_in_time_and_say_so(
    tmp_path: Path, make: Callable[[Path], Answer], said: str
) -> None:
    db = opened(tmp_path)
    vectors.adopt(db, "m")
    event_id = add_event(db, A, "we keep SQLite as the store")
    vectors.store(db, "event", event_id, "m", [("x", b"\x01" * DIMENSION)])
    desk = Desk(tmp_path, {"embed": make(tmp_path)})
    desk.open()
    try:
        started = time.monotonic()
        vector, reason = embed.ask(tmp_path, "which store?", 300, model=vectors.model(db))
        found = rank.recall(
            db, "SQLite store", A, k=5, vector=vector, vector_status=f"unavailable: {reason}", now_ms=NOW_MS
        )
        took_s = time.monotonic() - started
    finally:
        desk.close()
    assert [hit.id for hit in found.hits] == [f"e{event_id}"]
    assert found.arms["words"] == "ok"
    assert found.arms["vector"].startswith("unavailable") and said in found.arms["vector"]
    assert took_s < 2.0
