"""What people choose between: named things of which a project uses one."""

from __future__ import annotations

import re
from dataclasses import dataclass

LANGUAGES = "english|german|french|spanish|italian|portuguese|polish|dutch|russian|chinese|japanese|korean"
LENGTHS = "short|shorter|brief|concise|terse|long|longer|detailed|verbose"
REPLIES = "answers?|replies|reply|responses?|explanations?"


@dataclass(frozen=True, slots=True)
class Choice:
    """One subject and the names that may stand for its value."""

    key: str
    members: str
    implied: str
    """Words that say no more than the key does."""
    either: bool = False
    """Of two members: who bans one has chosen the other."""
    form: str = ""
    """How a sentence makes this choice where it does not say that something is used."""


# Tools of another ecosystem are another subject: who chooses pnpm has said nothing about pip.
CHOICES: tuple[Choice, ...] = (
    Choice("preference.package-manager", "npm|pnpm|yarn|bun", "package manager javascript js node install dependency"),
    Choice(
        "preference.python-package-manager", "pip3?|pipenv|poetry|conda|mamba|uv|pdm|rye",
        "package manager python install dependency",
    ),
    Choice(
        "preference.system-package-manager", "apt(?:-get)?|brew|homebrew|dnf|yum|pacman|zypper|choco(?:latey)?|winget",
        "package manager system install",
    ),
    Choice("preference.python-test-framework", "pytest|unittest|nose2?", "test framework python"),
    Choice("preference.javascript-test-framework", "jest|vitest|mocha|ava|jasmine", "test framework javascript js"),
    Choice("preference.browser-test-framework", "playwright|cypress|selenium|puppeteer", "test framework browser"),
    Choice("preference.ruby-test-framework", "rspec|minitest", "test framework ruby"),
    Choice("preference.linter", "ruff|flake8|pylint|pycodestyle", "linter lint linting python"),
    Choice("preference.javascript-linter", "eslint|biome|oxlint|tslint", "linter lint linting javascript js"),
    Choice("preference.python-formatter", "black|yapf|autopep8", "formatter format formatting python"),
    Choice("preference.javascript-formatter", "prettier|dprint", "formatter format formatting javascript js"),
    Choice("preference.type-checker", "mypy|pyright|basedpyright|pyre", "type checker check checking python"),
    Choice("preference.database", "postgres(?:ql)?|mysql|mariadb|sqlite|mongodb|duckdb", "database db"),
    Choice("preference.queue-backend", "rabbitmq|kafka|celery|huey|sqs", "queue backend message"),
    Choice(
        "preference.indentation", r"tabs|(?:(?:\d|two|four|eight)[ -])?spaces|spaces",
        "indent indented indentation code width", either=True,
    ),
    Choice("preference.quotes", r"(?:single|double)[ -]quotes?", "quote string", either=True),
    Choice(
        "preference.reply-language", LANGUAGES, "answer reply respond talk speak",
        form=rf"\b(?:answer|reply|respond|talk|speak)\b.{{0,40}}\bin (?:{LANGUAGES})\b",
    ),
    Choice(
        "preference.reply-length", LENGTHS, "answer reply replies response explanation", either=True,
        form=rf"\b(?:{LENGTHS})\b(?: \w+)? (?:{REPLIES})\b|\b(?:{REPLIES}) (?:\w+ )?(?:{LENGTHS})\b",
    ),
)  # fmt: skip

CHOOSING = (
    r"\b(?:us(?:e|es|ing)|prefer(?:s|ring)?|choose|chose|pick|want|(?:stick|stay|go|going|went) (?:to|with|on)|"
    r"(?:switch|move|migrate|standardi[sz]e)d? (?:to|on)|install(?:ing)?\b[\w ]{0,30} with|"
    r"(?:indent|lint|format|type-?check)(?:ed|ing|ting|ted)?\b[\w ]{0,20}? (?:with|by|using)|"
    r"(?:manager|framework|linter|formatter|database|backend|checker) is)\s+"
    r"(?:(?:only|always|the|our|an?|exclusively|just|plain) )*"
)
# What may follow a name that is chosen; a word that is none of these makes a command or a compound of it.
AFTER = (
    r"(?=\s*(?:$|[,.;:!?()—–]|\s(?:for|in|on|as|at|by|from|with|within|inside|across|throughout|instead|rather|over|"
    r"not|never|and|or|but|only|exclusively|everywhere|here|again|anymore|directly|please|because|since|so|when|"
    r"whenever|wherever|if|unless|before|after|while|during|to|version|v?\d[\d.]*)\b))"
)
NOT = (
    r"(?:never|don'?t|do not|does not|doesn'?t|not|avoid|stop|no longer|no more|must ?n'?t|should ?n'?t|cannot|can'?t)"
)
NEGATED = re.compile(rf"\b{NOT} (?:ever |again |directly )*$", re.I)
COMPARED = re.compile(r"\b(?:instead of|rather than|over|but)\b", re.I)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A choice that a sentence makes."""

    choice: Choice
    members: re.Pattern[str]
    banned: tuple[str, ...]
    """What it rules out where it chooses nothing; empty where it chooses."""


def _name(members: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w./@-])(?:{members})(?![\w/-])", re.I)


_FORMS = tuple(
    (
        choice,
        re.compile(
            choice.form
            or rf"{CHOOSING}(?:{choice.members})(?![\w/-]){AFTER}|"
            rf"(?<![\w./@-])(?:{choice.members}) (?:must|should|has to|is to) (?P<not>not |never )?(?:\w+ )?be used\b",
            re.I,
        ),
        _name(choice.members),
    )
    for choice in CHOICES
)


def _is_ban(text: str, form: re.Match[str]) -> bool:
    return bool(form.groupdict().get("not") or NEGATED.search(text[: form.start()]))


def chosen(text: str) -> Chosen | None:
    """The choice the sentence makes; None for one that only mentions such a name."""
    for choice, form, name in _FORMS:
        forms = list(form.finditer(text))
        if not forms:
            continue
        bans = not choice.either and all(_is_ban(text, one) for one in forms) and not COMPARED.search(text)
        named = sorted({match.group().lower() for match in name.finditer(text)}) if bans else []
        return Chosen(choice, name, tuple(named))
    return None
