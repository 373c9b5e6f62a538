"""The real Claude Code client on a machine of its own.

No network but loopback, no key, no settings of the person who runs the tests.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.model import Model

VERSION = "2.1.197"
PACKAGE = "@anthropic-ai/claude-code"
STAGE = Path(__file__).with_name("stage.py")

DUMMY_KEY = "no-key-needed-here"
"""What the client sends to our model. It only has to be there."""

FILES = {
    "README.md": "# Till\n",
    "till.py": "def total(prices):\n    return sum(prices) + 1\n",
    "test_till.py": (
        "import unittest\n\nfrom till import total\n\n\nclass Till(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n"
    ),
}


class ClientMissing(Exception):
    """npm cannot give the client, with npm's words."""


def cache_dir(environ: Mapping[str, str]) -> Path:
    """Where the client is kept between runs."""
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or "/tmp", ".cache")
    return Path(base) / "recorder-e2e" / f"claude-code-{VERSION}"


def fetch(environ: Mapping[str, str]) -> Path:
    """The client's binary: `RECORDER_E2E_CLIENT` when set, else the pinned version from npm, fetched once.

    Raises: ClientMissing when npm cannot give it.
    """
    named = environ.get("RECORDER_E2E_CLIENT")
    if named:
        return Path(named)
    directory = cache_dir(environ)
    if not _binaries(directory):
        directory.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--prefix", str(directory), "--no-audit", "--no-fund", "--ignore-scripts"]
        try:
            done = subprocess.run([*command, f"{PACKAGE}@{VERSION}"], capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ClientMissing(f"npm cannot give {PACKAGE}@{VERSION}: {error}") from error
        if done.returncode or not _binaries(directory):
            raise ClientMissing(f"npm cannot give {PACKAGE}@{VERSION}: {done.stderr.strip()[-600:]}")
    return _binaries(directory)[0]


def _binaries(directory: Path) -> list[Path]:
    """The native binary of this platform: an optional dependency of the package, one folder beside it."""
    return sorted(directory.glob(f"node_modules/{PACKAGE}-*/claude"))


@dataclass(frozen=True)
class Session:
    """A headless run that has ended."""

    id: str
    code: int
    output: tuple[dict[str, Any], ...]
    """What `--output-format stream-json` printed."""
    stderr: str
    model: Model
    seconds: float


@dataclass(frozen=True)
class Machine:
    """A person's computer: a home, a git project, and the client."""

    binary: Path
    root: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    """What the client's environment has besides the bare minimum."""

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "till"

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    def prepare(self) -> Machine:
        """Make the home of somebody who has used the client before, and a project with one commit."""
        (self.home / ".claude").mkdir(parents=True)
        (self.root / "scratch").mkdir()
        self.project.mkdir()
        for name, text in FILES.items():
            (self.project / name).write_text(text)
        git(self.project, "init", "--quiet", "--initial-branch=main")
        git(self.project, "add", "--all")
        git(self.project, "-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "--quiet", "-m", "Start")
        onboarded = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": VERSION,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [DUMMY_KEY[-20:]], "rejected": []},
            "projects": {str(self.project.resolve()): {"hasTrustDialogAccepted": True}},
        }
        (self.home / ".claude.json").write_text(json.dumps(onboarded))
        return self

    def env(self, **more: str) -> dict[str, str]:
        """The environment everything on this machine runs in."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
            "USER": "user",
            "ANTHROPIC_API_KEY": DUMMY_KEY,
            "CLAUDE_CODE_TMPDIR": str(self.root / "scratch"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",  # bypassPermissions is refused to root without it
            **self.environ,
            **more,
        }

    def ask(self, prompt: str, model: Model, *arguments: str, timeout_s: float = 120, **env: str) -> Session:
        """One headless session: `claude -p`."""
        command = [str(self.binary), "-p", prompt, "--output-format", "stream-json", "--verbose", *arguments]
        errors = self.root / "stderr.txt"
        started = time.monotonic()
        with errors.open("wb") as stderr, self.staged(command, model, stderr=stderr, **env) as child:
            try:
                stdout, _ = child.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()
                raise
        seconds = time.monotonic() - started
        lines = tuple(json.loads(line) for line in stdout.splitlines() if line.startswith(b"{"))
        session_id = next((line["session_id"] for line in reversed(lines) if line.get("type") == "result"), "")
        return Session(session_id, child.returncode, lines, errors.read_text(), model, seconds)

    @contextmanager
    def staged(
        self, command: list[str], model: Model, *, stderr: Any = None, **env: str
    ) -> Iterator[subprocess.Popen[bytes]]:
        """The command in a network of its own, where the model answers."""
        alone = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-r", "-n"]
        ours, theirs = socket.socketpair()
        with ours, theirs:
            child = subprocess.Popen(
                [*alone, "--", sys.executable, "-I", str(STAGE), str(theirs.fileno()), *command],
                cwd=self.project,
                env=self.env(**env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
            _, handles, _, _ = socket.recv_fds(ours, 1, 1)
        if not handles:
            child.communicate()
            raise RuntimeError(f"no network of its own: {' '.join(alone)} ended with {child.returncode}")
        server = model.serve(socket.socket(fileno=handles[0]))
        try:
            yield child
        finally:
            server.shutdown()
            server.server_close()
            if child.stdout is not None:
                child.stdout.close()
            child.wait(10)

    def transcripts(self) -> list[Path]:
        """Every transcript, subagents' included."""
        return sorted((self.home / ".claude" / "projects").rglob("*.jsonl"))

    def transcript(self, session_id: str) -> list[dict[str, Any]]:
        """The records of one session's own file, in file order."""
        return records(next(path for path in self.transcripts() if path.stem == session_id))


def records(path: Path) -> list[dict[str, Any]]:
    """The lines of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def git(project: Path, *arguments: str) -> str:
    """What git prints in the project, away from anybody's configuration."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(project), "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *arguments], cwd=project, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def wait_for(condition: Callable[[], Any], what: str, *, seconds: float = 60) -> Any:
    """The first truthy answer of `condition`.

    Raises: TimeoutError, naming `what`, when there is none in time.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.05)
    raise TimeoutError(f"no {what} within {seconds:.0f} s")
