"""Keys: what a sentence is about, said so that the same subject gives the same key."""

from __future__ import annotations

import re

TOPICS: tuple[tuple[str, str], ...] = (
    ("package-manager", r"npm|pnpm|yarn|bun|pip|pipenv|poetry|conda|uv|package managers?"),
    ("test-framework", r"pytest|unittest|jest|vitest|mocha|rspec|minitest|testify|test frameworks?"),
    ("linter", r"ruff|flake8|pylint|eslint|biome|golangci-lint|linters?"),
    ("formatter", r"black|prettier|gofmt|rustfmt|formatters?"),
    ("indentation", r"tabs|spaces|indent(?:ation|ed)?"),
    ("quotes", r"(?:single|double)[ -]quotes?"),
    ("semicolons", r"semicolons?"),
    ("commit-message", r"commit messages?|conventional commits?"),
    ("co-author", r"co-?author(?:ed|s)?"),
    ("emoji", r"emojis?"),
    ("comments", r"code comments"),
    ("docstrings", r"docstrings?"),
    ("type-hints", r"type (?:hints?|annotations?)"),
    (
        "reply-language",
        r"(?:answer|reply|respond|talk|speak)\b.* in (?:english|german|french|spanish|chinese|japanese)",
    ),
    ("reply-length", r"(?:answers?|replies|reply|responses?|explanations?)\b.*\b(?:short|brief|concise|terse)"),
    ("database", r"postgres(?:ql)?|mysql|mariadb|sqlite|mongodb"),
    ("queue-backend", r"rabbitmq|kafka|celery|huey|sqs|queue backend|message queue"),
)
_TOPICS = tuple((name, re.compile(rf"(?<![\w./-])(?:{words})(?![\w/-])", re.I)) for name, words in TOPICS)

STOP = frozenset(
    (
        "a an the this that these those it its i me my we our us you your he she they them their is are was were "
        "be been being am do does did done doing have has had having will would shall should can could may might "
        "must to of in on at by for with from into onto as and or but not no nor never always ever please "
        "remember prefer use using used don't dont doesn't didn't won't can't isn't shouldn't mustn't instead "
        "rather than over only also just so if then when while there here what which who whom how why all any "
        "every each some more most very really too much many want wants wanted like need needs needed make makes "
        "sure keep ensure avoid stop note mind future reference now going forward let let's lets go get put "
        "directly actually still already again ok okay yes well thing things something anything everything "
        "nothing one about up out down off before after until unless because since both same other another such "
        "own im i'm i'd we'd we're we'll it's that's there's user said told always usually strongly generally "
        "kind sort way ways able "
    ).split()
)
NO_SUBJECT = "general"
LONG_SIDE = 4
"""Words: what is chosen between is named shortly, a longer side is half a sentence."""
WORD = re.compile(r"[^\W_][\w'’/.-]*", re.U)
INSTEAD = re.compile(
    r"(?:\buse|\bprefer|\bwant|\bchoose|\bpick|\bkeep)\w*\s+(?P<new>.{1,80}?)\s*,?\s*"
    r"(?:instead of|rather than|\bover\b|,?\s*(?:and )?\bnot\b)\s+(?P<old>.{1,80}?)[.!]*$",
    re.I,
)


def content_words(text: str) -> list[str]:
    """The words that carry the subject, lower case, in order, each once."""
    found: dict[str, None] = {}
    for match in WORD.finditer(text.replace("’", "'").lower()):
        word = match.group().strip("'.-/")
        if word in STOP or not word:
            continue
        if len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
            word = word[:-1]
        found.setdefault(re.sub(r"[^\w]+", "-", word).strip("-_") or "x")
    return list(found)


def slug(text: str, most: int = 4) -> str:
    """Up to `most` content words of the text joined by `-`, at most 60 characters; `general` when there is none."""
    return "-".join(content_words(text)[:most])[:60].strip("-_") or NO_SUBJECT


def topic(text: str) -> str | None:
    """The well-known subject the sentence is about, if it names one."""
    return next((name for name, pattern in _TOPICS if pattern.search(text)), None)


def key_of(prefix: str, sentence: str) -> str:
    """The key of a statement. Two sides of one choice ("X instead of Y", "Y instead of X") have one key."""
    known = topic(sentence)
    if known:
        return f"preference.{known}"
    choice = INSTEAD.search(sentence)
    if choice:
        sides = sorted(slug(choice[side], 2) for side in ("new", "old") if len(choice[side].split()) <= LONG_SIDE)
        if len(sides) == 2 and NO_SUBJECT not in sides:
            return f"{prefix}.{'-or-'.join(sides)}"
    return f"{prefix}.{slug(sentence)}"
