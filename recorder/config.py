"""Settings: defaults, then `config.toml` in the home, then `RECORDER_<SECTION>_<NAME>`."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recorder.errors import ConfigError

# A year is as good as never, and no calculation with it overflows.
Minutes = Annotated[float, Field(ge=0, le=525_600)]


class Section(BaseModel):
    """One table of `config.toml`; an unknown key is reported by `load`, not refused."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Capture(Section):
    """What is taken in."""

    ignore_paths: tuple[str, ...] = (
        ".env",
        ".env.*",
        "*.pem",
        "*.key",
        "*.p12",
        "*.pfx",
        "id_rsa*",
        "id_ed25519*",
        ".netrc",
        ".npmrc",
        ".pypirc",
        "credentials",
        "*.keystore",
    )
    """Shell patterns; the content of a file whose name or path matches is left out, its name stays."""
    text_head: int = Field(default=12 * 1024, ge=0)
    """Characters kept from the start of a long text field."""
    text_tail: int = Field(default=4 * 1024, ge=0)
    """Characters kept from its end."""


class Store(Section):
    """How large the database may grow, and how old."""

    max_mb: int = Field(default=4096, ge=1)
    retention_days: int = Field(default=0, ge=0, le=36_500)
    """Events older than this that no memory cites go, once a day; 0: never."""


class Backup(Section):
    """Copies of the database the worker makes by itself."""

    daily: bool = True
    keep_daily: int = Field(default=7, ge=1, le=3650)
    keep_weekly: int = Field(default=4, ge=0, le=520)


class Worker(Section):
    """When the worker acts and when it leaves."""

    idle_minutes: Minutes = 30.0
    poll_s: float = Field(default=2.0, ge=0.01, le=3600)
    turn_idle_minutes: Minutes = 10.0
    session_idle_minutes: Minutes = 20.0
    max_rss_mb: int = Field(default=400, ge=1)
    """The worker ends itself above this and is started again by the next hook."""


class Distil(Section):
    """How events become memories."""

    enabled: bool = True
    typed_is_verified: bool = True
    """An explicit rule in a prompt typed in the terminal is verified at once; else it is a candidate."""


class Recall(Section):
    """How much comes back."""

    k: int = Field(default=10, ge=1, le=100)
    max_tokens: int = Field(default=1500, ge=1)


class Brief(Section):
    """The text shown at SessionStart."""

    enabled: bool = True
    max_tokens: int = Field(default=300, ge=1)


class Sync(Section):
    """Claude's own memory files."""

    enabled: bool = True
    """The worker takes them in as they change; `recorder sync` does in any case."""


class Embed(Section):
    """Vectors."""

    enabled: bool = True
    model: str = ""
    """What is run, and what `recorder models build` builds: a folder, a hub name or a built model's name; the packaged
    model when empty."""
    idle_minutes: Minutes = 5.0
    query_timeout_ms: int = Field(default=250, ge=1, le=60_000)


class Projects(Section):
    """How paths are bound."""

    worktrees: str = Field(default="share", pattern="^(share|separate)$")
    """`share`: worktrees of one repository are one project; `separate`: each is its own."""


class Web(Section):
    """The service of `recorder up`."""

    port: int = Field(default=7377, ge=0, le=65535)


