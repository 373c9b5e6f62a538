"""Which command lines print the content of a file they name, and what they write into one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from recorder.capture.listings import IGNORED

Names = Callable[[str], bool]
"""Does this word name a file whose content is to be left out?"""

# Commands that only name a file. Whatever stands elsewhere is taken to show the content.
_NAMING = frozenset(
    "ls rm chmod chown touch test [ [[ stat mkdir rmdir find fd which du file echo printf cd pwd realpath readlink "
    "basename dirname tree ssh-add ssh-keygen shred mktemp cmp sha256sum shasum md5sum wc".split()
)
# Commands whose last word is what they write: they show nothing, but a copy under another name would be read freely.
_COPYING = frozenset("cp mv ln install".split())
_GIT_NAMING = frozenset(
    "add rm mv status commit restore checkout switch check-ignore ls-files reset clean init".split()
)
_PATCHED = frozenset("-p --patch -v --verbose -i --interactive".split())
# Commands to which a key is given to be used.
_KEY_FLAGS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("ssh", "scp", "sftp", "rsync", "ssh-copy-id"), frozenset(("-i",))),
    **dict.fromkeys(
        ("curl", "wget"), frozenset(("--key", "--cert", "--cacert", "-E", "--private-key", "--certificate"))
    ),
    "ansible-playbook": frozenset(("--private-key", "--key-file")),
}
# What reads names from elsewhere: any file named on the line may be shown.
_PASSING = re.compile(r"\bxargs\b|\bparallel\b|\s-(?:exec|execdir|ok)\b|\bread\b|\$\(|`|<\(")
_LOADERS = frozenset("dotenv dotenvx direnv env-cmd".split())
_RUNNERS = frozenset("npx npm pnpm yarn bunx bun uv uvx poetry bundle python python3".split())
_INSTALLING = frozenset("add install i remove uninstall rm view info ls list why update upgrade".split())
_CUT = re.compile(r"[;\n]|\|\|?|&&?|\$\(|`")
_WORD = re.compile(r"[^\s<>\"'=(){}:,]+")
_PREFIX = re.compile(r"^\s*(?:(?:sudo|time|command|exec|then|do|else|if|while|env|!)\s+|[A-Za-z_]\w*=\S*\s+)*")
_SEARCHERS = ("grep", "rg", "ag", "ack")
_SEARCHING = re.compile(r"\b(?:grep|egrep|rg|ag|ack)\b")
_HEREDOC = re.compile(r"(<<-?\s*[\"']?(\w+)[\"']?[^\n]*\n).*?(\n\s*\2\b|\Z)", re.DOTALL)
_QUOTED = re.compile(r"(?<!<<)(?<!<<-)\"[^\"]*\"|(?<!<<)(?<!<<-)'[^']*'")
_ASSIGNED = re.compile(r"(?<=[A-Za-z0-9_]=)[^\s\"'>]+")


def shows(command: str, names: Names, *, loads_env: bool) -> bool:
    """Would this command line print the content of a file that `names` knows?

    `loads_env` says that a command which fills the environment from `.env` shows such a file too.
    """
    passing = _PASSING.search(command) is not None
    return any(_part_shows(part, names, passing=passing, loads_env=loads_env) for part in _CUT.split(command))


def _part_shows(part: str, names: Names, *, passing: bool, loads_env: bool) -> bool:
    words = _WORD.findall(_PREFIX.sub("", part))
    if not words:
        return False
    first = words[0].rsplit("/", 1)[-1]
    if loads_env and _loads(first, words):
        return True
    named = [n for n, word in enumerate(words) if names(word) and words[n - 1] not in _KEY_FLAGS.get(first, ())]
    if not named:
        return False
    if named[0] == 0 or passing:
        return True
    if first in _COPYING:
        return not names(words[-1])
    if first == "git":
        verb = next(iter(_without_git_options(words[1:])), "")
        return verb not in _GIT_NAMING or not _PATCHED.isdisjoint(words)
    return first not in _NAMING


def _loads(first: str, words: list[str]) -> bool:
    """Is this a command that runs another with `.env` in its environment?"""
    if first in _LOADERS:
        return True
    return first in _RUNNERS and _INSTALLING.isdisjoint(words[1:2]) and not _LOADERS.isdisjoint(words[1:4])


def _without_git_options(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in {"-C", "-c"} else 1 :]
    return words


def searches(tool: str | None, given: Mapping[str, Any]) -> bool:
    """Does this tool call print lines found in several files?"""
    if tool == "Grep":
        return given.get("output_mode") == "content"
    command = given.get("command")
    if tool != "Bash" or not isinstance(command, str):
        return False
    return any(name in command for name in _SEARCHERS) and _SEARCHING.search(command) is not None


def without_written(command: str, names: Names) -> str:
    """The command line without what it writes into such a file: here-documents, quoted words, assigned values."""
    targets = re.findall(r"(?:>>?|\btee\b(?:\s+-a)?)\s*[\"']?([^\s\"'|;&<>]+)", command)
    if not any(names(target) for target in targets):
        return command
    command = _HEREDOC.sub(lambda found: f"{found[1]}{IGNORED}{found[3]}", command)
    command = _QUOTED.sub(lambda found: found[0] if names(found[0].strip("\"'")) else IGNORED, command)
    return _ASSIGNED.sub(IGNORED, command)
