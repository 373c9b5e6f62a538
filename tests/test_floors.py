"""The house: who may import whom, and which outside library has which door."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

FLOORS: tuple[tuple[str, ...], ...] = (
    ("recorder.errors",),
    (
        "recorder.config",
        "recorder.config_file",
        "recorder.models",
        "recorder.worker_socket",
        "recorder.canonical",
        "recorder.counted",
        "recorder.dates",
    ),
    ("recorder.store",),
    ("recorder.capture",),
    (
        "recorder.gate",
        "recorder.redaction",
        "recorder.recall",
        "recorder.embed",
        "recorder.claude_auto",
        "recorder.lifecycle",
        "recorder.forget",
        "recorder.review",
    ),
    ("worker",),
    (
        "recorder.web",
        "recorder.cli",
        "recorder.install",
        "recorder.doctor",
        "recorder.__main__",
        "recorder.demo",
        "recorder.selftest",
        "mcp_server",
        "scripts.backfill",
    ),
)

DOORS: dict[str, str | tuple[str, ...]] = {
    "apsw": "recorder.store.db",
    "watchdog": "worker.watch",
    "mcp": "mcp_server",
    "kingfisher_sdk": "recorder.capture.redact",
    "onnxruntime": ("worker.child", "worker.export"),
    "tokenizers": "worker.child",
    "confusable_homoglyphs": "recorder.canonical",
    "frontmatter": "recorder.claude_auto",
    "fastapi": "recorder.web",
    "uvicorn": "recorder.web",
    "jinja2": "recorder.web",
    "typer": "recorder.cli",
    "rich": "recorder.cli",
}

SOURCES = [
    path for top in ("recorder", "worker", "scripts", "hooks") for path in sorted((ROOT / top).rglob("*.py"))
] + [ROOT / "mcp_server.py"]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; name the module from the top"
            base = node.module or ""
            names = [f"{base}.{alias.name}" for alias in node.names]
            yield from (name if _is_module(name) else base for name in names)


def _is_module(name: str) -> bool:
    path = ROOT / Path(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def within(module: str, room: str) -> bool:
    return module == room or module.startswith(room + ".")


def floor_of(module: str) -> int | None:
    found = [n for n, rooms in enumerate(FLOORS) for room in rooms if within(module, room)]
    return found[0] if found else None


def existing() -> list[Path]:
    return [path for path in SOURCES if path.exists() and path.stat().st_size]


@pytest.mark.parametrize("path", existing(), ids=module_of)
def test_a_module_imports_only_from_floors_before_its_own_or_beside_it(path: Path) -> None:
    module = module_of(path)
    if within(module, "hooks") or module in {"recorder", "scripts", "worker"}:
        return
    own = floor_of(module)
    assert own is not None, f"{module} stands on no floor: give it one in FLOORS"
    for name in imports_of(path):
        other = floor_of(name)
        if other is None:
            assert not within(name, "hooks"), f"{module} imports {name}: nothing imports hooks/"
            continue
        assert other <= own, f"{module} (floor {own}) imports {name} (floor {other})"
        if within(name, "worker") and within(module, "recorder"):
            assert own == len(FLOORS) - 1, f"{module} imports {name}: of recorder only the roofs import worker"


@pytest.mark.parametrize("path", existing(), ids=module_of)
def test_each_outside_library_has_one_door(path: Path) -> None:
    module = module_of(path)
    for name in imports_of(path):
        door = DOORS.get(name.split(".")[0], module)
        doors = (door,) if isinstance(door, str) else door
        assert any(within(module, one) for one in doors), f"{module} imports {name}; its door is {door}"


@pytest.mark.parametrize("path", [p for p in existing() if module_of(p).startswith("hooks")], ids=module_of)
def test_hooks_import_the_standard_library_alone(path: Path) -> None:
    for name in imports_of(path):
        assert name.split(".")[0] in sys.stdlib_module_names, f"{path.name} imports {name}"


def test_no_two_modules_import_each_other_in_a_loop() -> None:
    graph = {
        module_of(path): {name for name in imports_of(path) if floor_of(name) is not None} - {module_of(path)}
        for path in existing()
    }
    state: dict[str, int] = {}

    def walk(module: str, trail: tuple[str, ...]) -> None:
        assert state.get(module) != 1, f"import loop: {' -> '.join((*trail, module))}"
        if state.get(module) == 2:
            return
        state[module] = 1
        for name in sorted(graph.get(module, ())):
            walk(name, (*trail, module))
        state[module] = 2

    for module in sorted(graph):
        walk(module, ())
