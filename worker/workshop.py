"""Where the embedding model is built: an environment with torch, thrown away afterwards."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recorder import config
from recorder.errors import BuildFailed, RecorderError
from worker import shelf
from worker.held import locked

TORCH = "torch==2.13.0"
EXTRAS = ("semantic", "embed-build")
LIBRARIES = ("torch", "sentence_transformers", "onnx", "onnxscript", "onnxruntime", "tokenizers", "numpy")
ROOM_MB = 2000
"""The environment takes some 1.3 GB, and pip as much again of what it unpacks, though not at once."""
ROOT = Path(__file__).resolve().parent.parent
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a build would do."""

    source: str
    there: shelf.Built | None
    """A sound model of this source: then nothing is built."""
    downloads: tuple[str, ...]
    """What pip would be asked for; nothing where this environment can build it by itself."""

    @property
    def lines(self) -> list[str]:
        """For a person, before it begins."""
        if self.there is not None:
            return [f"{self.there.id} is built and whole; --force builds it anew"]
        if not self.downloads:
            return [f"building {self.source} with the libraries that are installed here; nothing is downloaded"]
        return [
            f"building {self.source}, once (this takes a few minutes)",
            "into a temporary environment of 1.3 GB, deleted afterwards, some 350 MB are downloaded:"
            f" {', '.join(self.downloads)}",
        ]


def plan(models_dir: Path, wanted: str = "", *, force: bool = False) -> Plan:
    """What building what `wanted` means would do: a built model's name, a folder, a hub name, or the packaged one.

    Raises: BuildFailed for what is spelled as a folder and is none.
    """
    named = next((built for built in shelf.listing(models_dir) if built.id == wanted), None)
    source = named.source if named else shelf.source(wanted)
    sound = (one for one in shelf.listing(models_dir) if shelf.meant(one, source) and not shelf.unsound(one))
    there = None if force else next(sound, None)
    if there is None and source.startswith(("/", ".", "~")) and not os.path.isdir(source):
        raise BuildFailed(f"there is no folder {source}: give one with a model in it, or a hub name such as owner/name")
    needed = (*LIBRARIES, *([shelf.PACKAGE] if source == shelf.PACKAGE else []))
    able = all(importlib.util.find_spec(name) for name in needed)
    return Plan(source, there, () if able else (TORCH, *requirements()))


def requirements() -> list[str]:
    """What the extras ask for, ourselves and torch left out."""
    found = [line.partition(";") for line in importlib.metadata.requires("claude-recorder") or ()]
    extras = tuple(f"extra == {quote}{name}{quote}" for name in EXTRAS for quote in "\"'")
    named = {name.strip(): None for name, _, condition in found if condition.strip() in extras}
    return [name for name in named if not name.startswith(("claude-recorder", "torch"))]


def build(home: Path, models_dir: Path, asked: Plan, say: Say) -> shelf.Built:
    """Carry the plan out; the model that is ready then. Other models stay as they are, whatever becomes of this one.

    Raises: BuildFailed with the reason and what to do.
    """
    if asked.there is not None:
        return asked.there
    with locked(home, of="models") as alone:
        if not alone:
            raise BuildFailed("another build is running: wait until it is done")
        if not asked.downloads:
            return _export(Path(sys.executable), ROOT, models_dir, asked.source)
        free_mb = shutil.disk_usage(tempfile.gettempdir()).free // 1_000_000
        if free_mb < ROOM_MB:
            raise BuildFailed(
                f"{free_mb} MB are free in {tempfile.gettempdir()} and a build needs {ROOM_MB}: name another folder in"
                " TMPDIR"
            )
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing temporary is left behind
        with tempfile.TemporaryDirectory(prefix="recorder-build-") as folder:
            work = Path(folder)
            interpreter = _environment(work, asked.downloads, say)
            code = work / "code"
            code.mkdir()
            for name in ("recorder", "worker"):
                (code / name).symlink_to(ROOT / name)
            say("exporting and comparing with the original")
            return _export(interpreter, code, models_dir, asked.source)


def _environment(work: Path, wanted: Sequence[str], say: Say) -> Path:
    """A virtual environment with what is wanted; its interpreter. No CUDA packages come with torch."""
    torch, *others = wanted
    interpreter = work / "venv" / "bin" / "python"
    made = _run([sys.executable, "-m", "venv", str(work / "venv")])
    if made.returncode:
        raise BuildFailed(
            f"a virtual environment cannot be made ({_why(made)}): on Debian, apt-get install python3-venv"
        )
    pip = [str(interpreter), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    say(f"downloading {torch}, the CPU build")
    uv = shutil.which("uv")
    by_uv = (
        [uv, "pip", "install", "--quiet", "--python", str(interpreter), "--torch-backend", "cpu", torch] if uv else []
    )
    if not by_uv or _run(by_uv).returncode:
        report = work / "plan.json"
        _fetched(_run([*pip, "--dry-run", "--report", str(report), torch]))
        cuda = [name for name in _names(report) if name.startswith("nvidia")]
        if cuda:
            raise BuildFailed(
                f"pip would install CUDA packages for {torch} here ({cuda[0]} and {len(cuda) - 1} more). With uv"
                " (https://docs.astral.sh/uv/) on the PATH, `recorder models build` takes the CPU build"
            )
        _fetched(_run([*pip, torch]))
    say("downloading what reads and converts the model")
    _fetched(_run([*pip, torch, *others]))
    return interpreter


def _export(interpreter: Path, code: Path, models_dir: Path, source: str) -> shelf.Built:
    """The model, exported by an interpreter that has all it takes."""
    origin = [] if source == shelf.PACKAGE else ["--source", source]
    run = _run(
        [str(interpreter), "-W", "ignore", "-m", "worker.export", "--models", str(models_dir), *origin],
        {"PYTHONPATH": str(code), "PYTHONSAFEPATH": "1"},
    )
    if run.returncode:
        raise BuildFailed(_why(run).removeprefix("recorder: "))
    built = shelf.read(models_dir / json.loads(run.stdout.splitlines()[-1])["id"])
    assert built is not None
    return built


def _run(command: Sequence[str], more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, **(more or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _fetched(run: subprocess.CompletedProcess[str]) -> None:
    if run.returncode:
        raise BuildFailed(
            f"what builds a model cannot be downloaded ({_why(run)}). Try again with a network, or install the extra"
            " embed-build of claude-recorder by hand: then nothing is downloaded"
        )


def _names(report: Path) -> list[str]:
    return [item["metadata"]["name"] for item in json.loads(report.read_bytes())["install"]]


def _why(run: subprocess.CompletedProcess[str]) -> str:
    """The line in which a program says why it failed."""
    lines = [line.strip() for line in (run.stderr or run.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or [f"exit code {run.returncode}"])[-1]


def main() -> int:
    """Build what the settings name."""
    try:
        settings = config.load(os.environ)
        asked = plan(settings.models_dir, settings.embed.model)
        for line in asked.lines:
            print(line)
        built = build(settings.home, settings.models_dir, asked, print)
    except RecorderError as error:
        print(f"recorder: {error}", file=sys.stderr)
        return 1
    print(f"{built.id} ({built.dimension} dimensions)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
