"""Where Claude Code keeps its settings, and under which name a project stands in them."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# https://code.claude.com/docs/en/settings: what an administrator laid down, by system.
MANAGED = (
    Path("/Library/Application Support/ClaudeCode/managed-settings.json")
    if sys.platform == "darwin"
    else Path("/etc/claude-code/managed-settings.json")
)


@dataclass(frozen=True, slots=True)
class Target:
    """A place of ours: the hook entries of a settings file, or the MCP server under `keys` of `.claude.json`."""

    path: Path
    keys: tuple[str, ...] = ()
    """Empty for hook entries."""


def user_dir(environ: Mapping[str, str]) -> Path:
    """The person's own folder: `$HOME`."""
    return Path(environ.get("HOME") or os.path.expanduser("~"))


def config_dirs(environ: Mapping[str, str], extra: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Folders with a `settings.json`: `CLAUDE_CONFIG_DIR` or `~/.claude`, then those given, each once."""
    named = environ.get("CLAUDE_CONFIG_DIR")
    first = Path(named) if named else user_dir(environ) / ".claude"
    return tuple(dict.fromkeys(Path(os.path.abspath(path)) for path in (first, *extra)))


def claude_json(config_dir: Path, environ: Mapping[str, str]) -> Path:
    """Where the client of that folder keeps MCP servers: inside it, but beside the default `~/.claude`."""
    home = user_dir(environ)
    if config_dir == Path(os.path.abspath(home / ".claude")) and not environ.get("CLAUDE_CONFIG_DIR"):
        return Path(os.path.abspath(home / ".claude.json"))
    return config_dir / ".claude.json"


def claude_found(environ: Mapping[str, str]) -> bool:
    """Is there a Claude Code here: a folder of its settings, or `claude` on the PATH."""
    on_path = shutil.which("claude", path=environ.get("PATH", os.defpath)) is not None
    return on_path or any(path.is_dir() for path in config_dirs(environ))


def targets(
    environ: Mapping[str, str], scope: str, project_dir: Path | None, extra: Sequence[Path] = ()
) -> tuple[Target, ...]:
    """Every place that `install` writes to, settings first.

    `user`: all projects of the person. `project`: the one at `project_dir`, and nothing that others share.
    """
    folders = config_dirs(environ, extra)
    if scope == "user":
        hooks = [Target(folder / "settings.json") for folder in folders]
        servers = [Target(claude_json(folder, environ), ("mcpServers",)) for folder in folders]
        return (*hooks, *servers)
    if scope != "project" or project_dir is None:
        raise ValueError(f"scope {scope!r} with project {project_dir}: 'user', or 'project' with its folder")
    top = git_top(project_dir)
    keys = ("projects", str(main_checkout(top)), "mcpServers")
    servers = [Target(claude_json(folder, environ), keys) for folder in folders]
    return (Target(top / ".claude" / "settings.local.json"), *servers)


def deciding(
    environ: Mapping[str, str], ours: Iterable[Target], project_dir: Path | None, managed: Path
) -> tuple[Path, ...]:
    """Settings files that decide whether our entries run: those they stand in, the person's, the project's, managed."""
    merged = [target.path for target in ours if not target.keys]
    users = [folder / "settings.json" for folder in config_dirs(environ)]
    top = git_top(project_dir) if project_dir else None
    project = [top / ".claude" / name for name in ("settings.json", "settings.local.json")] if top else []
    return tuple(dict.fromkeys((*merged, *users, *project, managed)))


def git_top(path: Path) -> Path:
    """The checkout that holds the path, else the real path itself."""
    real = Path(os.path.realpath(path))
    return next((folder for folder in (real, *real.parents) if (folder / ".git").exists()), real)


def main_checkout(top: Path) -> Path:
    """The checkout a worktree was made from: the name the client files local MCP servers under (seen in 2.1.197)."""
    pointer = top / ".git"
    if not pointer.is_file():
        return top
    git_dir = top / pointer.read_text(encoding="utf-8", errors="replace").removeprefix("gitdir:").strip()
    common = git_dir / "commondir"
    if not common.is_file():
        return top
    shared = Path(os.path.realpath(git_dir / common.read_text(encoding="utf-8", errors="replace").strip()))
    return shared.parent if shared.name == ".git" else top
