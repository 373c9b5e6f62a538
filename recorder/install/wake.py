"""`home/wake`: starts the worker, unless one lives."""

from __future__ import annotations

import fcntl
import os
import shlex
from pathlib import Path

LOCK = "worker.lock"
"""The file in the home that a living worker holds by flock."""

# Asking a lock costs a bare interpreter (12 ms, in the background), where the worker's own start costs ten times that;
# a pid file or a socket left behind by a killed worker would lie.
PROBE = """
import fcntl, os, sys
home, lock, runs = sys.argv[1], sys.argv[2], sys.argv[3:]
os.setsid()
os.chdir("/")
try:
    with open(os.path.join(home, lock)) as held:
        fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
except FileNotFoundError:
    pass
except BlockingIOError:
    sys.exit()
keep = {"HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "TZ", "CLAUDE_CONFIG_DIR"}
own = {name: value for name, value in os.environ.items() if name in keep or name.startswith("RECORDER_")}
own.pop("RECORDER_OFF", None)
own["RECORDER_HOME"] = home
errors = os.open(os.path.join(home, "logs", "wake.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
os.dup2(errors, 2)
os.execve(runs[0], [*runs], own)
"""


def script(home: Path, interpreter: str) -> str:
    """The text of `wake`. It returns at once; what it starts shares nothing with the caller and sees few variables.

    The last start's errors stand in `logs/wake.log`.
    """
    words = [str(home), LOCK, interpreter, "-I", "-m", "worker"]
    pythons = [os.path.realpath(interpreter), interpreter]
    return f"""#!/bin/sh
# Starts the worker, unless one lives. Written by `recorder install`.
exec </dev/null >/dev/null 2>&1
for python in {shlex.join(pythons)}; do
  [ -x "$python" ] || continue
  "$python" -I -S -c {shlex.quote(PROBE)} {shlex.join(words)} &
  break
done
exit 0
"""


def lives(home: Path) -> bool:
    """Whether a worker holds the lock."""
    try:
        with open(home / LOCK) as held:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
