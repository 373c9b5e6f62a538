"""Keys: what a sentence is about, said so that the same subject gives the same key and another one another.

Everything a person states has its key from `key_of` and from the sentence alone, whichever rule took it:

- a choice among things we know (`choices.py`) is `preference.<what is chosen>` and the words that say where it holds;
- a choice between two other things is `rule.<one>-or-<other>`;
- everything else is `rule.<its words>`, without polarity, reason, the command a thing is done with and limits: these
  are the value. So "never" supersedes "always", and a new test command the old one. A stated command is not the key of
  the observed one (`command.test`): the two sentences never agree to the letter, and each run would dispute the rule.

A ban on one of many ("never use npm") keeps the banned name in its key. It says nothing of what is chosen: it may stand
beside the choice and beside other bans, and must not take their place.
"""

from __future__ import annotations

import re
from hashlib import sha256

from worker.distil.choices import LANGUAGES, NOT, chosen

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
MOST_WORDS = 6
MOST_CHARACTERS = 48
WORD = re.compile(r"[^\W_][\w'’/.-]*", re.U)
INSTEAD = re.compile(
    r"(?:\buse|\bprefer|\bwant|\bchoose|\bpick|\bkeep)\w*\s+(?P<new>.{1,80}?)\s*,?\s*"
    r"(?:instead of|rather than|\bover\b|,?\s*(?:and )?\b(?:not|never)\b)\s+(?P<old>.{1,80}?)[.!]*$",
    re.I,
)


def content_words(text: str) -> list[str]:
    """The words that carry the subject, lower case, in order, each once."""
    found: dict[str, None] = {}
    for match in WORD.finditer(text.replace("’", "'").lower()):
        word = match.group().strip("'.-/")
        if word not in STOP and word:
            found.setdefault(_singular(word))
    return list(found)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return re.sub(r"[^\w]+", "-", word).strip("-_") or "x"


def slug(text: str, most: int = 4) -> str:
    """Up to `most` content words of the text joined by `-`, at most 60 characters; `general` when there is none."""
    return "-".join(content_words(text)[:most])[:60].strip("-_") or NO_SUBJECT


# What opens a rule and is not part of it.
OPENING = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|so|also|and|but|please|pls|no|nope|yes|well|oh|hey|btw|fyi|important|note|rule|again|claude|"
    r"wait|sorry|actually|remember(?: that| to)?|keep in mind(?: that)?|(?:don'?t|do not) (?:ever )?forget (?:that|to)|"
    r"from now on|going forward|in (?:the )?future|for (?:the future|future reference|next time)|let'?s|"
    r"(?:in|for|across) (?:all|any|every|each)(?: of)? (?:my|our) (?:projects?|repos?(?:itories)?)|"
    r"(?:we|i)(?:'ve| have)? (?:decided|agreed|settled) (?:to|on|that))\b[,:.!\s]*)+",
    re.I,
)
REASON = re.compile(
    r"[,;:]?\s{0,3}\b(?:because|since|so that|otherwise|due to|as (?:it|they|we|this|that))\b.*$|"
    r"\s{0,3}[,;—–]\s{0,3}(?:it|they|this|that|these|we)(?:'s|'re| is| are| has| have)\b.*$",
    re.I | re.S,
)
# How a thing is done: a command line, in backticks or not, and the one it is not done with.
RUNS = (
    r"(?:uv|npm|npx|pnpm|yarn|bun|bunx|poetry|pipenv|pdm|hatch|make|just|task|rake|cargo|go|mise|python3?|nox|tox|docker|"
    r"pytest|unittest|jest|vitest|mocha|rspec|ruff|black|eslint|prettier|mypy|\./[\w./-]+)"
)
BY_MEANS = re.compile(
    r"\b(?:with|using|via|through|by running)\s+(?:`(?!-)[^`]+`|"
    rf"{RUNS}(?![\w/-])(?:\s+(?!before\b|after\b|in\b|for\b|on\b|when\b|never\b|not\b|instead\b|and\b|to\b)[^\s,;]+)*)"
    r"(?:\s*,?\s*(?:and )?(?:never|not|instead of|rather than)\s+(?:(?:with|using|via|through|by)\s+)?[^,;]{1,40}$)?",
    re.I,
)
IN_LANGUAGE = re.compile(rf"\bin (?:{LANGUAGES})\b(?:,? (?:not|never) (?:in )?(?:{LANGUAGES})\b)?", re.I)
LIMIT = re.compile(
    r"(\b(?:below|under|above|over|than|within|exceed\w*|at (?:most|least)|up to|limit\w*(?: to| of)?|"
    r"max(?:imum)?(?: of)?|min(?:imum)?(?: of)?))\s+\d[\d.,]*",
    re.I,
)
VERSION = re.compile(r"(\b(?:python|node|java|ruby|go|php|rust|django|react|vue|typescript))\s+v?\d[\d.]*", re.I)
NEGATIVE = re.compile(rf"\b(?:{NOT}|no)\b", re.I)
NAMED_SIGNS = {"c++": "cpp", "c#": "csharp", "f#": "fsharp", ".net": "dotnet"}
TOKEN = re.compile(
    r"`(?P<code>[^`\n]+)`|(?<![\w.])(?P<named>c\+\+|[cf]#|\.net\b)|(?<!\w)-(?P<flag>[A-Z])\b|(?P<word>[^\W_][\w'/.-]*)|"
    r"(?P<sign>[^\w\s,.;:?\"'()`…–—]{2,})",
    re.I,
)
DECORATION = frozenset("-*_!")
# Common words that tell one subject from another, and names of tools and languages that are common words elsewhere.
TELLING = frozenset({"user", "after", "other", "same"})
TOO_COMMON = (STOP | {"without"}) - TELLING
COMMON_NAME = re.compile(r"(?<=\buse )(?:go|make|let|get|put|do|while)\b|\b(?:GET|PUT)\b")


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:4]


