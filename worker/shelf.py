"""The folder of built models."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from recorder.errors import ConfigError

MANIFEST = "manifest.json"
NETWORK = "model.onnx"
TOKENIZER = "tokenizer.json"
CURRENT = "current"
NO_MODEL = "no model (run `recorder models build`)"


@dataclass(frozen=True, slots=True)
class Built:
    """A model that is ready to run."""

    id: str
    folder: Path
    dimension: int
    precision: str
    """`int8`, or `fp32` where int8 came out too far from the original."""
    built_ms: int
    manifest: dict[str, Any]


def listing(models_dir: Path) -> list[Built]:
    """Every built model, newest first; a folder without a sound manifest is none."""
    found = [_read(path.parent) for path in models_dir.glob(f"*/{MANIFEST}")]
    return sorted((model for model in found if model is not None), key=lambda model: -model.built_ms)


def chosen(models_dir: Path) -> Built | None:
    """The model to run: the one `use` named, else the newest."""
    pointer = models_dir / CURRENT
    try:
        named = pointer.read_text(encoding="utf-8").strip()
    except OSError:
        named = ""
    if named and "/" not in named and (model := _read(models_dir / named)) is not None:
        return model
    return next(iter(listing(models_dir)), None)


def use(models_dir: Path, model_id: str) -> Built:
    """Run this model from now on; what other models embedded is embedded anew.

    Raises: ConfigError when it is not there.
    """
    for model in listing(models_dir):
        if model.id == model_id:
            draft = models_dir / f"{CURRENT}.new"
            draft.write_text(model_id + "\n", encoding="utf-8")
            os.replace(draft, models_dir / CURRENT)
            return model
    names = ", ".join(model.id for model in listing(models_dir)) or "none"
    raise ConfigError(f"no model {model_id!r} in {models_dir} (there: {names}); `recorder models build` makes one")


def unsound(model: Built) -> list[str]:
    """The files of a model whose bytes are not those that were built."""
    return [
        name
        for name, digest in model.manifest.get("sha256", {}).items()
        if not (model.folder / name).is_file() or digest_of(model.folder / name) != digest
    ]


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    digest = sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _read(folder: Path) -> Built | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        built = Built(
            id=str(manifest["id"]),
            folder=folder,
            dimension=int(manifest["dimension"]),
            precision=str(manifest["precision"]),
            built_ms=int(manifest["built_ms"]),
            manifest=manifest,
        )
    except (OSError, ValueError, KeyError, TypeError):  # half copied, or not ours
        return None
    complete = (folder / NETWORK).is_file() and (folder / TOKENIZER).is_file()
    return built if complete and built.id == folder.name else None
