"""`sh scripts/up`: one at a time, and it ends with how to call what it set up. The program itself is stood in for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

PYTHON = f"""#!/bin/sh
[ "$1 $2" != "-m pip" ] || exit 0
exec {sys.executable} "$@"
"""
# Notes which run of the script called it for what, and holds `down` until it is let go.
RECORDER = """#!/bin/sh
echo "$PPID $1" >>"$(dirname "$0")/../../calls"
while [ "$1" = down ] && [ ! -e "$(dirname "$0")/../../go" ]; do sleep 0.05; done
"""


@dataclass(frozen=True, slots=True)
class Checkout:
    root: Path
    home: Path

    @property
    def program(self) -> Path:
        return self.root / ".venv" / "bin" / "recorder"

    def up(self, *words: str, path: str = "", **more: str) -> subprocess.Popen[str]:
        own = {"HOME": str(self.home), "PATH": path + os.environ["PATH"], "RECORDER_PYTHON": sys.executable}
        return subprocess.Popen(
            ["sh", str(self.root / "scripts" / "up"), "--no-vectors", *words],
            env=own | more,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def said(self, *words: str, path: str = "", **more: str) -> str:
        """What a run says that is not held up."""
        (self.root / "go").touch()
        run = self.up(*words, path=path, **more)
        told, _ = run.communicate(timeout=60)
        assert run.returncode == 0, told
        return told

    def calls(self) -> list[list[str]]:
        """(run, command) of every call of the program."""
        noted = self.root / "calls"
        return [line.split() for line in noted.read_text().splitlines()] if noted.exists() else []


@pytest.fixture
def checkout(tmp_path: Path, own_home: Path) -> Checkout:
    found = Checkout(tmp_path / "a checkout", own_home)
    shutil.copytree(ROOT / "scripts", found.root / "scripts")
    shutil.copy(ROOT / "pyproject.toml", found.root)
    found.program.parent.mkdir(parents=True)
    for name, text in (("python", PYTHON), ("recorder", RECORDER)):
        (found.program.parent / name).write_text(text)
        (found.program.parent / name).chmod(0o755)
    (own_home / ".claude").mkdir()
    return found


def until(true: Callable[[], object], within_s: float = 30.0) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_a_second_run_waits_for_the_first_and_says_so(checkout: Checkout) -> None:
    first = checkout.up()
    until(checkout.calls)
    second = checkout.up()
    assert second.stdout is not None
    assert "waiting until it is done" in second.stdout.readline()
    assert len(checkout.calls()) == 1
    (checkout.root / "go").touch()
    for run in (first, second):
        told, _ = run.communicate(timeout=60)
        assert run.returncode == 0, told
    runs = [run for run, _ in checkout.calls()]
    assert [command for _, command in checkout.calls()] == ["down", "install", "backfill", "up"] * 2
    assert runs[:4] == runs[:1] * 4 and runs[4:] == runs[4:5] * 4 and runs[0] != runs[4]


def test_a_run_that_was_killed_holds_up_nobody(checkout: Checkout) -> None:
    first = checkout.up()
    until(checkout.calls)
    (checkout.root / "go").touch()
    first.kill()
    first.communicate(timeout=60)
    assert "call it as" in checkout.said()


def test_it_ends_with_how_to_call_it(checkout: Checkout) -> None:
    told = checkout.said().splitlines()
    assert told[-2] == f"call it as: {checkout.program}"
    assert told[-1].endswith(f'export PATH="{checkout.program.parent}:$PATH"')
    links = checkout.root / "links"
    links.mkdir()
    (links / "recorder").symlink_to(checkout.program)
    assert checkout.said(path=f"{links}:").splitlines()[-1] == "call it as: recorder"
    (links / "recorder").unlink()
    (links / "recorder").write_text("#!/bin/sh\n")
    (links / "recorder").chmod(0o755)
    assert f"call it as: {checkout.program}" in checkout.said(path=f"{links}:")


@pytest.mark.parametrize(
    "words, more, called",
    [
        (["--no-install"], {}, ["down", "backfill", "up"]),
        (["--no-backfill"], {}, ["down", "install", "up"]),
        (["--no-install", "--no-backfill"], {}, ["down", "up"]),
        ([], {"CLAUDECODE": "1"}, ["down", "up"]),
    ],
)
def test_claude_code_and_the_past_are_left_alone_on_request_and_where_claude_asks(
    checkout: Checkout, words: list[str], more: dict[str, str], called: list[str]
) -> None:
    told = checkout.said(*words, **more)
    assert [command for _, command in checkout.calls()] == called
    assert ("only a person wires" in told) is bool(more)
    assert ("install and backfill --commit" in told) is bool(more)


def test_a_file_of_the_past_that_cannot_be_read_holds_nothing_up(checkout: Checkout) -> None:
    with checkout.program.open("a") as program:
        program.write('[ "$1" != backfill ] || exit 1\n')
    told = checkout.said()
    assert [command for _, command in checkout.calls()] == ["down", "install", "backfill", "up"]
    assert "backfill --commit tries what failed again" in told


def test_an_unknown_option_is_wrong_use_and_waits_for_nobody(checkout: Checkout) -> None:
    first = checkout.up()
    until(checkout.calls)
    wrong = checkout.up("--nonsense")
    assert "unknown option --nonsense" in wrong.communicate(timeout=30)[0] and wrong.returncode == 2
    (checkout.root / "go").touch()
    first.communicate(timeout=60)
