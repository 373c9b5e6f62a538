"""Whether two values say the same, or the opposite: by their words alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from recorder.canonical import canonical

DUPLICATE = "duplicate"
CONTRADICTION = "contradiction"
NEARLY = 0.85
"""Share of words two values have in common, from which on one is the other said again …"""
FEW = 4
"""… if they have this many in common …"""
SAME_SUBJECT = 2
"""… and this many words two that contradict each other."""
MOST_WORDS = 200

_WORD = re.compile(r"#?\w+(?:[._/:@+-]+\w+)*")
_NAMED_VERSION = re.compile(r"\b([^\W\d_]{2,})(\d+(?:\.\d+)+)")
_NUMBER = re.compile(r"v?\d+(?:[.,]\d+)*(?:-?(?:rc|alpha|beta|a|b)\d*)?(?:ms|s|m|h|d|kb|mb|gb|tb)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_APART = re.compile(r"[\W_]+")

# Words that change nothing here: with or without them a sentence says the same.
FLUFF = frozenset(
    "a an the please just also now do does did always is are be am it s any anymore longer really very".split()
)
NEGATIONS = frozenset("not never no nor".split())
_ANTONYMS = (
    "enable disable|enabled disabled|on off|true false|yes no|allow forbid|allowed forbidden|allow deny|include exclude"
    "|included excluded|before after|public private|sync async|required optional|tab space|use avoid|with without"
    "|up down|open closed|light dark|keep remove|install uninstall|accept refuse|accept reject|start stop|add remove"
    "|fast slow|more less|first last|can cannot|safe unsafe|lower upper|ascending descending"
)
OPPOSITES = frozenset(frozenset(pair.split()) for pair in _ANTONYMS.split("|"))
# A number behind one of these names something: issue 12 and issue 13 are two things, not two values of one.
NAMING = frozenset(
    "issue pr ticket bug task step item rule section chapter table line page figure phase part number no day week"
    " sprint run round case commit stage level id".split()
)


def judged(one: str, other: str) -> str | None:
    """`duplicate` for nearly the same words, `contradiction` for the same words but for a negation, a number or a
    word and its opposite; None for two things that have little to do with each other."""
    left, right = words(one), words(other)
    if left == right:
        return DUPLICATE
    same = flips = numbers = 0
    changed = 0
    for tag, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            same += j - i
            continue
        gone, come = list(left[i:j]), list(right[k:m])
        flips += sum(word in NEGATIONS for word in gone) - sum(word in NEGATIONS for word in come)
        gone, come = _without_negations(gone), _without_negations(come)
        for a, b in zip(gone, come, strict=False):
            if _opposites(a, b):
                flips += 1
            elif _is_number(a) and _is_number(b):
                if i > 0 and left[i - 1] in NAMING:
                    return None
                numbers += 1
            elif not _misspelt(a, b):
                return None
            else:
                changed += 1
        changed += abs(len(gone) - len(come))
    telling = flips % 2 == 1 or numbers > 0
    if telling:
        return CONTRADICTION if not changed and same >= SAME_SUBJECT else None
    common = 2 * same / (len(left) + len(right))
    return DUPLICATE if same >= FEW and common >= NEARLY else None


def words(value: str) -> tuple[str, ...]:
    """The words that carry what a value says, in order, without plurals."""
    text = canonical(value[:4_000]).replace("\u2019", "'")
    text = text.replace("cannot", "can not").replace("can't", "can not").replace("n't", " not")
    found = _WORD.findall(_NAMED_VERSION.sub(r"\1 \2", text))
    return tuple(_singular(word) for word in found if word not in FLUFF)[:MOST_WORDS]


def subject(key: str) -> tuple[str, ...]:
    """What a key names, however it is spelled: `command.test`, `Commands_Tests` and `commandTest` are one."""
    return tuple(_singular(word) for word in _APART.split(canonical(_CAMEL.sub(" ", key))) if word)


def numbers_in(key: str) -> tuple[str, ...]:
    """The numbers a key carries: it names one of several things."""
    return tuple(word for word in subject(key) if any(sign.isdigit() for sign in word))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _without_negations(some: Sequence[str]) -> list[str]:
    return [word for word in some if word not in NEGATIONS]


def _opposites(one: str, other: str) -> bool:
    return frozenset((one, other)) in OPPOSITES


def _is_number(word: str) -> bool:
    return bool(_NUMBER.fullmatch(word)) and not _YEAR.fullmatch(word)


def _misspelt(one: str, other: str) -> bool:
    """Whether two words are forms of one: no names, no numbers."""
    plain = one.isalpha() and other.isalpha()
    return plain and SequenceMatcher(None, one, other).ratio() >= 0.8
