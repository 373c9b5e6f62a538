"""The capture hook where things are broken, switched off or paused: it says nothing, exits 0, and is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from recorder.capture import spool
from tests.hooks.running import (
    SESSION,
    Form,
    environ,
    every_form,
    every_shell,
    hook_input,
    needs_namespaces,
    new_files,
    run,
    unshared,
)

FULL_DISK = """
mount -t tmpfs -o size=64k none "$RECORDER_HOME" || exit 9
printf '{}' | "$@" || exit 8
[ "$FILLED" = yes ] && cat /dev/zero >"$RECORDER_HOME/filler" 2>/dev/null
"$@"
code=$?
rm -f "$RECORDER_HOME/filler"
printf next | "$@"
cp -R "$RECORDER_HOME/spool" "$COPY"
exit $code
"""


def home_is_a_file(home: Path) -> None:
    home.write_text("mine")


def spool_is_a_file(home: Path) -> None:
    home.mkdir()
    (home / "spool").write_text("mine")


def new_is_a_file(home: Path) -> None:
    (home / "spool").mkdir(parents=True)
    (home / "spool" / "new").write_text("mine")


def tmp_is_a_dangling_link(home: Path) -> None:
    (home / "spool").mkdir(parents=True)
    (home / "spool" / "tmp").symlink_to(home / "gone")


def home_is_a_loop_of_links(home: Path) -> None:
    home.symlink_to(home)


def lost_is_a_folder(home: Path) -> None:
    (home / "spool" / "lost").mkdir(parents=True)


def wake_is_a_folder(home: Path) -> None:
    (home / "wake").mkdir(parents=True)


def wake_cannot_be_run(home: Path) -> None:
    home.mkdir()
    (home / "wake").write_text("#!/nowhere/interpreter\n")
    (home / "wake").chmod(0o700)


BROKEN = [
    home_is_a_file,
    spool_is_a_file,
    new_is_a_file,
    tmp_is_a_dangling_link,
    home_is_a_loop_of_links,
    lost_is_a_folder,
    wake_is_a_folder,
    wake_cannot_be_run,
]

STRANGE = {
    "no HOME": {"HOME": None, "RECORDER_HOME": None},
    "empty HOME": {"HOME": "", "RECORDER_HOME": ""},
    "a home that nobody can make": {"RECORDER_HOME": "/proc/1/recorder"},
    "a home beneath a file": {"RECORDER_HOME": "/dev/null/recorder"},
    "no PATH": {"PATH": None},
    "nothing in PATH": {"PATH": "/nowhere"},
    "no session": {"CLAUDE_CODE_SESSION_ID": None},
    "a clock that is an order": {"RANDOM": "$(echo hello)"},
    "a loud shell": {"ENV": "/nowhere", "BASH_ENV": "/nowhere", "PS4": "$(echo hello)"},
}


@every_form
@pytest.mark.parametrize("breaks", BROKEN)
def test_a_broken_home_is_never_noticed(form: Form, breaks: object, tmp_path: Path) -> None:
    assert callable(breaks)
    breaks(tmp_path / "recorder")
    given = hook_input("PostToolUse", filler="x" * 500_000)
    assert run(form.command("wake"), given, environ(tmp_path / "recorder")).silent


@every_form
@pytest.mark.parametrize("changes", STRANGE.values(), ids=STRANGE)
def test_a_strange_environment_is_never_noticed(form: Form, changes: dict[str, str | None], tmp_path: Path) -> None:
    env: dict[str, str | None] = {**environ(tmp_path / "recorder"), **changes}
    interpreter = subprocess.run(["sh", "-c", f"command -v {form.argv[0]}"], capture_output=True, text=True)
    argv = [interpreter.stdout.strip(), *form.command("wake")[1:]]
    given = hook_input("PostToolUse", filler="x" * 500_000)
    assert run(argv, given, {name: value for name, value in env.items() if value is not None}).silent


@every_form
def test_a_home_that_may_not_be_written_is_never_noticed(form: Form, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere; the same is tried with /proc")
    home = tmp_path / "recorder"
    (home / "spool" / "tmp").mkdir(parents=True)
    (home / "spool" / "tmp").chmod(0o500)
    assert run(form.command("wake"), b"{}", environ(home)).silent


@every_form
def test_without_stdin_nothing_is_noticed_and_nothing_lands(form: Form, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    argv = ["sh", "-c", 'exec "$@" <&-', "-", *form.command()]
    done = subprocess.run(argv, capture_output=True, env=environ(home), timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [file.read_bytes() for file in new_files(home)] in ([], [b""])


@needs_namespaces
@every_form
@pytest.mark.parametrize("filled", ["no", "yes"], ids=["runs full", "is full"])
def test_on_a_full_disk_nothing_torn_lands_and_the_loss_is_counted(form: Form, filled: str, tmp_path: Path) -> None:
    home, copy = tmp_path / "recorder", tmp_path / "copy"
    home.mkdir()
    given = hook_input("PostToolUse", filler="x" * 200_000)
    env = environ(home, FILLED=filled, COPY=str(copy))
    assert run([*unshared(), "sh", "-c", FULL_DISK, "-", *form.command()], given, env).silent
    assert sorted(file.read_bytes() for file in (copy / "new").iterdir()) == [b"next", b"{}"]
    assert list((copy / "tmp").iterdir()) == []
    assert spool.lost(copy) == 1


@every_form
def test_what_lands_is_not_counted_as_lost(form: Form, tmp_path: Path) -> None:
    run(form.command(), b"{}", environ(tmp_path / "recorder"))
    run(form.command(), b"{}", environ(tmp_path / "recorder"))
    assert spool.lost(tmp_path / "recorder" / "spool") == 0


@every_form
@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_a_session_that_is_off_leaves_a_marker_and_no_word(form: Form, value: str, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    assert run(
        form.command("wake"), hook_input("SessionStart", filler="x" * 500_000), environ(home, RECORDER_OFF=value)
    ).silent
    assert [path.relative_to(home) for path in home.rglob("*") if path.is_file()] == [Path("off") / SESSION]
    assert (home / "off" / SESSION).read_bytes() == b""


@every_form
def test_a_session_that_is_off_is_known_by_its_input_where_the_environment_does_not_name_it(
    form: Form, tmp_path: Path
) -> None:
    home = tmp_path / "recorder"
    env = environ(home, RECORDER_OFF="1", CLAUDE_CODE_SESSION_ID="")
    assert run(form.command("wake"), hook_input("SessionStart", filler="x" * 500_000), env).silent
    assert [path.relative_to(home) for path in home.rglob("*") if path.is_file()] == [Path("off") / SESSION]


@every_form
@pytest.mark.parametrize("session", ["..", "a/b", "$(touch x)", "x" * 65, ""])
def test_a_strange_session_in_the_input_leaves_nothing(form: Form, session: str, tmp_path: Path) -> None:
    env = environ(tmp_path / "recorder", RECORDER_OFF="1", CLAUDE_CODE_SESSION_ID="")
    assert run(form.command(), json.dumps({"session_id": session}, separators=(",", ":")).encode(), env).silent
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@every_form
@pytest.mark.parametrize("session", ["", "../new/up", "a/b"])
def test_a_strange_session_that_is_off_leaves_nothing(form: Form, session: str, tmp_path: Path) -> None:
    env = environ(tmp_path / "recorder", RECORDER_OFF="1", CLAUDE_CODE_SESSION_ID=session)
    assert run(form.command(), b"{}", env).silent
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@every_form
@pytest.mark.parametrize("value", ["", "0"])
def test_off_set_to_nothing_or_zero_captures(form: Form, value: str, tmp_path: Path) -> None:
    assert run(form.command(), b"{}", environ(tmp_path / "recorder", RECORDER_OFF=value)).silent
    assert len(new_files(tmp_path / "recorder")) == 1


@every_form
def test_while_paused_nothing_lands_and_after_it_everything_does(form: Form, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    home.mkdir()
    (home / "paused").touch()
    os.utime(home / "paused", (2**31 - 1, 2**31 - 1))
    assert run(form.command("wake"), b"private words" * 50_000, environ(home)).silent
    assert [path for path in home.rglob("*") if path.is_file() and path.stat().st_size > 1] == []
    assert new_files(home) == [] and list((home / "spool" / "tmp").iterdir()) == []
    long_ago = time.time() - 60
    os.utime(home / "paused", (long_ago, long_ago))
    assert run(form.command("wake"), b"open words", environ(home)).silent
    assert [file.read_bytes() for file in new_files(home)] == [b"open words"]
    assert list((home / "spool" / "tmp").iterdir()) == []


@every_shell
def test_a_pause_holds_where_its_end_cannot_be_told(form: Form, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    (home / "spool").mkdir(parents=True)
    (home / "spool" / "tmp").write_text("not a folder")
    (home / "paused").touch()
    assert run(form.command(), b"private words", environ(home)).silent
    assert spool.lost(home / "spool") == 0


def waking(home: Path, *, sleeps: bool) -> Path:
    """A `wake` that writes down what it holds and sees, its process id last. Returns that file."""
    home.mkdir(parents=True, exist_ok=True)
    seen = home / "seen"
    (home / "wake").write_text(
        f"""#!/bin/sh
