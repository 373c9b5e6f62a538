"""The home: hooks, wake, pause, purge."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from install_person import ROOT, Person

from recorder import install
from recorder.errors import SettingsError

FAKE_WORKER = """
import fcntl, json, os, sys, time
home = os.environ["RECORDER_HOME"]
held = os.open(os.path.join(home, "worker.lock"), os.O_CREAT | os.O_RDWR, 0o600)
try:
    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    pass  # it is wake that must not start a second one
seen = {"env": dict(os.environ), "pid": os.getpid(), "sid": os.getsid(0), "cwd": os.getcwd(), "args": sys.argv[1:]}
with open(os.path.join(home, "draft"), "w") as out:
    json.dump(seen, out)
os.rename(os.path.join(home, "draft"), os.path.join(home, f"started-{os.getpid()}"))
print("a reason", file=sys.stderr, flush=True)
time.sleep(60)
"""


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.01)


@pytest.fixture
def fake_python(person: Person) -> Path:
    """An interpreter whose `-m worker` only says that it was started."""
    folder = person.root / "a venv'"
    folder.mkdir()
    (folder / "worker.py").write_text(FAKE_WORKER)
    path = folder / "python"
    path.write_text(
        f'#!/bin/sh\n[ "$1 $2 $3" = "-I -m worker" ] && exec {sys.executable} "$(dirname "$0")/worker.py" "$@"\n'
        f'exec {sys.executable} "$@"\n'
    )
    path.chmod(0o755)
    return path


def started(person: Person) -> list[Path]:
    return sorted(person.recorder.glob("started-*"))


def wake(person: Person, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [person.recorder / "wake"], env={**person.environ, **environ}, capture_output=True, timeout=10, check=False
    )


def running(person: Person) -> set[int]:
    """What `wake` started and has not ended: probes and workers."""
    shown = subprocess.run(["ps", "-Aww", "-o", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return {int(line.split()[0]) for line in shown.splitlines() if str(person.root) in line}


def test_wake_starts_one_worker_fully_detached_with_few_variables(person: Person, fake_python: Path) -> None:
    person.environ["RECORDER_HOME"] = str(person.home / "my home")
    person.install(interpreter=str(fake_python))
    named = {"CLAUDE_CONFIG_DIR": "/c", "RECORDER_OFF": "1", "RECORDER_WORKER_POLL_S": "1", "OTHER_KEY": "x"}
    done = wake(person, **named)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    until(lambda: started(person))
    seen = json.loads(started(person)[0].read_text())
    try:
        assert seen["args"] == ["-I", "-m", "worker"] and seen["cwd"] == "/"
        assert seen["sid"] not in (os.getsid(0), os.getpgid(0)) and seen["sid"] == seen["pid"]
        assert seen["env"]["RECORDER_HOME"] == str(person.recorder) and seen["env"]["CLAUDE_CONFIG_DIR"] == "/c"
        assert seen["env"]["RECORDER_WORKER_POLL_S"] == "1" and seen["env"]["HOME"] == str(person.home)
        assert not {"OTHER_KEY", "RECORDER_OFF"} & seen["env"].keys()
        until(lambda: (person.recorder / "logs" / "wake.log").read_text() == "a reason\n")
        for _ in range(3):
            wake(person)
        until(lambda: running(person) == {seen["pid"]})
        assert len(started(person)) == 1
    finally:
        os.kill(seen["pid"], signal.SIGKILL)
    wake(person)
    until(lambda: len(started(person)) == 2)
    second = next(path for path in started(person) if path.name != f"started-{seen['pid']}")
    os.kill(int(second.name.split("-")[1]), signal.SIGKILL)


def test_wake_works_while_the_one_that_called_it_is_gone(person: Person, fake_python: Path) -> None:
    person.install(interpreter=str(fake_python))
    subprocess.run(
        ["/bin/sh", "-c", '"$0" & exit', person.recorder / "wake"], env=person.environ, check=True, timeout=10
    )
    until(lambda: started(person))
    os.kill(int(started(person)[0].name.split("-")[1]), signal.SIGKILL)


def test_wake_finds_the_venv_where_the_real_interpreter_is_gone(person: Person) -> None:
    """An upgrade of Python takes the resolved path away and leaves the link in the venv pointing at the new one."""
    link = person.root / "python"
    link.symlink_to("/gone/python3.11")
    person.install(interpreter=str(link))
    assert "/gone/python3.11" in (person.recorder / "wake").read_text()
    assert wake(person).returncode == 0


def test_the_home_and_all_in_it_is_for_its_owner_only(person: Person) -> None:
    person.recorder.mkdir(mode=0o755)
    person.install()
    for path in (person.recorder, *person.recorder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    for name in ("capture.sh", "capture.py", "brief.py"):
        assert (person.recorder / "hooks" / name).read_bytes() == (ROOT / "hooks" / name).read_bytes()
        assert os.access(person.recorder / "hooks" / name, os.X_OK)


def test_an_upgrade_never_shows_a_missing_or_half_written_hook(person: Person, tmp_path: Path) -> None:
    sources = [tmp_path / "old", tmp_path / "new"]
    for n, source in enumerate(sources):
        shutil.copytree(ROOT / "hooks", source / "hooks")
        (source / "hooks" / "capture.sh").write_text(f"#!/bin/sh\n# {str(n) * 100_000}\nexit 0\n")
    person.install(source_root=sources[0])
    copy = person.recorder / "hooks" / "capture.sh"
    allowed = {(source / "hooks" / "capture.sh").read_bytes() for source in sources}
    over, bad = threading.Event(), []

    def session() -> None:
        while not over.is_set():
            try:
                if copy.read_bytes() not in allowed:
                    bad.append("half written")
            except FileNotFoundError:
                bad.append("missing")

    reader = threading.Thread(target=session)
    reader.start()
    for n in range(20):
        assert person.install(source_root=sources[(n + 1) % 2]).hooks == ("capture.sh",)
    over.set()
    reader.join()
    assert bad == []


def test_a_hook_of_the_installed_entries_records_what_it_is_given(person: Person) -> None:
    person.environ["RECORDER_HOME"] = str(person.home / "rec")
    person.install()
    raw = b'{"hook_event_name": "Stop", "session_id": "s"}\n'
    environ = {name: value for name, value in person.environ.items() if name != "RECORDER_HOME"}
    for event, hook in person.ours():
        if event in {"Stop", "SessionEnd"}:
            done = subprocess.run(
                [hook["command"], *hook["args"]], input=raw, env=environ, capture_output=True, timeout=10, check=False
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    spooled = list((person.home / "rec" / "spool" / "new").iterdir())
    assert [path.read_bytes() for path in spooled] == [raw, raw]


def test_the_brief_is_printed_by_a_bare_interpreter_and_silent_without_one(person: Person) -> None:
    project = person.home / "p"
    project.mkdir()
    person.install()
    brief = person.recorder / "brief"
    (brief / "index.json").write_text(json.dumps({"roots": {str(project): {"project": "p-1", "brief": True}}}))
    (brief / "p-1.txt").write_text("the brief\n")
    hook = next(hook for _, hook in person.ours() if "brief.py" in json.dumps(hook))
    raw = json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(project), "source": "startup"})

    def run(args: list[str]) -> tuple[int, str, str]:
        done = subprocess.run(
            [hook["command"], *args],
            input=raw,
            env=person.environ,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    assert os.path.realpath(sys.executable) in hook["args"]
    assert run(hook["args"]) == (0, "the brief\n", "")
    assert run([*hook["args"][:3], "/gone/python3", sys.executable]) == (0, "the brief\n", "")
    assert run([*hook["args"][:3], "/gone/python3", "/gone/venv"]) == (0, "", "")


def test_uninstall_disarms_wake_and_keeps_what_was_recorded(person: Person) -> None:
    person.install()
    (person.recorder / "recorder.db").write_bytes(b"kept")
    person.uninstall()
    assert (person.recorder / "recorder.db").read_bytes() == b"kept"
    assert not os.access(person.recorder / "wake", os.X_OK) and not (person.recorder / "install.json").exists()
    assert (person.recorder / "hooks" / "capture.sh").exists()  # sessions that still run may call it


def test_purge_takes_the_home_away(person: Person) -> None:
    person.install()
    assert person.uninstall(purge=True).purged and not person.recorder.exists()
    assert person.everything() == {}
    assert not person.uninstall(purge=True).purged


@pytest.mark.parametrize("name", ["", "..", "/", "docs"])
def test_purge_touches_no_folder_that_is_not_a_home_of_ours(person: Person, name: str) -> None:
    (person.home / "docs").mkdir()
    (person.home / "docs" / "thesis.txt").write_text("x")
    (person.home / "spool").mkdir()  # even where one happens to look like it
    person.environ["RECORDER_HOME"] = str(person.home / name) if name else str(person.home)
    with pytest.raises(SettingsError):
        person.uninstall(purge=True)
    assert (person.home / "docs" / "thesis.txt").exists() and (person.home / "spool").exists()


def test_a_home_that_holds_the_persons_own_files_is_refused(person: Person) -> None:
    person.environ["RECORDER_HOME"] = str(person.home)
    with pytest.raises(SettingsError, match="name a folder of its own"):
        person.install()


def test_uninstall_ends_the_worker_and_purge_waits_for_it(person: Person) -> None:
    person.install()
    worker = subprocess.Popen(
        [sys.executable, "-I", "-m", "worker"], env=person.environ, cwd="/", stderr=subprocess.DEVNULL
    )
    try:
        until(lambda: person.status().worker_lives and (person.recorder / "worker.sock").exists())
        report = person.uninstall(purge=True)
        assert report.worker_stopped and report.purged and not person.recorder.exists()
        worker.wait(10)
    finally:
        worker.kill()
        worker.wait()


def test_purge_does_not_pull_the_home_from_under_a_worker_that_hangs(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recorder.install.removal.STOP_TIMEOUT_S", 0.2)
    person.install()
    with open(person.recorder / "worker.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(SettingsError, match="a worker still holds"):
            person.uninstall(purge=True)
    assert person.recorder.exists() and not person.settings.exists()


def test_a_pause_has_an_end_that_the_hook_can_tell(person: Person) -> None:
    person.install()
    home = person.recorder
    assert install.paused_until(home) is None and not install.resume(home)
    install.pause(home, 1_800_000_000_500)
    assert install.paused_until(home) == 1_800_000_000_500
    install.pause(home, None)
    until_ms = install.paused_until(home)
    assert until_ms is not None and install.open_ended(until_ms)
    assert install.resume(home) and install.paused_until(home) is None


def test_nothing_is_captured_in_a_pause_and_again_after_it(person: Person) -> None:
    person.install()
    hook = next(hook for event, hook in person.ours() if event == "Stop")
    now_ms = int(time.time() * 1000)

    def captured() -> int:
        subprocess.run([hook["command"], *hook["args"]], input=b"{}", env=person.environ, check=True, timeout=10)
        return len(list((person.recorder / "spool" / "new").iterdir()))

    for until_ms, expected in ((None, 0), (now_ms + 60_000, 0), (now_ms - 60_000, 1)):
        install.pause(person.recorder, until_ms)
        assert captured() == expected
    install.resume(person.recorder)
    assert captured() == 2


@pytest.mark.parametrize("sign", ["folder", "program", "nothing"])
def test_a_claude_code_is_found_by_its_folder_or_on_the_path(person: Person, sign: str) -> None:
    if sign != "folder":
        person.claude.rmdir()
    if sign == "program":
        program = person.root / "bin" / "claude"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        person.environ["PATH"] = str(program.parent)
    else:
        person.environ["PATH"] = "/nowhere"
    assert install.claude_found(person.environ) == (sign != "nothing")
