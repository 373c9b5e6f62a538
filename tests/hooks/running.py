"""Hooks run the way the client runs them: stdin is a socket, the working directory the project's."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

HOOKS = Path(__file__).resolve().parent.parent.parent / "hooks"
PYTHON = [os.path.realpath(sys.executable), "-I", "-S"]
SESSION = "3f0c2a9e-1111-4222-8333-944455566677"

# Nothing here takes a second; a hook that hangs is ended, so that the test fails and the run goes on.
DEADLINE_S = 60


@dataclass(frozen=True, slots=True)
class Ran:
    """What a hook left behind for the client."""

    code: int
    out: bytes
    err: bytes
    read: bool
    """Whether the hook took its input to the end; small inputs fit into the socket and cannot tell."""

    @property
    def silent(self) -> bool:
        return (self.code, self.out, self.err, self.read) == (0, b"", b"", True)


@dataclass(frozen=True, slots=True)
class Form:
    """One way to run the capture hook."""

    name: str
    argv: tuple[str, ...]
    script: str

    def command(self, *args: str, folder: Path = HOOKS) -> list[str]:
        return [*self.argv, str(folder / self.script), *args]


FORMS = (
    Form("dash", ("dash",), "capture.sh"),
    Form("bash", ("bash",), "capture.sh"),
    Form("bash-posix", ("bash", "--posix"), "capture.sh"),
    Form("sh", ("/bin/sh",), "capture.sh"),
    Form("python", tuple(PYTHON), "capture.py"),
)


def has(form: Form) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(form.argv[0]) is None, reason=f"needs {form.argv[0]}")


every_form = pytest.mark.parametrize("form", [pytest.param(form, id=form.name, marks=has(form)) for form in FORMS])
every_shell = pytest.mark.parametrize(
    "form", [pytest.param(form, id=form.name, marks=has(form)) for form in FORMS if form.script.endswith(".sh")]
)


def can_unshare() -> bool:
    """Whether this machine gives us namespaces of our own."""
    if shutil.which("unshare") is None:
        return False
    trial = subprocess.run(
        [*unshared(), "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True, timeout=DEADLINE_S
    )
    return trial.returncode == 0


def unshared() -> list[str]:
    """Own mounts and own process ids, in which the first process has id 1."""
    return ["unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--mount", "--pid", "--fork"]


def offline() -> list[str]:
    """No network at all."""
    return ["unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--net"]


needs_network_namespace = pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run([*offline(), "true"], capture_output=True).returncode != 0,
    reason="needs namespaces (unshare --net)",
)
needs_namespaces = pytest.mark.skipif(not can_unshare(), reason="needs namespaces (unshare --mount --pid)")


def environ(home: Path, **more: str) -> dict[str, str]:
    """What the client hands to a hook, as far as it matters here."""
    named = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "RECORDER_HOME": str(home)}
    return {**named, "CLAUDE_CODE_SESSION_ID": SESSION, **more}


def run(argv: Sequence[str], given: bytes, env: Mapping[str, str], cwd: Path | None = None) -> Ran:
    """Run to the end, all input written; ends only when nobody holds stdout or stderr any more."""
    ours, theirs = socket.socketpair()
    read: list[bool] = []
    feeder = threading.Thread(target=lambda: read.append(feed(ours, given)))
    with subprocess.Popen(
        argv, stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd
    ) as process:
        theirs.close()
        feeder.start()
        try:
            out, err = process.communicate(timeout=DEADLINE_S)
        finally:
            process.kill()
            feeder.join()
    return Ran(process.returncode, out, err, read == [True])


def feed(ours: socket.socket, given: bytes) -> bool:
    """Write it all and close. False when the reader went away early."""
    with ours:
        try:
            ours.sendall(given)
        except OSError:
            return False
    return True


def new_files(home: Path) -> list[Path]:
    """What stands in `new/`."""
    folder = home / "spool" / "new"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def hook_input(event: str, **fields: object) -> bytes:
    """A hook input as the client writes it: one line of JSON."""
    common = {"session_id": SESSION, "transcript_path": "/home/user/t.jsonl", "cwd": "/home/user/project"}
    return json.dumps({**common, "hook_event_name": event, **fields}).encode() + b"\n"
