"""A word with the worker: one JSON line there, one back."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

from recorder.errors import WorkerUnavailable

VERSION = 1
"""Goes with every request; a worker of another version answers `{"ok": false, "error": "version"}`."""

LIMIT_BYTES = 4 * 1024 * 1024

# sockaddr_un.sun_path holds 104 bytes on macOS, 108 on Linux, the final NUL included (unix(4), unix(7)).
LONGEST_PATH = 103


def socket_path(home: Path) -> Path:
    """Where the worker listens: in the home, or in the temporary folder when that path is too long for a socket."""
    path = home / "worker.sock"
    if len(os.fsencode(path)) <= LONGEST_PATH:
        return path
    name = sha256(os.fsencode(home.resolve())).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"recorder-{os.getuid()}-{name}" / "worker.sock"


def request(home: Path, op: str, *, timeout_s: float, **fields: Any) -> dict[str, Any]:
    """The worker's answer to `op`: an object with `ok` true, within `timeout_s` from first to last.

    Raises: WorkerUnavailable when nobody listens, the answer is late, or it says no.
    """
    line = json.dumps({"v": VERSION, "op": op, **fields}).encode() + b"\n"
    deadline = time.monotonic() + timeout_s
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
            link.settimeout(timeout_s)
            link.connect(str(socket_path(home)))
            link.sendall(line)
            answer = json.loads(_line(link, deadline))
    except (OSError, ValueError) as error:
        raise WorkerUnavailable(f"the worker does not answer '{op}' on {socket_path(home)}: {error}") from error
    if not isinstance(answer, dict) or not answer.get("ok"):
        said = answer.get("error") if isinstance(answer, dict) else None
        raise WorkerUnavailable(str(said or f"the worker refused '{op}'"))
    return answer


def _line(link: socket.socket, deadline: float) -> bytes:
    raw = b""
    while not raw.endswith(b"\n") and len(raw) < LIMIT_BYTES:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        link.settimeout(left_s)  # of one block only: one byte now and then must not hold the caller up
        block = link.recv(1 << 16)
        if not block:
            break
        raw += block
    return raw
