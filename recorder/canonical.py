"""What a value says, without what does not change it: form, case, look-alikes, marks nobody sees, the order of JSON."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache

_LEAD = re.compile(
    r"^(?:please )?(?:remember(?: that\b|:| -| –| —|,)?|(?:note(?: that)?|reminder|fyi|nb)(?: ?:|,| -)"
    r"|(?:important|attention|warning|caution|info|tip|fact|rule|correction|update) ?:) +"
)
_MARK = re.compile(r"^(?:[-*+•]|>(?! *\d)|#{1,6}|\d{1,3}[.)]|\[x\]) +")
# Around words, or around letters of one: `2**10` and `**/*.py` are what they say.
_BOLD = re.compile(r"(?<!\w)\*\*(?=\S)([^*]+)(?<=\S)\*\*(?!\w)|\*\*([^\W\d_]+)\*\*")
_TAIL = re.compile(r"[\s.!?,;:]+$")
_QUOTES = "\"'"
_PAIRS = (
    ("~~", "~~"),
    ("==", "=="),
    ("__", "__"),
    ("*", "*"),
    ("_", "_"),
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("<", ">"),
)
_WRAPS = frozenset("value text content memory fact rule note message data".split())
"""Keys that say of a text only that it is one."""
_ASCII_UNSEEN = {code: None for code in range(128) if not chr(code).isprintable() and not chr(code).isspace()}
_ALIKE = dict.fromkeys((*range(0x2010, 0x2016), 0x2043, 0x2212, 0xFE58), "-")
_ALIKE |= dict.fromkeys((0x2018, 0x2019, 0x201A, 0x201B, 0x2032, 0x02BC, 0x2039, 0x203A), "'")
_ALIKE |= dict.fromkeys((0x201C, 0x201D, 0x201E, 0x201F, 0x2033, 0xAB, 0xBB), '"')
_ALIKE |= dict.fromkeys((0x2800, 0x115F, 0x1160, 0x3164, 0xFFA0, 0x1D159), " ")  # blank, and no white space
_JOINTS = re.compile(r"[-_/.:]+")
LEAST_SAID = 3
"""Words of what counts as said twice: `go go` is something else than `go`."""
_LABEL = re.compile(
    r"^(?:(?:the|my|our) )?(?:answer|rule|fact|statement|conclusion|result|summary|note|truth|value)"
    r"(?: is)?(?: that)? ?[:=] ?"
)
_APPROVED = re.compile(
    r" ?(?:[\u2705\u2714\u2713\u2611\U0001f44d\U0001f4af]|"
    r"[(\[](?:verified|confirmed|checked|approved|correct|true|certain|ok|important)[)\]])$"
)
_SO = frozenset("ok true verified confirmed approved correct valid certain".split())
"""Keys that say of a text only that it is so."""
_SLUG = re.compile(r"[a-z]+(?:(?:_[a-z]+){3,}|(?:-[a-z]+){3,})")
_INNER_QUOTE = re.compile(r"(?<!\w)[\"']|[\"'](?!\w)")
_COMMA = re.compile(r"(?<=[a-z])(?<!\bno)(?<!\bnot)(?<!\byes)(?<!\bnever)(?<!\bnone)(?<!\bnothing),(?= [a-z\"'])")
_COUNTS = re.compile(r"[$|&<>={}\\]|(?:^| )--?[a-z]|\w\(")
"""Signs of a command or of code, where quotes and commas count."""
MOST_WORDS = 100
"""Of a text in which another is looked for."""
_SHORT_I = "\u0438\u0306"  # a letter of its own, and no letter with a mark


def canonical(value: str) -> str:
    """The value as it is compared: two that read alike are one, two that say different things stay two.

    A paraphrase is another value; that it is to be remembered, how it is marked up or quoted, and whether it is asked,
    says nothing. Only what is not ASCII is taken for the letter it looks like: `1` and `l` differ.
    """
    return _bare(_folded(_composed(value)).translate(look_alikes()))


def shape(value: str) -> str:
    """The value as it looks, capitals taken for what they look like before they are made small.

    A small letter may look like nothing of ASCII while its capital does: who compares looks at both forms.
    """
    return _bare(_folded(_composed(value).translate(look_alikes())).translate(look_alikes()))


def worded(value: str) -> str:
    """The words of the value alone, as a key joins them: `we-deploy.with_helm`."""
    return " ".join(_JOINTS.sub(" ", canonical(value)).split())


def plainly(value: str) -> str:
    """The value without what may stand around and between its words and says nothing: that it is the answer, that it is
    verified, quotes and commas inside it, that it is said twice, low lines or hyphens in the place of every space.

    Only who compares what is proposed with what was rejected looks at this. It stays as it is where such a sign may
    count: in commands and paths, between digits, after a `no`.
    """
    text = canonical(_single(value))
    while True:
        less = canonical(_APPROVED.sub("", _LABEL.sub("", text)))
        less = canonical(_once(_unslugged(_unpointed(less))))
        if less == text or not less:
            return text
        text = less


def forms(value: str) -> frozenset[str]:
    """Every form in which the value is known: what shares one with it says the same."""
    return frozenset((canonical(value), shape(value), plainly(value)))


def says_the_same(one: str, other: str) -> bool:
    """Whether two values are one, in whatever form."""
    return not forms(one).isdisjoint(forms(other))


def _single(value: str) -> str:
    """The one text of JSON that says it several times, or that says of it that it is so."""
    if not value.lstrip().startswith(("{", "[")):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    if isinstance(found, list) and found and all(isinstance(one, str) for one in found):
        return found[0] if len({canonical(one) for one in found}) == 1 else value
    if isinstance(found, dict):
        said = [(key, one) for key, one in found.items() if str(key).casefold() in _WRAPS and isinstance(one, str)]
        so = [key for key, one in found.items() if str(key).casefold() in _SO and one is True]
        if len(said) == 1 and len(so) == len(found) - 1:
            return said[0][1]
    return value


def _unpointed(text: str) -> str:
    """A sentence without quotes around its words and commas behind them."""
    return text if _COUNTS.search(text) else _COMMA.sub("", _INNER_QUOTE.sub("", text))


def _unslugged(text: str) -> str:
    """`so_it_is_said` as words."""
    return re.sub("[-_]", " ", text) if _SLUG.fullmatch(text) else text


def _once(text: str) -> str:
    """What is said several times over, once."""
    words = text.split()
    bare = [_TAIL.sub("", word) for word in words]
    for size in range(LEAST_SAID, len(words) // 2 + 1):
        if len(words) % size == 0 and bare == bare[:size] * (len(words) // size):
            return " ".join(words[:size])
    return text


def runs(text: str, least: int) -> list[str]:
    """Every run of words of a text, as `worded` gives it, that has at least this many characters."""
    said = worded(text).split()[:MOST_WORDS]
    found = {" ".join(said[i:j]).strip(" ,;!?'()[]\"") for i in range(len(said)) for j in range(i + 1, len(said) + 1)}
    return sorted(one for one in found if len(one) >= least)


def _composed(value: str) -> str:
    text = _ordered(value)
    if text.isascii():
        return text
    return _unmarked(unicodedata.normalize("NFKC", text).translate(_ALIKE))


def _unmarked(text: str) -> str:
    """The text without the marks over, under and through its Latin, Greek and Cyrillic letters and digits; elsewhere a
    mark makes another letter, and a stroke through `=` its opposite."""
    parts = unicodedata.normalize("NFD", text)
    if not any(map(unicodedata.combining, parts)):
        return text
    kept: list[str] = []
    base = ""
    for sign in parts:
        if not unicodedata.combining(sign):
            base = sign
        elif unicodedata.category(base) == "Sm":
            pass
        elif base < "\u0530" or "\u1d00" <= base < "\u2000" or "\u2c60" <= base < "\u2e80":
            if (base + sign).casefold() != _SHORT_I or kept[-1] != base:
                continue
        kept.append(sign)
    return unicodedata.normalize("NFC", "".join(kept))


def _folded(text: str) -> str:
    folded = text.casefold()
    return folded if folded.isascii() else unicodedata.normalize("NFKC", folded)


def _bare(text: str) -> str:
    if text.isascii():
        seen = text.translate(_ASCII_UNSEEN)  # a tenth of the time
    else:
        seen = "".join(sign for sign in text if sign.isspace() or not _unseen(sign))
    plain = " ".join(_BOLD.sub(r"\1\2", seen.replace("`", "")).split())
    while (less := _TAIL.sub("", _unwrapped(_LEAD.sub("", _MARK.sub("", plain))))) != plain and less:
        plain = less
    return plain


def _unwrapped(text: str) -> str:
    """The text without the quotes around it, and without one pair of signs that encloses all of it."""
    inner = text.strip(_QUOTES).strip()
    for begin, end in _PAIRS:
        if inner.startswith(begin) and inner.endswith(end) and len(inner) > len(begin) + len(end):
            within = inner[len(begin) : -len(end)]
            if begin not in within and end not in within:
                return within.strip()
    return inner


def _unseen(sign: str) -> bool:
    # Cf: zero width, bidi, tags, soft hyphen. Cc: controls. Beside them: variation selectors and marks of no form.
    return (
        unicodedata.category(sign) in {"Cf", "Cc"}
        or "\ufe00" <= sign <= "\ufe0f"
        or "\U000e0100" <= sign <= "\U000e01ef"
        or sign in "\u034f\u17b4\u17b5\u180b\u180c\u180d"
    )


def _ordered(value: str) -> str:
    """JSON with its keys in order, or the one text it wraps; any other text as it is."""
    if not value.lstrip().startswith(("{", "[", '"')):
        return value
    try:
        return _text_of(json.loads(value)) or value
    except (ValueError, RecursionError):
        return value


def _text_of(found: object) -> str:
    inner = found
    while True:
        if isinstance(inner, str):
            return inner
        if isinstance(inner, list) and len(inner) == 1:
            inner = inner[0]
        elif isinstance(inner, dict) and len(inner) == 1 and str(next(iter(inner))).casefold() in _WRAPS:
            inner = next(iter(inner.values()))
        else:
            return json.dumps(found, sort_keys=True, ensure_ascii=False)


@cache
def look_alikes() -> dict[int, str]:
    """Signs outside ASCII and the ASCII letter or digit each looks like (Unicode Technical Standard 39)."""
    # Imported here: 80 ms that only a process that writes memories pays.
    from confusable_homoglyphs.confusables import confusables_data

    found: dict[int, str] = {}
    for sign, alike in confusables_data.items():
        if len(sign) != 1 or sign.isascii():
            continue
        plain = [one["c"] for one in alike if len(one["c"]) == 1 and one["c"].isascii() and one["c"].isalnum()]
        if plain:
            found[ord(sign)] = plain[0]
    return found
