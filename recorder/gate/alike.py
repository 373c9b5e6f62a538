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

# A number behind one of these names something: issue 12 and issue 13 are two things, not two values of one.
NAMING = frozenset(
    "issue pr ticket bug task step item rule section chapter table line page figure phase part number no day week"
    " sprint run round case commit stage level id shard port code queue node slot channel release".split()
)
# Words that change nothing here: with or without them a sentence says the same.
FLUFF = frozenset(
    "a an the please just also now do does did always is are be am it s any anymore longer really very".split()
)
# Words that carry so little that a sentence with one more says the same.
SMALL = frozenset("in on at to of for by and that this we our you your us i then".split())
NEGATIONS = frozenset("not never no nor".split())
_ANTONYMS = (
    "enable disable|enabled disabled|on off|true false|yes no|allow forbid|allowed forbidden|allow deny|include exclude"
    "|included excluded|before after|public private|sync async|required optional|tab space|use avoid|with without"
    "|up down|open closed|light dark|keep remove|install uninstall|accept refuse|accept reject|start stop|add remove"
    "|fast slow|more less|first last|can cannot|safe unsafe|lower upper|ascending descending"
)
OPPOSITES = frozenset(frozenset(pair.split()) for pair in _ANTONYMS.split("|"))
# Of these two sentences one forbids what the other asks for, wherever they stand first.
ORDERS = frozenset(frozenset(pair.split()) for pair in ("use avoid", "allow forbid", "allow deny"))
COPULAS = frozenset("is are was were equals defaults".split())
# Between a copula and the value it gives.
TOWARDS = frozenset("set to at limited version about now currently always by default".split())
MEASURES = frozenset(
    "times seconds minutes hours days weeks months spaces columns characters percent retries attempts workers replicas"
    " megabytes gigabytes".split()
)
BOUNDS = frozenset("newer later higher above older lower below up".split())
# With one of these a sentence is about some of many, or about a case: two of them can both hold.
SOME = frozenset("if when whenever unless where while until one some another other each every some sometimes".split())
AFTER_A_VALUE = frozenset(
    "in on for by at to from with since until during per as and or because here everywhere today again".split()
)
OF_A_TIME = frozenset("before after later ago".split())


def judged(one: str, other: str) -> str | None:
    """`duplicate` for nearly the same words; `contradiction` for the same words but for a negation, or for another
    value of the same subject; None for two things that have little to do with each other.

    A number or an opposite may as well be part of a name (port 80, shard 3, the slow queue): it contradicts only where
    it is what the sentence says of its subject. Better to miss one than to disturb a person over two truths.
    """
    left, right = words(one), words(other)
    if left == right:
        return DUPLICATE
    same = flips = changed = 0
    apart = False
    for tag, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            same += j - i
            continue
        gone, come = list(left[i:j]), list(right[k:m])
        turned = sum(word in NEGATIONS for word in gone) - sum(word in NEGATIONS for word in come)
        if turned and not SOME.isdisjoint(left[:i]):
            return None
        flips += turned
        gone, come = _without_negations(gone), _without_negations(come)
        for a, b in zip(gone, come, strict=False):
            apart = apart or _opposites(a, b) or not _forms_of_one(a, b)
            changed += 1
        rest = gone[len(come) :] + come[len(gone) :]
        apart = apart or not SMALL.issuperset(rest)
        changed += len(rest)
    if flips % 2 == 1:
        return CONTRADICTION if not changed and same >= SAME_SUBJECT else None
    if flips == 0 and _another_value(_spoken(one), _spoken(other)):
        return CONTRADICTION
    common = 2 * same / (len(left) + len(right))
    return DUPLICATE if not apart and not flips and same >= FEW and common >= NEARLY else None


def _another_value(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether two sentences differ in one word, and that is the value they give the same subject."""
    differing = [n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b]
    if len(left) != len(right) or len(differing) != 1 or not SOME.isdisjoint(left):
        return False
    at = differing[0]
    a, b, rest = left[at], right[at], left[at + 1 :]
    if at == 0:
        return frozenset((a, b)) in ORDERS and len(rest) >= SAME_SUBJECT
    before = list(left[:at])
    while before and before[-1] in TOWARDS:
        before.pop()
    said_of_it = len(before) > 1 and before[-1] in COPULAS
    if _opposites(a, b):
        return said_of_it and (not rest or rest[0] in AFTER_A_VALUE)
    if not (_is_number(a) and _is_number(b)) or left[at - 1] in NAMING:
        return False
    if said_of_it:
        return True
    measured = bool(rest) and rest[0] in MEASURES and OF_A_TIME.isdisjoint(rest[1:2])
    bounded = len(rest) > 1 and rest[0] in ("and", "or") and rest[1] in BOUNDS
    return (measured or bounded) and len(left) > 3 - bounded


def words(value: str) -> tuple[str, ...]:
    """The words that carry what a value says, in order, without plurals."""
    return tuple(_singular(word) for word in _found(value) if word not in FLUFF)[:MOST_WORDS]


def _spoken(value: str) -> tuple[str, ...]:
    """Every word but the articles."""
    return tuple(word for word in _found(value) if word not in ("a", "an", "the"))[:MOST_WORDS]


def _found(value: str) -> list[str]:
    text = canonical(value[:4_000]).replace("\u2019", "'")
    text = text.replace("cannot", "can not").replace("can't", "can not").replace("n't", " not")
    return _WORD.findall(_NAMED_VERSION.sub(r"\1 \2", text))


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


def _forms_of_one(one: str, other: str) -> bool:
    """Whether two words are forms of one, which begin alike: no names, no numbers, no `install` and `uninstall`."""
    plain = one.isalpha() and other.isalpha()
    return plain and one[:3] == other[:3] and SequenceMatcher(None, one, other).ratio() >= 0.8
