"""The built model: that it is what it was built from, and whole."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.built_model import MODELS, needs_model
from worker import shelf
from worker.index import ROOT, Model

needs_torch = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "sentence_transformers", "onnx", "onnxscript")),
    reason="needs the extra `embed-build`",
)


def build(models_dir: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "worker.export", "--models", str(models_dir), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)


def assert_close_and_whole(built: shelf.Built) -> None:
    closeness = built.manifest["closeness"]
    assert built.dimension == 384
    assert closeness["fp32_to_original_min"] >= 0.9999
    assert closeness["alone_to_batch_min"] >= 0.999
    assert closeness["bytes_to_original_mean"] >= 0.99
    assert built.precision == "fp32" or closeness["int8_to_fp32_mean"] >= 0.99
    assert set(built.manifest["sha256"]) == {shelf.NETWORK, shelf.TOKENIZER}
    assert shelf.unsound(built) == []


@needs_model
def test_the_built_model_is_close_to_its_original_and_whole() -> None:
    built = shelf.chosen(MODELS)
    assert built is not None
    assert_close_and_whole(built)


@needs_model
def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    built = shelf.chosen(MODELS)
    assert built is not None
    folder = tmp_path / built.id
    folder.mkdir()
    for name in (shelf.MANIFEST, shelf.NETWORK, shelf.TOKENIZER):
        (folder / name).write_bytes((built.folder / name).read_bytes())
    with (folder / shelf.NETWORK).open("ab") as network:
        network.write(b"\0")
    copied = shelf.chosen(tmp_path)
    assert copied is not None
    assert shelf.unsound(copied) == [shelf.NETWORK]


@needs_torch
def test_a_model_is_built_from_its_weights_and_runs_without_torch(tmp_path: Path) -> None:
    models = tmp_path / "models"
    said = build(models)
    assert said.returncode == 0, said.stderr
    built = shelf.chosen(models)
    assert built is not None
    assert json.loads(said.stdout.splitlines()[-1])["id"] == built.id
    assert_close_and_whole(built)
    assert sorted(path.name for path in models.iterdir()) == [built.id]
    model = Model(models)
    assert len(model.embed(["text"], 30.0)[0]) == built.dimension
    model.close()


@needs_torch
def test_a_source_that_is_not_there_is_an_answer_and_leaves_nothing(tmp_path: Path) -> None:
    said = build(tmp_path / "models", "--source", "nobody/has-this-model")
    assert said.returncode == 1
    assert "nobody/has-this-model" in said.stderr and "Traceback" not in said.stderr
    assert list((tmp_path / "models").iterdir()) == []
