"""A hook input through the real hook and back out of the store."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recorder import worker_socket
from recorder.config import Config
from recorder.errors import RecorderError, WorkerUnavailable
from recorder.store import health
from recorder.store.db import connect
from worker import held

HOOK_TIMEOUT_S = 10.0
DRAIN_TIMEOUT_S = 60.0
CHANGE_OF_WORKERS_S = 15.0


def send(hook: Path, home: Path, fields: Mapping[str, Any]) -> None:
    """Give one hook input to the capture hook, as Claude Code does.

    Raises: RecorderError when it prints something or does not exit 0.
    """
    run = subprocess.run(
        ["/bin/sh", str(hook)],
        input=json.dumps(dict(fields)).encode() + b"\n",
        capture_output=True,
        timeout=HOOK_TIMEOUT_S,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home.parent), "RECORDER_HOME": str(home)},
        check=False,
    )
    if run.returncode or run.stdout or run.stderr:
        raise RecorderError(f"{hook} said {(run.stdout + run.stderr)[:200]!r} and ended with {run.returncode}")


def drain(config: Config) -> None:
    """Take in what waits: ourselves, or the worker that lives. One that is just starting or leaving is waited for.

    Raises: RecorderError when that never ends.
    """
    end = time.monotonic() + CHANGE_OF_WORKERS_S
    while True:
        with held.locked(config.home) as ours:
            if ours:
                held.drain_once(config)
                return
        try:
            worker_socket.request(config.home, "drain", timeout_s=DRAIN_TIMEOUT_S, distil=False)
            return
        except WorkerUnavailable as error:
            if time.monotonic() > end:
                raise RecorderError(
                    f"the self-test was written but the worker does not take it in: {error}. `recorder down` ends it"
                ) from error
        time.sleep(0.1)


def canary(config: Config, now_ms: int) -> int:
    """The id of the event that a hook input of ours became, through the hook that was just installed.

    Raises: RecorderError when it does not arrive.
    """
    before = _latest(config)
    fields = {
        "session_id": health.CANARY_SESSION,
        "hook_event_name": "SessionEnd",
        "reason": f"self-test of the recorder at {now_ms}",
    }
    send(config.home / "hooks" / "capture.sh", config.home, fields)
    drain(config)
    after = _latest(config)
    if after is None or after == before:
        raise RecorderError("the self-test did not arrive in the store: `recorder doctor` says more")
    return after


def _latest(config: Config) -> int | None:
    db = connect(config.db_path)
    try:
        return health.canary(db)
    finally:
        db.close()