class Config(BaseModel):
    """All settings and the home they came from."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    home: Path
    claude_dirs: tuple[Path, ...] = Field(default_factory=lambda: claude_dirs(os.environ, None))
    """Where Claude Code keeps its own files: what a transcript elsewhere says of who typed is not believed."""
    capture: Capture = Capture()
    store: Store = Store()
    backup: Backup = Backup()
    worker: Worker = Worker()
    distil: Distil = Distil()
    recall: Recall = Recall()
    brief: Brief = Brief()
    sync: Sync = Sync()
    embed: Embed = Embed()
    projects: Projects = Projects()
    web: Web = Web()
    warnings: tuple[str, ...] = ()
    """What is written but has no effect, each with its place and name: a warning at start, a failure of
    `recorder doctor`."""

    @property
    def db_path(self) -> Path:
        return self.home / "recorder.db"

    @property
    def spool(self) -> Path:
        return self.home / "spool"

    @property
    def brief_dir(self) -> Path:
        return self.home / "brief"

    @property
    def models_dir(self) -> Path:
        return self.home / "models"

    @property
    def logs_dir(self) -> Path:
        return self.home / "logs"

    @property
    def backups_dir(self) -> Path:
        return self.home / "backups"


SECTIONS: Mapping[str, type[Section]] = {
    "capture": Capture,
    "store": Store,
    "backup": Backup,
    "worker": Worker,
    "distil": Distil,
    "recall": Recall,
    "brief": Brief,
    "sync": Sync,
    "embed": Embed,
    "projects": Projects,
    "web": Web,
}


def home_of(environ: Mapping[str, str]) -> Path:
    """Where everything of ours lives, an absolute path: `RECORDER_HOME`, else `~/.recorder`."""
    named = environ.get("RECORDER_HOME")
    user = environ.get("HOME") or os.path.expanduser("~")
    return Path(os.path.abspath(named or os.path.join(user, ".recorder")))


def claude_dirs(environ: Mapping[str, str], home: Path | None) -> tuple[Path, ...]:
    """Claude Code's folders: `CLAUDE_CONFIG_DIR`, `~/.claude`, and those whose settings name our hooks."""
    user = Path(environ.get("HOME") or os.path.expanduser("~"))
    named = environ.get("CLAUDE_CONFIG_DIR")
    found = [*([Path(named)] if named else []), user / ".claude"]
    try:
        files = json.loads((home / "install.json").read_bytes())["files"] if home else []
        found += [Path(file["path"]).parent for file in files if Path(file["path"]).name == "settings.json"]
    except (OSError, ValueError, KeyError, TypeError):  # never installed, or not ours to mend
        pass
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in found))


def load(environ: Mapping[str, str]) -> Config:
    """The settings in force.

    Raises: ConfigError when `config.toml` cannot be read, is not TOML, or a value cannot be used.
    """
    home = home_of(environ)
    path = home / "config.toml"
    try:
        written: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML ({error}): mend or remove it") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}): mend or remove it") from error
    warnings = (*_unknown(path, written), *_unknown_variables(environ))
    values: dict[str, Any] = {}
    for name, section in SECTIONS.items():
        table = written.get(name, {})
        values[name] = dict(table) if isinstance(table, dict) else {}
        for field in section.model_fields:
            text = environ.get(f"RECORDER_{name}_{field}".upper())
            if text is not None:
                values[name][field] = text.split(os.pathsep) if field == "ignore_paths" else text
    try:
        return Config(home=home, claude_dirs=claude_dirs(environ, home), warnings=warnings, **values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][:2])
        variable = f"RECORDER_{where}".replace(".", "_").upper()
        place = f"the environment variable {variable}" if variable in environ else str(path)
        raise ConfigError(f"{where} = {first['input']!r} in {place}: {first['msg']}. Mend or remove it") from error


def _unknown(path: Path, written: Mapping[str, Any]) -> list[str]:
    found = []
    for name, table in written.items():
        if name not in SECTIONS or not isinstance(table, dict):
            found.append(f"{path}: unknown section [{name}]")
            continue
        found += [f"{path}: unknown key {name}.{key}" for key in table if key not in SECTIONS[name].model_fields]
    return found


def _unknown_variables(environ: Mapping[str, str]) -> list[str]:
    known = {f"RECORDER_{name}_{field}".upper() for name, section in SECTIONS.items() for field in section.model_fields}
    prefixes = tuple(f"RECORDER_{name}_".upper() for name in SECTIONS)
    found = [
        f"the environment: unknown setting {name}"
        for name in sorted(environ)
        if name.startswith(prefixes) and name not in known
    ]
    named = environ.get("RECORDER_HOME")
    if named and not os.path.isabs(named):
        found.append(f"the environment: RECORDER_HOME={named} is not absolute, so the hooks capture nothing")
    return found
