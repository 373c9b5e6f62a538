"""Text to vector by asking the worker, and the windows a text is embedded in."""

from __future__ import annotations

import base64
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from recorder import embed
from recorder.worker_socket import socket_path
from worker.desk import Desk


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
