"""The commands of a project that work: test, lint, format, typecheck, build, check, start, install."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from recorder.models import Channel, MemoryKind, StoredEvent
from worker.distil import shell
from worker.distil.proposed import Found

# Task runners: what follows is the project's own name for the work.
RUNNER = re.compile(
    r"^(?:\w+=\S+\s+)*(?:mise (?:run|r)|(?:npm|pnpm|yarn|bun) run|make|just|task|rake|"
    r"composer(?: run)?|deno task|nox -s|tox -e|hatch run|"
    r"poetry run poe|poe|invoke|inv|yarn|pnpm|npm(?= (?:test|start)\b))\s+(?P<task>[a-z][\w:.-]*)(?P<rest>(?:\s.*)?)$"
)
# Task name → what it is for; the name may go on behind `:`, `-`, `_`, `.` or `/`.
TASKS: tuple[tuple[str, str], ...] = (
    ("test", "tests?|spec|unit|e2e|integration"),
    ("lint", "lint|eslint|clippy"),
    ("format", "fmt|format|prettier"),
    ("typecheck", "typecheck|type-check|types|tsc|mypy|ty"),
    ("build", "build|compile|dist"),
    ("check", "check|ci|verify|validate|fast-ci|all-ci|audit"),
    ("dev", "dev|start|serve|watch|preview"),
)
WRAPPER = (
    r"^(?:\w+=\S+\s+)*(?:(?:uv|poetry|pdm|pipenv|hatch|rye) run (?:-\S+ )*|npx (?:--\S+ |-\w )*|bunx |"
    r"pnpm (?:exec|dlx) |bundle exec |python3? -m |\./node_modules/\.bin/|\.venv/bin/|venv/bin/)?"
)
# Tools called by their own name.
TOOLS: tuple[tuple[str, str], ...] = (
    ("test", r"(?:pytest|py\.test|unittest|jest|vitest(?: run)?|mocha|ava|rspec|phpunit|ctest|nose2)\b"),
    (
        "test",
        r"(?:go|cargo|dotnet|swift|mix|sbt|lein|zig build|flutter|dart|bun|deno|\./gradlew|gradle|"
        r"mvn(?:w)?|\./mvnw) (?:-\S+ )*test\b",
    ),
    ("test", r"cargo nextest run\b"),
    (
        "lint",
        r"(?:ruff check|ruff(?= (?!format\b|clean\b)[.\w/]+$)|flake8|pylint|eslint|golangci-lint run|cargo clippy|"
        r"rubocop|shellcheck|stylelint|biome (?:check|lint)|oxlint|go vet|swiftlint)\b",
    ),
    (
        "format",
        r"(?:ruff format|black|prettier --(?:write|check)|gofmt -\w+|goimports -w|cargo fmt|rustfmt|"
        r"biome format|dprint fmt|mix format|dotnet format)",
    ),
    ("typecheck", r"(?:mypy|pyright|basedpyright|tsc|vue-tsc|ty check|pyre|flow check)\b"),
    (
        "build",
        r"(?:go|cargo|dotnet|swift|docker compose|hugo|vite|next|astro|uv|hatch|flutter|\./gradlew|"
        r"gradle) (?:-\S+ )*build\b|cmake --build\b|mvn(?:w)? (?:-\S+ )*(?:package|install)\b|"
        r"python -m build\b",
    ),
    (
        "dev",
        r"(?:next|astro|vite|nuxt|wrangler) dev\b|(?:flask|uvicorn|gunicorn|hypercorn) \S+|"
        r"rails s(?:erver)?\b|python manage\.py runserver\b",
    ),
    (
        "install",
        r"(?:npm ci|(?:npm|pnpm|yarn|bun) install|yarn|uv sync(?: --\S+)*|poetry install(?: --\S+)*|"
        r"bundle install|go mod download|pip install (?:-e|-r) \S+|cargo fetch|composer install|"
        r"mix deps\.get)$",
    ),
)
_TASKS = tuple((name, re.compile(rf"^(?:{words})(?P<more>(?:[:._/-].*)?)$", re.I)) for name, words in TASKS)
_TOOLS = tuple((name, re.compile(WRAPPER + rf"(?:{words})", re.I)) for name, words in TOOLS)
# Runs of one file, one name or one fix: true for the moment, not how the project is tested.
NARROW = re.compile(
    r"::|\s-(?:run|k|t|m|g)\s|\s-(?:run|k|t)=|\s--(?:grep|testNamePattern|filter|last-failed|lf|only|"
    r"bail|testPathPattern|co|collect-only)\b|"
    r"\.(?:py|ts|tsx|js|jsx|mjs|go|rs|rb|java|kt|php|cs|swift|c|cc|cpp|ex|exs|md|json|ya?ml|toml)\b(?!\S*/\.\.\.)|"
    r"\s\S+/\S+/\S+/\S|\s\./\S+/\.\.\.|--(?:help|version)\b|\s-(?:h|V)\b|\s-c\s|\$\(|\$\{|`|\*|<|>|"
    r"\s(?:-x|--fix|--watch|-count)\b|/tmp/|\s/\w"
)
MODULE = re.compile(r"\bpython3? -m ")
SAYS = {
    "test": "Tests run with `{}`.",
    "lint": "The linter runs with `{}`.",
    "format": "Code is formatted with `{}`.",
    "typecheck": "Types are checked with `{}`.",
    "build": "The build runs with `{}`.",
    "check": "All checks run with `{}`.",
    "dev": "The application starts with `{}`.",
    "install": "Dependencies are installed with `{}`.",
}


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a command line is for. `name` is the key's last part; a variant of a task has one of its own."""

    kind: str
    name: str
    task: bool


