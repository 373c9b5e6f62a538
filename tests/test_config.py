"""Settings: where they come from, what is refused, and what each one changes."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from recorder import cli, config, worker_socket
from recorder.capture import ingest
from recorder.config import SECTIONS, Config
from recorder.errors import ConfigError
from recorder.recall import fence
from recorder.store import events, jobs
from recorder.store.db import connect
from recorder.web import serve
from tests.makers import T0, bash, event_of, project_folder, prompt, stop, take
from worker import brief, held
from worker.loop import Loop

OTHER: dict[str, tuple[str, str, Any]] = {
    "capture.ignore_paths": ('["a", "b*"]', f"a{os.pathsep}b*", ("a", "b*")),
    "capture.text_head": ("7", "7", 7),
    "capture.text_tail": ("7", "7", 7),
    "store.max_mb": ("7", "7", 7),
    "store.retention_days": ("7", "7", 7),
    "backup.daily": ("false", "no", False),
    "backup.keep_daily": ("3", "3", 3),
    "backup.keep_weekly": ("3", "3", 3),
    "worker.idle_minutes": ("0.5", "0.5", 0.5),
    "worker.poll_s": ("0.5", "0.5", 0.5),
    "worker.turn_idle_minutes": ("0.5", "0.5", 0.5),
    "worker.session_idle_minutes": ("0.5", "0.5", 0.5),
    "worker.max_rss_mb": ("7", "7", 7),
    "distil.enabled": ("false", "off", False),
    "distil.typed_is_verified": ("false", "0", False),
    "recall.k": ("7", "7", 7),
    "recall.max_tokens": ("7", "7", 7),
    "brief.enabled": ("false", "no", False),
    "brief.max_tokens": ("7", "7", 7),
    "sync.enabled": ("false", "no", False),
    "embed.enabled": ("false", "false", False),
    "embed.model": ('"/models/small"', "/models/small", "/models/small"),
    "embed.idle_minutes": ("0.5", "0.5", 0.5),
    "embed.query_timeout_ms": ("7", "7", 7),
    "projects.worktrees": ('"separate"', "separate", "separate"),
    "web.port": ("7", "7", 7),
}
"""Setting → another value as TOML, as environment variable, and as it arrives."""


def value_of(found: Config, setting: str) -> Any:
    section, _, name = setting.partition(".")
    return getattr(getattr(found, section), name)


def written(home: Path, text: str) -> dict[str, str]:
    """An environment whose home has this `config.toml`."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(text)
    return {"RECORDER_HOME": str(home)}


def settings(home: Path, **variables: str) -> Config:
    return config.load({"RECORDER_HOME": str(home), **{f"RECORDER_{name}".upper(): v for name, v in variables.items()}})


def test_this_table_knows_every_setting() -> None:
    assert set(OTHER) == {f"{name}.{field}" for name, section in SECTIONS.items() for field in section.model_fields}


@pytest.mark.parametrize("setting", OTHER)
def test_a_setting_comes_from_the_file_and_the_environment_overrides_it(tmp_path: Path, setting: str) -> None:
    section, _, name = setting.partition(".")
    in_toml, in_environ, expected = OTHER[setting]
    default = value_of(config.load({"RECORDER_HOME": str(tmp_path / "none")}), setting)
    assert default != expected
    environ = written(tmp_path / "home", f"[{section}]\n{name} = {in_toml}\n")
    assert value_of(config.load(environ), setting) == expected
    variable = f"RECORDER_{section}_{name}".upper()
    assert value_of(config.load({"RECORDER_HOME": str(tmp_path / "none"), variable: in_environ}), setting) == expected
    both = written(tmp_path / "home", f"[{section}]\n{name} = {in_toml}\n") | {variable: str(default)}
    if isinstance(default, int | float | str):
        assert value_of(config.load(both), setting) == default


