"""What the capture hook leaves in the spool."""

from __future__ import annotations

import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hooks.running import (
    FORMS,
    HOOKS,
    SESSION,
    Form,
    environ,
    every_form,
    every_shell,
    feed,
    has,
    hook_input,
    needs_namespaces,
    new_files,
    run,
    unshared,
)

INPUTS = {
    "one line": hook_input("PostToolUse", tool_name="Bash"),
    "nothing": b"",
    "no final newline": b'{"a": 1}',
    "newlines only": b"\n\n\n",
    "NUL and ESC": b'{"a": "\x00\x1b[0m"}\x00\n',
    "invalid UTF-8": b'{"a": "\xff\xfe\xc3"}\n',
    "lone surrogate": b'{"a": "\\ud83d"}\n' + "\ud83d".encode("utf-8", "surrogatepass"),
    "backslashes and percent signs": b'{"a": "\\\\n %s %d \\c"}\n',
    "every byte": bytes(range(256)) * 64,
    "torn": b'{"a": "the clie',
}

FIXED_NAME = """
mount -t tmpfs none /proc
exec dash "$0"
"""
"""With no /proc and no RANDOM, in process 1 of its own namespace, the shell's name for a file is always the same."""


def until(condition: Callable[[], object]) -> None:
    """Wait for it, at most twenty seconds."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.002)


@every_form
@pytest.mark.parametrize("given", INPUTS.values(), ids=INPUTS)
def test_every_byte_of_the_input_lands_in_one_file(form: Form, given: bytes, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    assert run(form.command(), given, environ(home)).silent
    (file,) = new_files(home)
    assert file.read_bytes() == given
    assert file.name.endswith(".json") and file.name.startswith(SESSION)
    assert list((home / "spool" / "tmp").iterdir()) == []


@every_form
def test_twenty_megabytes_land_whole(form: Form, tmp_path: Path) -> None:
    given = os.urandom(1 << 20) * 20
    assert run(form.command(), given, environ(tmp_path / "recorder")).silent
    (file,) = new_files(tmp_path / "recorder")
    assert file.read_bytes() == given


@every_form
def test_an_input_that_comes_in_two_parts_is_one_file_when_it_has_ended(form: Form, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    ours, theirs = socket.socketpair()
    with subprocess.Popen(form.command(), stdin=theirs.fileno(), env=environ(home)) as process, ours:
        theirs.close()
        ours.sendall(b'{"first": 1,')
        until(lambda: [f for f in home.glob("spool/tmp/*") if f.stat().st_size])
        assert new_files(home) == []
        ours.sendall(b' "second": 2}\n')
        ours.close()
        assert process.wait(20) == 0
    (file,) = new_files(home)
    assert file.read_bytes() == b'{"first": 1, "second": 2}\n'


@every_form
@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_stdin_may_also_be_a_file_or_a_pipe(form: Form, kind: str, tmp_path: Path) -> None:
    home, source = tmp_path / "recorder", tmp_path / "input"
    source.write_bytes(b'{"a": 1}\n')
    with source.open("rb") as file:
        if kind == "file":
            done = subprocess.run(form.command(), stdin=file, capture_output=True, env=environ(home), timeout=20)
        else:
            done = subprocess.run(form.command(), input=file.read(), capture_output=True, env=environ(home), timeout=20)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [f.read_bytes() for f in new_files(home)] == [b'{"a": 1}\n']


@every_form
def test_of_two_hundred_hooks_at_once_each_has_its_own_file(form: Form, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    wanted = sorted(b'{"n": %d}\n' % n for n in range(200))
    hooks = []
    for given in wanted:
        ours, theirs = socket.socketpair()
        hooks.append(subprocess.Popen(form.command(), stdin=theirs.fileno(), env=environ(home)))
        theirs.close()
        feed(ours, given)
    assert [hook.wait(60) for hook in hooks] == [0] * 200
    assert sorted(file.read_bytes() for file in new_files(home)) == wanted


@needs_namespaces
@has(FORMS[0])
def test_a_name_in_new_is_never_overwritten(tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    for n in range(3):
        script = str(FORMS[0].command()[-1])
        given = b'{"n": %d}\n' % n
        assert run([*unshared(), "sh", "-c", FIXED_NAME, script], given, environ(home)).silent
    names = [file.name for file in new_files(home)]
    assert len(names) == 3 and all(name.startswith(f"{SESSION}-1-0-0") for name in names)
    assert sorted(file.read_bytes() for file in new_files(home)) == [b'{"n": 0}\n', b'{"n": 1}\n', b'{"n": 2}\n']


def test_where_there_is_no_shell_a_name_in_new_is_never_overwritten_either(tmp_path: Path) -> None:
    for folder in ("tmp", "new"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.json").write_text(folder)
    runpy.run_path(str(HOOKS / "capture.py"))["publish"](str(tmp_path), "one.json")
    assert (tmp_path / "new" / "one.json").read_text() == "new"
    assert (tmp_path / "tmp" / "one.json").read_text() == "tmp"


@needs_namespaces
@has(FORMS[0])
def test_a_name_in_tmp_that_another_hook_is_writing_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    taken = home / "spool" / "tmp" / f"{SESSION}-1-0-0.json"
    taken.parent.mkdir(parents=True)
    taken.write_bytes(b"theirs")
    assert run([*unshared(), "sh", "-c", FIXED_NAME, FORMS[0].command()[-1]], b"ours", environ(home)).silent
    assert taken.read_bytes() == b"theirs"
    assert [file.read_bytes() for file in new_files(home)] == [b"ours"]


@needs_namespaces
@every_shell
def test_with_proc_out_of_reach_the_input_lands_all_the_same(form: Form, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    argv = [*unshared(), "sh", "-c", 'mount -t tmpfs none /proc; exec "$@"', "-", *form.command()]
    assert run(argv, b"one", environ(home)).silent
    assert run(argv, b"two", environ(home)).silent
    assert sorted(file.read_bytes() for file in new_files(home)) == [b"one", b"two"]


@every_form
def test_a_hook_killed_while_it_reads_leaves_nothing_in_new(form: Form, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    ours, theirs = socket.socketpair()
    with (
        subprocess.Popen(form.command(), stdin=theirs.fileno(), env=environ(home), start_new_session=True) as process,
        ours,
    ):
        theirs.close()
        ours.sendall(b'{"torn": "')
        until(lambda: [f for f in home.glob("spool/tmp/*") if f.stat().st_size])
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)
    assert new_files(home) == []
    assert run(form.command(), b"next", environ(home)).silent
    assert [file.read_bytes() for file in new_files(home)] == [b"next"]


@every_form
def test_what_it_makes_is_for_the_owner_alone(form: Form, tmp_path: Path) -> None:
    home = tmp_path / "fresh" / "recorder"
    before = os.umask(0)
    try:
        assert run(form.command(), b"{}", environ(home)).silent
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in home.rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o777 for path in (home, *home.rglob("*")) if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


@every_form
def test_nothing_is_written_where_the_session_works(form: Form, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for named in (str(tmp_path / "recorder"), "relative/home", "~/home", ""):
        env = environ(tmp_path / "recorder", RECORDER_HOME=named)
        assert run(form.command("wake"), b"{}", env, cwd=project).silent
    assert list(project.iterdir()) == []


@every_form
def test_without_recorder_home_the_home_is_beneath_the_users(form: Form, tmp_path: Path) -> None:
    env = environ(tmp_path / ".recorder")
    del env["RECORDER_HOME"]
    assert run(form.command(), b"{}", env).silent
    assert len(new_files(tmp_path / ".recorder")) == 1


@every_form
def test_a_copy_inside_a_home_spools_there(form: Form, tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    copies = home / "hooks"
    copies.mkdir(parents=True)
    (home / "wake").touch()
    source = Path(form.command()[-1])
    (copies / source.name).write_bytes(source.read_bytes())
    env = environ(tmp_path / "unused")
    del env["RECORDER_HOME"], env["HOME"]
    assert run(form.command(folder=copies), b"{}", env).silent
    assert len(new_files(home)) == 1


@every_form
@pytest.mark.parametrize("session", ["", "../../up", "a b", "a/b", "$(id)", "x" * 65, "-n\n"])
def test_a_strange_session_id_is_not_part_of_the_name(form: Form, session: str, tmp_path: Path) -> None:
    home = tmp_path / "recorder"
    assert run(form.command(), b"{}", environ(home, CLAUDE_CODE_SESSION_ID=session)).silent
    (file,) = new_files(home)
    assert file.name.startswith("none-")


@has(FORMS[1])
def test_functions_that_the_users_shell_exports_are_stepped_over(tmp_path: Path) -> None:
    functions = {f"BASH_FUNC_{name}%%": "() { echo hello; }" for name in ("cat", "mv", "mkdir", "rm")}
    home = tmp_path / "recorder"
    assert run(FORMS[1].command(), b"{}", environ(home, **functions)).silent
    assert [file.read_bytes() for file in new_files(home)] == [b"{}"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs strace")
@every_shell
def test_a_capture_runs_two_programs_and_no_third(form: Form, tmp_path: Path) -> None:
    strace = next((p for p in ("/usr/bin/strace", "/usr/local/bin/strace") if os.path.exists(p)), None)
    if strace is None:
        pytest.skip("needs strace")
    home, log = tmp_path / "recorder", tmp_path / "log"
    run(form.command(), b"{}", environ(home))  # makes the folders
    traced = run([strace, "-f", "-qq", "-e", "trace=execve", "-o", str(log), *form.command()], b"{}", environ(home))
    if not traced.silent or not log.exists():
        pytest.skip("strace is not allowed here")
    started = [line for line in log.read_text().splitlines() if "execve(" in line and " = -1 " not in line]
    programs = [line.split('"')[1].rsplit("/", 1)[1] for line in started]
    assert programs[1:] == ["cat", "mv"]