def purpose(line: str) -> Purpose | None:
    """What the command is for; None when it is none of a project's usual commands or runs only a piece."""
    if NARROW.search(MODULE.sub("", line)):
        return None
    run = RUNNER.match(line)
    if run:
        for kind, words in _TASKS:
            task = words.match(run["task"])
            if task:
                name = kind if not task["more"] else re.sub(r"[^a-z0-9]+", "-", run["task"].lower()).strip("-")
                name = (
                    name if run["task"].lower() not in ("integration", "e2e", "unit") else f"test-{run['task'].lower()}"
                )
                return Purpose(kind, name, True)
    for kind, words in _TOOLS:
        if words.match(line):
            tags = re.search(r"-tags[= ]([a-z]\w*)", line)
            return Purpose(kind, f"{kind}-{tags[1]}" if tags else kind, False)
    return None


def commands(turn: Iterable[StoredEvent]) -> list[Found]:
    """One memory a purpose: the last command for it that succeeded; a project's own task goes before a bare tool."""
    best: dict[str, tuple[Purpose, shell.Step, StoredEvent]] = {}
    seen: dict[str, list[tuple[StoredEvent, str]]] = {}
    for event in turn:
        for step in shell.steps(event):
            what = purpose(step.line)
            if what is None or not step.succeeded or (step.background and what.kind != "dev"):
                continue
            kept = best.get(what.name)
            if kept and kept[0].task and not what.task:
                continue
            if kept and kept[1].shown != step.shown:
                seen.pop(what.name, None)
            best[what.name] = (what, step, event)
            seen.setdefault(what.name, []).append((event, step.line))
    return [_found(what, step, seen[name]) for name, (what, step, _) in best.items()]


def _found(what: Purpose, step: shell.Step, quotes: list[tuple[StoredEvent, str]]) -> Found:
    variant = what.name[len(what.kind) :].strip("-") if what.name.startswith(what.kind) else what.name
    sentence = SAYS[what.kind].format(step.shown)
    return Found(
        rule="command",
        key=f"command.{what.name}",
        value=f"{sentence[:-1]} ({variant})." if variant else sentence,
        kind=MemoryKind.PROCEDURAL,
        channel=Channel.OBSERVED,
        quotes=tuple(quotes[-3:][::-1]),
        confidence=0.8 if what.task else 0.6,
        importance=0.7,
        tags=("command", what.kind),
    )