def test_an_unknown_key_is_a_warning_that_names_file_and_key(tmp_path: Path) -> None:
    environ = written(tmp_path, "top = 1\n[worker]\npol_s = 1\n[werker]\npoll_s = 1\n")
    found = config.load(environ | {"RECORDER_WORKER_POL_S": "1", "RECORDER_OFF": "0", "RECORDER_PYTHON": "python3"})
    path = tmp_path / "config.toml"
    assert set(found.warnings) == {
        f"{path}: unknown section [top]",
        f"{path}: unknown key worker.pol_s",
        f"{path}: unknown section [werker]",
        "the environment: unknown setting RECORDER_WORKER_POL_S",
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[worker]\npoll_s = "often"\n', "worker.poll_s = 'often'"),
        ("[worker]\npoll_s = 0\n", "worker.poll_s = 0"),
        ("[worker]\nidle_minutes = -1\n", "worker.idle_minutes = -1"),
        ("[worker]\nidle_minutes = nan\n", "worker.idle_minutes"),
        ("[store]\nmax_mb = 1.5\n", "store.max_mb = 1.5"),
        ("[web]\nport = 70000\n", "web.port = 70000"),
        ("[recall]\nk = 0\n", "recall.k = 0"),
        ('[projects]\nworktrees = "both"\n', "projects.worktrees = 'both'"),
        ("[capture]\nignore_paths = [1]\n", "capture.ignore_paths"),
        ("not toml at all", "TOML"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_value_place_and_remedy(
    tmp_path: Path, text: str, named: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        config.load(written(tmp_path, text))
    said = str(refused.value)
    assert named in said and str(tmp_path / "config.toml") in said and "end or remove it" in said


def test_a_wrong_variable_is_named_by_its_own_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'often' in the environment variable RECORDER_WORKER_POLL_S"):
        config.load({"RECORDER_HOME": str(tmp_path), "RECORDER_WORKER_POLL_S": "often"})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match="config.toml cannot be read"):
        config.load({"RECORDER_HOME": str(tmp_path)})
    (tmp_path / "config.toml").rmdir()
    (tmp_path / "config.toml").write_bytes(b"[worker]\n# \xff\n")
    with pytest.raises(ConfigError, match="config.toml is not valid TOML"):
        config.load({"RECORDER_HOME": str(tmp_path)})


def test_a_relative_home_is_made_absolute_and_said_because_no_hook_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = config.load({"RECORDER_HOME": "here/../there"})
    assert found.home == tmp_path / "there"
    assert any("RECORDER_HOME=here/../there" in warning for warning in found.warnings)
    assert config.load({"HOME": str(tmp_path)}).home == tmp_path / ".recorder"


# --- what each one changes; those of capture, distil.typed_is_verified and worker.idle_minutes have theirs elsewhere --


class Naps(threading.Event):
    """Writes down how long the worker wants to sleep, and sends it home."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.asked.append(timeout)
        self.stop.set()
        return True

    stop: threading.Event


def napping(found: Config) -> tuple[Loop, Naps]:
    naps = Naps()
    loop = held.make_loop(found)
    loop.wake, naps.stop = naps, loop.stop
    return loop, naps


@pytest.mark.parametrize("poll_s", ["0.25", "30"])
def test_an_idle_worker_looks_again_after_poll_s(own_home: Path, poll_s: str) -> None:
    loop, naps = napping(settings(own_home / ".recorder", worker_poll_s=poll_s, worker_max_rss_mb="100000"))
    loop.run()
    assert naps.asked == [float(poll_s)]


def test_a_worker_above_max_rss_mb_leaves_and_one_below_stays(own_home: Path) -> None:
    for most, asleep in (("1", 0), ("100000", 1)):
        loop, naps = napping(settings(own_home / ".recorder", worker_max_rss_mb=most))
        loop.run()
        assert len(naps.asked) == asleep


def due(found: Config, kind: str, folder: str) -> int:
    db = connect(found.db_path)
    take(db, found, [event_of(prompt("hello", cwd=folder))])
    (job,) = [job for job in jobs.listing(db) if job["kind"] == kind]
    db.close()
    return int(job["due_ms"]) - T0


def test_a_silent_turn_is_distilled_after_turn_idle_minutes(own_home: Path) -> None:
    found = settings(own_home / ".recorder", worker_turn_idle_minutes="3")
    assert due(found, ingest.DISTIL, str(project_folder(own_home))) == 3 * 60_000


def test_a_silent_session_is_closed_after_session_idle_minutes(own_home: Path) -> None:
    found = settings(own_home / ".recorder", worker_session_idle_minutes="7")
    assert due(found, ingest.CLOSE, str(project_folder(own_home))) == 7 * 60_000


@pytest.mark.parametrize(("switch", "learnt"), [("true", True), ("false", False)])
def test_nothing_is_learnt_while_distil_is_off_and_everything_is_still_recorded(
    own_home: Path, switch: str, learnt: bool
) -> None:
    found = settings(own_home / ".recorder", distil_enabled=switch)
    folder = str(project_folder(own_home))
    db = connect(found.db_path)
    take(db, found, [event_of(prompt("Always run the tests with pytest -q", cwd=folder)), event_of(stop(cwd=folder))])
    held.drain_once(found)
    assert events.count(db) == 2
    assert bool(list(db.execute("select 1 from memories"))) is learnt
    db.close()


def run_cli(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["recorder", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return int(str(left.value.code))


@pytest.fixture
def five(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Five memories about cheese, verified, in the project of the current folder."""
    folder = project_folder(own_home)
    monkeypatch.chdir(folder)
    for n in range(5):
        assert (
            run_cli(monkeypatch, "remember", "project", f"cheese.{n}", f"cheese number {n} " + f"is fine {n} " * 30)
            == 0
        )
    return Config(home=own_home / ".recorder")


def searched(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> Any:
    batch = folder / "questions.jsonl"
    batch.write_text('{"id": 1, "question": "cheese"}\n')
    capsys.readouterr()
    assert run_cli(monkeypatch, "search", "--batch", str(batch)) == 0
    return json.loads(capsys.readouterr().out)


def test_recall_gives_at_most_k_and_stays_within_its_tokens(
    five: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    usual = searched(monkeypatch, capsys, tmp_path)
    assert len(usual["hits"]) == 5 and usual["tokens"] > 300
    monkeypatch.setenv("RECORDER_RECALL_K", "2")
    assert len(searched(monkeypatch, capsys, tmp_path)["hits"]) == 2
    monkeypatch.setenv("RECORDER_RECALL_MAX_TOKENS", "200")
    assert searched(monkeypatch, capsys, tmp_path)["tokens"] <= 200


def shown(five: Config, **variables: str) -> tuple[str, str]:
    """(the project's brief, the index) as the worker writes them."""
    found = settings(five.home, **variables)
    db = connect(found.db_path)
    brief.write_all(db, found, T0)
    db.close()
    (text,) = found.brief_dir.glob("project-*.txt")
    return text.read_text(), (found.brief_dir / "index.json").read_text()


def test_a_brief_stays_within_its_tokens_and_names_what_is_left_out(five: Config) -> None:
    usual, _ = shown(five, brief_max_tokens="2000")
    short, _ = shown(five, brief_max_tokens="250")
    assert fence.tokens(short) <= 250 < fence.tokens(usual)
    assert "left out" in short and "left out" not in usual


def test_no_brief_is_shown_while_it_is_switched_off(five: Config) -> None:
    assert '"enabled": true' in shown(five)[1]
    assert '"enabled": false' in shown(five, brief_enabled="false")[1]


@pytest.mark.parametrize(("switch", "said"), [("true", "does not answer"), ("false", "turned off")])
def test_vectors_that_are_off_are_not_asked_for(
    five: Config,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    switch: str,
    said: str,
) -> None:
    monkeypatch.setenv("RECORDER_EMBED_ENABLED", switch)
    assert said in searched(monkeypatch, capsys, tmp_path)["arms"]["vector"]


def test_a_question_waits_for_its_vector_no_longer_than_query_timeout_ms(
    five: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(worker_socket.socket_path(five.home)))
        mute.listen()
        took: dict[str, float] = {}
        for limit in ("10", "900"):
            monkeypatch.setenv("RECORDER_EMBED_QUERY_TIMEOUT_MS", limit)
            began = time.monotonic()
            assert "timed out" in searched(monkeypatch, capsys, tmp_path)["arms"]["vector"]
            took[limit] = time.monotonic() - began
    assert took["900"] >= 0.9 and took["900"] - took["10"] > 0.4


def test_the_worker_runs_the_model_of_the_settings(own_home: Path) -> None:
    assert held.make_loop(settings(own_home / ".recorder", embed_model="small")).model.wanted == "small"


def test_the_model_is_let_go_after_the_minutes_of_the_settings(own_home: Path) -> None:
    found = settings(own_home / ".recorder", embed_idle_minutes="9", embed_enabled="false")
    model = held.make_loop(found).model
    assert model.idle_minutes == 9 and "turned off" in model.status


@pytest.mark.parametrize(("worktrees", "projects"), [("share", 1), ("separate", 2)])
def test_worktrees_are_one_project_or_each_its_own(own_home: Path, worktrees: str, projects: int) -> None:
    main, other = own_home / "main", own_home / "other"
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@localhost", "-c", "init.defaultBranch=main"]
    quiet = {"check": True, "capture_output": True, "timeout": 30}
    subprocess.run([*git, "init", str(main)], **quiet)  # type: ignore[call-overload]
    subprocess.run([*git, "-C", str(main), "commit", "--allow-empty", "-m", "first"], **quiet)  # type: ignore[call-overload]
    subprocess.run([*git, "-C", str(main), "worktree", "add", str(other)], **quiet)  # type: ignore[call-overload]
    found = settings(own_home / ".recorder", projects_worktrees=worktrees)
    db = connect(found.db_path)
    given = [
        event_of(bash("pwd", use=folder.name, session=f"s-{folder.name}", cwd=str(folder))) for folder in (main, other)
    ]
    take(db, found, given)
    assert len({project for (project,) in db.execute("select project_id from events")}) == projects
    db.close()


def test_beyond_max_mb_the_oldest_uncited_output_goes_and_prompts_stay(own_home: Path) -> None:
    found = settings(own_home / ".recorder", store_max_mb="5")
    folder = str(project_folder(own_home))
    noise = random.Random(1)
    given = [event_of(prompt("Keep me", cwd=folder))]
    given += [
        event_of(bash(f"run {n}", noise.randbytes(6000).hex(), use=f"t{n}", cwd=folder), at_ms=T0 + n)
        for n in range(600)
    ]
    db = connect(found.db_path)
    take(db, found, given)
    held.drain_once(found)
    codecs = [codec for (codec,) in db.execute("select codec from events where kind = 'tool_call' order by at_ms")]
    assert codecs[0] == "gone" and codecs[-1] != "gone" and len(codecs) == 600
    assert [event.text for event in events.listing(db, kind="prompt")] == ["Keep me"]
    db.close()


def test_the_service_takes_the_port_of_the_settings(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:
        probe.bind((serve.HOST, 0))
        port = probe.getsockname()[1]
    found = settings(own_home / ".recorder", web_port=str(port))
    listener = serve.bind(found.web.port)
    assert listener.getsockname() == (serve.HOST, port)
    listener.close()
