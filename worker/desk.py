"""The worker's socket: one JSON line there, one back."""

from __future__ import annotations

import base64
import json
import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from recorder.errors import RecorderError
from recorder.worker_socket import LIMIT_BYTES, VERSION, socket_path

logger = logging.getLogger(__name__)

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
PATIENCE_S = 30.0


class Desk:
    """Answers requests, each in a thread of its own. The socket file is the owner's alone."""

    def __init__(self, home: Path, answers: Mapping[str, Answer]) -> None:
        self.path = socket_path(home)
        self.answers = answers
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def open(self) -> None:
        """Listen. The caller holds the worker's lock, so a file that is there belongs to nobody."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        mask = os.umask(0o177)
        try:
            self.listener.bind(str(self.path))
        finally:
            os.umask(mask)
        self.listener.listen(64)
        threading.Thread(target=self._accept, name="desk", daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self.listener.close()
        self.path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        link.settimeout(PATIENCE_S)
        try:
            with link, link.makefile("rwb") as stream:
                answer = self._answer(stream.readline(LIMIT_BYTES))
                stream.write(json.dumps(answer).encode() + b"\n")
        except OSError as error:  # the caller did not wait; closing the stream writes what is left, so it fails too
            logger.debug("nobody waited for the answer: %s", error)

    def _answer(self, line: bytes) -> Mapping[str, Any]:
        try:
            asked = json.loads(line)
        except ValueError:
            return {"ok": False, "error": "not JSON"}
        if not isinstance(asked, dict) or asked.get("v") != VERSION:
            return {"ok": False, "error": "version", "v": VERSION}
        answer = self.answers.get(str(asked.get("op")))
        if answer is None:
            return {"ok": False, "error": f"no such request; there are {', '.join(sorted(self.answers))}"}
        try:
            return {"ok": True, **answer(asked)}
        except RecorderError as error:
            return {"ok": False, "error": str(error)}
        except Exception as error:
            logger.exception("request %s failed", asked.get("op"))
            return {"ok": False, "error": repr(error)}


def as_text(vectors: list[bytes]) -> list[str]:
    """Vectors as they travel."""
    return [base64.b64encode(vector).decode("ascii") for vector in vectors]
