"""The command line as a person meets it: words in; exit code, answer and complaint out."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recorder import cli
from recorder.capture import spool
from recorder.config import Config
from recorder.store.db import Connection, connect
from tests.makers import bash, hook_input, project_folder, prompt, stop
from worker import held

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil.test\x07click\x1b]8;;\x07 \x9b31m red \u202etxt\u202c \r over \x08\x00"
)
CONTROLS = [chr(n) for n in (*range(9), *range(11, 32), 127, *range(128, 160))] + ["\u202e", "\u202c", "\u200b"]
RULE = "Always run the tests with pytest -q"


@dataclass(frozen=True, slots=True)
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Terminal:
    home: Path
    project: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def run(self, *words: str) -> Said:
        """One command."""
        self.monkeypatch.setattr(sys, "argv", ["recorder", *words])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main()
        told = self.capsys.readouterr()
        assert isinstance(left.value.code, int)
        assert "Traceback" not in told.err
        return Said(left.value.code, told.out, told.err)

    def ok(self, *words: str) -> Any:
        """The JSON answer of a command that must succeed."""
        said = self.run(*words, "--json")
        assert (said.code, said.err) == (0, ""), said
        return said.json

    def set(self, name: str, value: str) -> None:
        self.monkeypatch.setenv(name, value)

    def db(self) -> Connection:
        return connect(self.home / "recorder.db")


def record(root: Path) -> None:
    """A session with a rule, a command that works, hostile output and two torn inputs, taken in and distilled."""
    folder = str(project_folder(root))
    config = Config(home=root / "home")
    spool.prepare(config.spool)
    hostile = bash("cat notes", f"notes {HOSTILE} end", use="toolu_2", cwd=folder)
    given: list[bytes] = [
        json.dumps(fields).encode()
        for fields in (
            hook_input("SessionStart", source="startup", cwd=folder),
            prompt(f"{RULE}. What do the notes say?", cwd=folder),
            bash("pytest -q", "3 passed in 0.1s", use="toolu_1", cwd=folder),
            hostile,
            stop(cwd=folder),
            hook_input("SessionEnd", reason="other", cwd=folder),
            {
                "hook_event_name": "RecorderInjection",
                "session_id": "s1",
                "cwd": folder,
                "text": "x",
                "source": "startup",
            },
        )
    ]
    for number, content in enumerate([*given, b"", b'{"a":']):
        (config.spool / "new" / f"{number}.json").write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KF_RULE_CACHE_DIR", str(ROOT / ".pytest_cache" / "rules"))
        held.drain_once(config)


def environ(home: Path, **more: str) -> dict[str, str]:
    """For a process of its own."""
    own = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "RECORDER_HOME": str(home)}
    return own | {"KF_RULE_CACHE_DIR": os.environ["KF_RULE_CACHE_DIR"]} | more