def _tokens(text: str, *, code: bool = False) -> list[str]:
    """Every word of the text that tells subjects apart. In code no word is too common, and signs count."""
    found: list[str] = []
    text = text.replace("’", "'") if code else COMMON_NAME.sub(r"`\g<0>`", text.replace("’", "'"))
    for match in TOKEN.finditer(text):
        part = match.group()
        if match["code"]:
            found += _tokens(match["code"], code=True)
        elif match["named"]:
            found.append(NAMED_SIGNS[part.lower()])
        elif match["flag"]:
            found.append(f"{'capital-' if match['flag'].isupper() else ''}{match['flag'].lower()}")
        elif match["sign"]:
            found += [f"x{_digest(part)}"] if set(part) - DECORATION else []
        else:
            word = part.lower().strip("'.-/")
            found += [_singular(word)] if word and (code or word not in TOO_COMMON) else []
    return list(dict.fromkeys(found))


def _named(words: list[str]) -> str:
    """The words as a part of a key; a digest stands for those that are too many."""
    whole = "-".join(words)
    short = "-".join(words[:MOST_WORDS])[:MOST_CHARACTERS].rstrip("-_")
    return short if short == whole else f"{short}-{_digest(whole)}"


def words_of(text: str) -> list[str]:
    """What a sentence says but for its polarity; never empty where there is a sign of any kind."""
    return _tokens(text) or [_singular(word) for word in WORD.findall(text.lower())] or [_digest(text)]


def _subject(sentence: str) -> str:
    """The sentence without what opens it and the reason it gives, as far as something is left."""
    bare = OPENING.sub("", sentence, count=1)
    bare = bare if _tokens(bare) else sentence
    cut = REASON.sub("", bare)
    return cut if _tokens(cut) else bare


def _without_value(text: str) -> str:
    """The sentence without what a later one may change: by what means, in which language, up to what limit."""
    means = BY_MEANS.search(text)
    less = LIMIT.sub(r"\1", text)
    if NEGATIVE.search(text[: means.start()] if means else text):
        return less
    less = VERSION.sub(r"\1", IN_LANGUAGE.sub("in language", BY_MEANS.sub(" ", less)))
    return less if _tokens(less) else text


def key_of(sentence: str) -> str:
    """The key of what a person states, the same for the same sentence always."""
    text = _subject(sentence)
    # A name alone in backticks is meant; inside a command line it is not what the sentence is about.
    plain = re.sub(r"`([^`\s]+)`", r"\1", text)
    choice = chosen(re.sub(r"`[^`]*`", "``", plain))
    if choice:
        implied = set(choice.choice.implied.split())
        where = [word for word in _tokens(choice.members.sub(" ", plain)) if word not in implied]
        where = [word for word in where if not word.isdigit()]
        rest = [*choice.banned, *sorted(where)]
        return f"{choice.choice.key}-{_named(rest)}" if rest else choice.choice.key
    between = INSTEAD.search(text)
    if between:
        sides = sorted(_named(_tokens(between[side])) for side in ("new", "old"))
        if all(sides) and all(len(between[side].split()) <= LONG_SIDE for side in ("new", "old")):
            return f"rule.{'-or-'.join(sides)}"
    return f"rule.{_named(words_of(_without_value(text)))}"


def key_of_question(header: str, question: str) -> str:
    """The key of an answer: a header is often one word that other questions have too, the question tells them apart."""
    words = _tokens(header)
    return f"decision.{_named(words + [word for word in words_of(question) if word not in words])}"


def key_of_report(sentence: str) -> str:
    """The key of a decision the assistant reports."""
    return f"decision.{_named(words_of(_subject(sentence)))}"


def longer(key: str, sentence: str) -> str:
    """A key for a sentence whose own is taken by another subject: with the words that the key leaves out."""
    said = set(re.split(r"[.-]", key))
    left = [word for word in words_of(sentence) if not set(word.split("-")) <= said]
    return f"{key}-{_named(left) if left else _digest(sentence)}"
