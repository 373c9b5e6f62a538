"""Commands that work and errors that were overcome."""

from __future__ import annotations

import pytest
from distil_samples import broke, call, distilled, edited, failed, ran, said, values

from recorder.models import Channel, MemoryKind, Origin
from worker.distil.commands import purpose

LINES = {
    "mise run test": "test",
    "mise run test:integration": "test-integration",
    "npm test": "test",
    "npm run test:e2e": "test-e2e",
    "pnpm lint": "lint",
    "yarn build": "build",
    "make typecheck": "typecheck",
    "just fmt": "format",
    "npm run dev": "dev",
    "npm ci": "install",
    "uv sync --all-extras": "install",
    "pytest": "test",
    "uv run pytest -q": "test",
    "python3 -m pytest tests": "test",
    "go test ./...": "test",
    "go test -tags=integration ./...": "test-integration",
    "cargo test": "test",
    "ruff check .": "lint",
    "ruff format": "format",
    "npx tsc --noEmit": "typecheck",
    "mypy src": "typecheck",
    "cargo build --release": "build",
    "./gradlew test": "test",
}
PIECES = [
    "pytest tests/test_x.py",
    "pytest -k login",
    "pytest tests/test_x.py::test_one",
    "go test ./cmd/entire/cli/logging/... -v",
    "go test -run TestOne ./...",
    "npx jest src/a.test.ts",
    "npm install left-pad",
    "pip install requests",
    "ls -la",
    "git status",
    "cat Makefile",
    "python script.py",
    "echo test",
    "grep -rn test .",
    "rm -rf build",
    "npm --version",
    "pytest --help",
    "make",
    "npm run release",
    "python3 -c 'print(1)'",
    "npm test | grep -c ok",
]


@pytest.mark.parametrize(("line", "name"), LINES.items())
def test_a_projects_usual_command_has_the_key_of_its_purpose(line: str, name: str) -> None:
    (found,) = distilled(ran(line, "ok"))
    assert found.proposal.key == f"command.{name}"
    assert f"`{line}`" in found.proposal.value
    assert found.proposal.evidence[0].quote == line
    assert (found.channel, found.proposal.kind, found.proposal.origin) == (
        Channel.OBSERVED,
        MemoryKind.PROCEDURAL,
        Origin.OBSERVED,
    )


@pytest.mark.parametrize("line", PIECES)
def test_pieces_and_other_commands_are_left_alone(line: str) -> None:
    assert purpose(line) is None
    assert distilled(ran(line, "1 passed")) == []


def test_a_command_that_failed_is_not_one_that_works() -> None:
    assert distilled(broke("npm test", "2 failed")) == []


def test_the_last_success_after_failures_is_kept() -> None:
    found = values(
        broke("pytest", "no module named x"), ran("uv run pytest", "3 passed"), ran("uv run pytest -q", "3 passed")
    )
    assert found["command.test"] == "Tests run with `uv run pytest -q`."


def test_a_projects_own_task_goes_before_a_bare_tool() -> None:
    found = values(ran("make test", "ok"), ran("go test ./...", "ok  x 1s"))
    assert found == {"command.test": "Tests run with `make test`."}


def test_each_command_of_a_chain_that_succeeded_is_seen() -> None:
    assert set(values(ran("make fmt && make lint && make test", "ok"))) == {
        "command.format",
        "command.lint",
        "command.test",
    }


@pytest.mark.parametrize("line", ["npm test || true", "npm test; echo done", "npm test 2>&1 | tail -5"])
def test_a_masked_exit_code_counts_only_with_the_words_of_success(line: str) -> None:
    assert distilled(ran(line, "2 failed, 1 passed")) == []
    assert distilled(ran(line, "")) == []
    assert values(ran(line, "3 passed in 1s")) == {"command.test": "Tests run with `npm test`."}


def test_the_environment_a_command_needs_is_kept_and_the_place_of_this_machine_is_not() -> None:
    assert values(ran("(source .venv/bin/activate && pytest)", "1 passed")) == {
        "command.test": "Tests run with `source .venv/bin/activate && pytest`."
    }
    assert values(ran("cd /home/user/project && make test", "ok")) == {"command.test": "Tests run with `make test`."}
    assert values(ran("cd /home/user/project/web && npm test", "ok")) == {
        "command.test": "Tests run with `cd web && npm test`."
    }


def test_a_command_in_the_background_is_known_to_start_and_nothing_more() -> None:
    started = call("Bash", {"command": "npm run dev", "run_in_background": True}, "Command running in background")
    tested = call("Bash", {"command": "npm test", "run_in_background": True}, "Command running in background")
    assert list(values(started, tested)) == ["command.dev"]


def test_commands_never_go_to_the_person() -> None:
    assert {one.proposal.namespace for one in distilled(ran("make test && make lint", "ok"))} == {
        "project.shop-0a1b2c3d"
    }


def test_an_error_and_the_edit_that_ended_it_are_a_pair() -> None:
    line = "a.py:3:5: SIM115 Use a context manager for opening files"
    first = broke("ruff check .", line)
    fix = edited("a.py", "f = open(p)", "with open(p) as f:  # a context manager")
    then = ran("ruff check .", "All checks passed!")
    (pair,) = [one.proposal for one in distilled(first, fix, then) if one.proposal.key.startswith("fix.")]
    assert pair.key == "fix.sim115"
    assert "SIM115 Use a context manager" in pair.value and "with open(p) as f:" in pair.value and "a.py" in pair.value
    assert [(e.event_id, e.quote) for e in pair.evidence] == [
        (first.id, line),
        (fix.id, "with open(p) as f:  # a context manager"),
        (then.id, "ruff check ."),
    ]


def test_another_command_that_did_the_work_is_the_fix() -> None:
    found = values(
        broke("pytest", "bash: pytest: command not found"), ran("source .venv/bin/activate && pytest", "3 passed")
    )
    assert found["fix.pytest-command-found"].endswith("What works: `source .venv/bin/activate && pytest`")


def test_a_failure_that_was_not_overcome_is_no_pair() -> None:
    error = broke("ruff check .", "a.py:3:5: SIM115 Use a context manager")
    assert values(error, edited("a.py", "a", "context manager")) == {}


def test_an_error_of_the_moment_is_no_pair() -> None:
    error = broke("go build ./...", "x.go:1: undefined: plumbing must be imported")
    assert "fix" not in str(values(error, edited("x.go", "a", "plumbing b"), ran("go build ./...", "")))


def test_a_fix_that_was_taken_back_in_the_same_turn_is_not_kept() -> None:
    error = "a.toml: unrecognized key `only-include` in table"
    wrong = edited("a.toml", "[build]", "only-include = [1]")
    right = edited("a.toml", "only-include = [1]", "force-include = [1]")
    turn = (broke("make build", error), wrong, ran("make build", "ok"))
    assert [key for key in values(*turn) if key.startswith("fix")]
    assert not [key for key in values(*turn, right) if key.startswith("fix")]


def test_a_refused_call_is_no_failure() -> None:
    refused = failed("Bash", {"command": "make test"}, "The user doesn't want to proceed with this tool use. not found")
    assert values(refused, ran("make test", "ok")) == {"command.test": "Tests run with `make test`."}


def test_only_tool_payloads_name_files() -> None:
    found = values(said("we changed ghost.py"), broke("ruff check .", "G004 Logging must be lazy"),
                   edited("real.py", "a", "logging.info(lazy)"), ran("ruff check .", "ok"))  # fmt: skip
    assert "real.py" in found["fix.g004"] and "ghost.py" not in str(found)
