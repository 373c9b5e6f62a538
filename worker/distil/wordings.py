"""The wordings in which people state rules, preferences, facts and decisions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recorder.models import MemoryKind
from worker.distil import prose

PREFERENCE, SEMANTIC = MemoryKind.PREFERENCE, MemoryKind.SEMANTIC
TOO_SHORT_WORDS = 3

# What may stand before the rule in its sentence.
LEAD = (
    r"(?:(?:ok(?:ay)?|so|also|and|but|please|pls|no|nope|yes|well|oh|hey|btw|fyi|important|note|rule|again|claude)"
    r"[,:.!]*\s+|(?:in|for|on) (?:all|any|every|each|this|our|my|the)\b"
    r"(?:[\w ]{0,30},|(?: of)?(?: my| our)? (?:projects?|repos?|code))\s+)*"
)
DUTY = r"(?:(?:you|we) (?:must|should) )?"
DURABLE_VERBS = (
    "use|add|commit|push|write|create|modify|edit|touch|mock|import|install|put|leave|include|rely|hard-?code|bypass|"
    "skip|log|delete|remove|mention|generate|amend|rebase|squash|force|expose|mix|store|break|rename|merge|deploy|"
    "publish|format|embed|catch|swallow|disable|depend|duplicate|introduce|print|call|return|throw|raise"
)
# Verbs of what is wanted now: they make a task of "we should" and "I want to".
TASK_VERBS = (
    "look|check|try|discuss|talk|see|test|run|fix|now|start|continue|wait|support|add|implement|create|build|make|"
    "write|move|remove|rename|update|change|refactor|clean|find|get|probably|definitely|think|work|know|ask|do|go|"
    "understand|tell|pass|live|help|visit|share|say|give|learn|become|fight|thank"
)
# After "always" and "never": what makes a remark of them.
NO_RULE_VERBS = (
    "say|saw|know|knew|quit|shy|give|felt|seen|heard|expected|imagined|thought|had|been|again|mind|tried|worked|was|"
    "were|is|are|a|an|the|so|in|on|up|here|there|down|ready|open|good|nice|great|fun|interested|happy|glad|wanted|"
    "liked|loved|enough|too|got|gets|does|did|going|having|being"
)
PASSIVE = r"(?:\w+ed|read|written|built|run|set|kept|sent|held|put|shown|done|hidden|unique|valid)"


@dataclass(frozen=True, slots=True)
class Rule:
    """One way of stating something that holds beyond this task."""

    name: str
    pattern: re.Pattern[str]
    kind: MemoryKind
    explicit: bool
    example: str


def _rule(name: str, pattern: str, kind: MemoryKind, explicit: bool, example: str) -> Rule:
    return Rule(name, re.compile(pattern, re.I), kind, explicit, example)


RULES: tuple[Rule, ...] = (
    _rule(
        "remember",
        rf"^{LEAD}(?:remember(?: that|:|,)?(?! to\b)|keep in mind(?: that|:)?|don'?t (?:ever )?forget(?: that|:)|"
        r"for (?:future reference|the future|next time)[,:]?|from now on[,:]?|going forward[,:]?|"
        r"in (?:the )?future[,:]?)\s+\S+\s+\S+",
        PREFERENCE, True, "Remember that the staging database is read-only.",
    ),
    _rule(
        "remember-to",
        rf"^{LEAD}(?:remember|don'?t forget) to (?=.*\b(?:always|every|each|before|after|whenever|when|all|any)\b)"
        r"\S+ \S+",
        PREFERENCE, False, "Remember to run the linter before each commit.",
    ),
    _rule(
        "always",
        rf"^{LEAD}(?:{DUTY}|we )always (?!(?:{NO_RULE_VERBS})\b)[a-z-]+ \S+",
        PREFERENCE, True, "Always run the linter before committing.",
    ),
    _rule(
        "never",
        rf"^{LEAD}(?:{DUTY}|we )never (?!(?:{NO_RULE_VERBS})\b)[a-z-]+ \S+|"
        rf"^{LEAD}(?:don'?t|do not) ever (?!(?:{NO_RULE_VERBS})\b)[a-z-]+ \S+",
        PREFERENCE, True, "Never commit directly to main.",
    ),
    _rule(
        "prefer",
        rf"^{LEAD}(?:(?:i|we)(?:'d| would)? (?:always |usually |strongly |generally |much )?)?prefer (?!not$)\S+",
        PREFERENCE, True, "I prefer small commits.",
    ),
    _rule(
        "use-not",
        rf"^{LEAD}{DUTY}(?:use|choose|pick|stick (?:to|with)) (?:\S+ ){{1,8}}?"
        r"(?:instead of|rather than|,? ?(?:and )?not|over) \S+",
        PREFERENCE, True, "Use pnpm, not npm.",
    ),
    _rule(
        "dont",
        rf"^{LEAD}{DUTY}(?:don'?t|do not|not|avoid|stop|must not|mustn'?t|shouldn'?t|should not|no more) "
        rf"(?:{DURABLE_VERBS})(?:ing)? \S+",
        PREFERENCE, False, "Do not use print for logging.",
    ),
    _rule(
        "all-must",
        r"^(?=.*\b(?:all|every|each|any|no|never|always|only|everything|nothing|everywhere)\b)"
        r"(?!.*\b(?:agree|must have (?:been|felt|had|\w+ed)|must be (?:so|such|an?|the|very))\b)"
        r".*\b(?:must|should|has to|have to|needs? to|shall)\b \S+",
        PREFERENCE, False, "Every public function must have a docstring.",
    ),
    _rule(
        "must-not",
        r"^(?!.*\byou\b)(?:.{3,120}\b(?:must|should|shall|may|can) ?(?:not|never)\b \S+|"
        r".{3,120}\b(?:mustn'?t|shouldn'?t)\b \S+|"
        rf".{{3,80}}\bmust (?:be {PASSIVE}\b|(?:always|use|go|stay|start|end)\b) \S+)",
        PREFERENCE, False, "The API key must be read from the environment.",
    ),
    _rule(
        "want",
        rf"^{LEAD}.{{0,80}}\b(?:i|we) (?:do |really |also )?(?:want|'d like|would like)"
        rf"(?! (?:you|them|him|her|my|people)\b)(?! to (?:{TASK_VERBS})\b)(?: to)? \S+ \S+ \S+",
        PREFERENCE, False, "I want errors to be shown on one line.",
    ),
    _rule(
        "we-should",
        rf"^(?!.*\b(?:agree|how we)\b){LEAD}(?:.{{0,80}}\b(?:we|it|they) should|if .{{3,80}} (?:we|it|they) should) "
        rf"(?:also |always |only )?(?!(?:{TASK_VERBS.replace('|say|', '|')})\b)[a-z]+ \S+ \S+",
        PREFERENCE, False, "We should log the request id with each error.",
    ),
    _rule(
        "we-use",
        rf"^{LEAD}(?:(?:in this|this|the|our) (?:project|repo(?:sitory)?|codebase|team|company|service|app|code)[, ]+"
        r"(?:we )?(?:always |only |exclusively )?uses?|we (?:always |only |exclusively )?use|"
        r"our [\w -]{2,40} (?:lives?|runs?|uses?|(?:is|are) (?:in|at|on|called|named|written|hosted|built))) \S+",
        SEMANTIC, False, "We use PostgreSQL 16 in production.",
    ),
    _rule(
        "decided",
        rf"^{LEAD}(?:we|i)(?:'ve| have)? (?:(?:decided|agreed|settled) (?:to|on|that|against|not to)|went with|"
        rf"chose(?! to\b)) \S+|^{LEAD}we(?:'re| are) going with \S+|"
        rf"^{LEAD}let'?s (?:keep (?!\w+ing\b|it\b|each\b)|stick (?:to|with) |stay (?:with|on) |go with |use |"
        r"standardi[sz]e on )\S+ \S+",
        SEMANTIC, False, "We decided to use SQLite because it needs no server.",
    ),
    _rule(
        "most-concerned",
        rf"^{LEAD}(?:i'?m|i am) (?:most|mostly|mainly|primarily) (?:concerned|interested|worried) \S+ \S+",
        PREFERENCE, False, "I'm most concerned with the accuracy of the count.",
    ),
    _rule(
        "correction",
        rf"^{LEAD}(?:not (?:as|in|by|with|on|to|the|an?) .{{3,80}}\bbut\b \S+|"
        r"keep (?:our|the|all|your) .{3,100} (?:in|on|at|under|as|out of) \S+)",
        PREFERENCE, False, "Keep our working notes in the wiki.",
    ),
)  # fmt: skip

# Said so plainly that words like "now" or "first" in them do not make a task of them.
OUTRIGHT = frozenset({"remember", "always", "never"})
# These hold beyond the task only when they do not point at something at hand.
POINTING = frozenset({"want", "we-should", "dont", "use-not"})
POINTS = re.compile(
    r"\b(?:this|these|those)\b(?! (?:project|repo|repository|codebase|app|service|package)s?\b)|"
    r"\b(?:to|of|for|in|on|at|with|use|add|remove|change|invert|keep|delete) that\b",
    re.I,
)
ONE_OFF = re.compile(
    r"\b(?:yet|for now|this time|right now|here|now|today|tonight|tomorrow|until|first|again|anymore|just|line \d+|"
    r"(?:this|that|these|those) (?:one|file|function|test|line|commit|pr|branch|change|step|part|bit|case)s?|"
    r"worry|bother|wait|go ahead|continue|above|below)\b",
    re.I,
)
AS_NOW = re.compile(r"\b(?:as|like) (?:we|it|they) (?:do|does|is|are) now\b", re.I)
EXPECTATION = re.compile(
    r"\b(?:should|must|has to|have to|needs? to) (?:now |then |just |already |still )?(?:work|pass|have (?:been|\w+ed)|"
    r"be (?:fine|ok|okay|good|enough|fixed|done|ready|able|gone|there|possible|easy|working|passing)|do (?:it|that)|"
    r"look like|help|see|know)\b",
    re.I,
)
IDIOMS = re.compile(
    r"^\W*(?:please )?(?:never ?mind|always (?:happy|glad|the same)|(?:that|you|this|it) must be|"
    r"don'?t (?:worry|bother|know|think|understand|see|get|mind|care|forget to (?:run|check))|"
    r"remember (?:when|how|the time|me|what|where|why|last|if|our)|"
    r"remember (?:my|the|this|these|it)\b(?!.*\b(?:is|are|was|has|have|must|should|runs?|uses?|needs?|goes|lives?)\b)|"
    r"i want (?:you )?to (?:know|see|understand|ask|check|discuss|talk|try|look|say|thank|make sure|go|do|work|start|"
    r"test|run|fix))\b",
    re.I,
)


def is_of_the_moment(sentence: str) -> bool:
    """True for what holds for this task or this minute, and for what is only expected."""
    return bool(ONE_OFF.search(AS_NOW.sub("", sentence)) or EXPECTATION.search(sentence) or IDIOMS.search(sentence))


def matching(sentence: str) -> Rule | None:
    """The first rule that takes the sentence; None for questions, guesses, tasks and idioms."""
    if prose.is_question(sentence) or prose.is_hedged(sentence) or prose.is_hostile(sentence):
        return None
    if len(sentence.split()) < TOO_SHORT_WORDS or sentence.endswith(":"):
        return None
    rule = next((rule for rule in RULES if rule.pattern.search(sentence)), None)
    if rule is None or IDIOMS.search(sentence) or (rule.name in POINTING and POINTS.search(sentence)):
        return None
    return rule if rule.name in OUTRIGHT or not is_of_the_moment(sentence) else None