for fd in 0 1 2; do held="$held $(readlink /proc/$$/fd/$fd)"; done
echo $held >>{seen}.part
ls {home}/spool/new | wc -l >>{seen}.part
echo $$ >>{seen}.part
mv {seen}.part {seen}
{"exec sleep 60" if sleeps else ""}
"""
    )
    (home / "wake").chmod(0o700)
    return seen


@every_form
def test_a_waker_that_sleeps_holds_neither_the_hook_nor_its_output(form: Form, tmp_path: Path) -> None:
    seen = waking(tmp_path / "recorder", sleeps=True)
    started = time.monotonic()
    assert run(form.command("wake"), b"{}", environ(tmp_path / "recorder")).silent  # ends when nobody holds stdout
    spent_s = time.monotonic() - started
    deadline = time.monotonic() + 20
    while not seen.exists():
        assert time.monotonic() < deadline, "it was not woken"
        time.sleep(0.005)
    *held, landed, waker = seen.read_text().split()
    os.kill(int(waker), signal.SIGKILL)
    assert spent_s < 30
    assert set(held) <= {"/dev/null"}
    assert landed == "1"


@every_form
@pytest.mark.parametrize("locale", ["C.UTF-8", None])
def test_the_waker_has_the_locale_of_the_session(form: Form, locale: str | None, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    home.mkdir()
    (home / "wake").write_text(f"#!/bin/sh\necho ${{LC_ALL-none}} >{home}/part\nmv {home}/part {home}/seen\n")
    (home / "wake").chmod(0o700)
    env = environ(home, **({"LC_ALL": locale} if locale else {}))
    assert run(form.command("wake"), b"{}", env).silent
    deadline = time.monotonic() + 20
    while not (home / "seen").exists():
        assert time.monotonic() < deadline, "it was not woken"
        time.sleep(0.005)
    assert (home / "seen").read_text().strip() == (locale or "none")


@every_form
@pytest.mark.parametrize("why", ["no argument", "off", "paused", "not executable"])
def test_nobody_is_woken_without_reason(form: Form, why: str, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    seen = waking(home, sleeps=False)
    if why == "paused":
        (home / "paused").touch()
        os.utime(home / "paused", (2**31 - 1, 2**31 - 1))
    if why == "not executable":
        (home / "wake").chmod(0o600)
        if os.geteuid() == 0 and os.access(home / "wake", os.X_OK):
            pytest.skip("root may run everything here")
    args = () if why == "no argument" else ("wake",)
    off = {"RECORDER_OFF": "1"} if why == "off" else {}
    assert run(form.command(*args), b"{}", environ(home, **off)).silent
    # The waker of a second, rightful call comes after any of the first.
    other = tmp_path / "other"
    after = waking(other, sleeps=False)
    assert run(form.command("wake"), b"{}", environ(other)).silent
    deadline = time.monotonic() + 20
    while not after.exists():
        assert time.monotonic() < deadline, "the second was not woken"
        time.sleep(0.005)
    assert not seen.exists() and not Path(f"{seen}.part").exists()
