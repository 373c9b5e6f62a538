"""The wordings in which people state rules, preferences, facts and decisions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recorder.models import MemoryKind
from worker.distil import prose

LEAD = (
    r"(?:(?:ok(?:ay)?|so|also|and|but|please|pls|no|nope|yes|well|oh|hey|btw|fyi|important|note|rule|"
    r"again|claude)[,:.!]*\s+|(?:in|for|on) (?:all|any|every|each|this|our|my|the)\b"
    r"(?:[\w ]{0,30},|(?: of)?(?: my| our)? (?:projects?|repos?|code))\s+)*"
)
DURABLE_VERBS = (
    "use|add|commit|push|write|create|modify|edit|touch|mock|import|install|put|leave|include|rely|hard-?code|"
    "bypass|skip|log|delete|remove|mention|generate|amend|rebase|squash|force|expose|mix|store|break|rename|merge|"
    "deploy|publish|format|embed|catch|swallow|disable|depend|duplicate|introduce|print|depend|call|return|throw|raise"
)
ONE_OFF = (
    r"\b(?:yet|for now|this time|right now|here|now|today|tonight|tomorrow|until|first|again|anymore|just|"
    r"line \d+|(?:this|that|these|those) (?:one|file|function|test|line|commit|pr|branch|change|step|part|bit|case)s?|"
    r"worry|bother|wait|go ahead|continue|above|below)\b"
)
EXPECTATION = (
    r"\b(?:should|must|has to|have to|needs? to) (?:now |then |just |already |still )?(?:work|pass|"
    r"be (?:fine|ok|okay|good|enough|"
    r"fixed|done|ready|able|gone|there|possible|easy|working|passing)|have (?:been|worked|said)|"
    r"do (?:it|that)|look like|help|see|know)\b"
)
IDIOMS = (
    r"^\W*(?:please )?(?:never ?mind|don'?t (?:worry|bother|know|think|understand|see|get|mind|care|"
    r"forget to (?:run|check))|always (?:happy|glad|the same)|"
    r"never (?:again|seen|heard|tried|worked|had|been|thought|knew)|remember (?:when|how|the time|me|"
    r"what|where|why|last|if|our)\b|remember (?:my|the|this|these|it)\b(?!.*\b(?:is|are|was|has|have|must|"
    r"should|runs?|uses?|needs?|goes|lives?)\b)|"
    r"(?:that|you|this|it) must be|i want (?:you )?to (?:know|see|understand|ask|check|discuss|talk|try|look|say|thank|"
    r"make sure|go|do|work|start|test|run|fix))\b"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One way of stating something that holds beyond this task."""

    name: str
    pattern: re.Pattern[str]
    prefix: str
    kind: MemoryKind
    explicit: bool
    example: str


def _rule(name: str, pattern: str, prefix: str, kind: MemoryKind, explicit: bool, example: str) -> Rule:
    return Rule(name, re.compile(pattern, re.I), prefix, kind, explicit, example)


PREFERENCE, SEMANTIC = MemoryKind.PREFERENCE, MemoryKind.SEMANTIC
RULES: tuple[Rule, ...] = (
    _rule(
        "remember",
        rf"^{LEAD}(?:remember(?: that|:|,)?(?! to\b)|keep in mind(?: that|:)?|for (?:future reference|"
        rf"the future|next time)[,:]?|from now on[,:]?|"
        r"going forward[,:]?|in (?:the )?future[,:]?|don'?t (?:ever )?forget(?: that|:))\s+\S+\s+\S+",
        "rule",
        PREFERENCE,
        True,
        "Remember that the staging database is read-only.",
    ),
    _rule(
        "remember-to",
        rf"^{LEAD}(?:remember|(?:please )?don'?t forget) to (?=.*\b(?:always|every|each|before|after|"
        rf"whenever|when|all|any)\b)\S+ \S+",
        "rule",
        PREFERENCE,
        False,
        "Remember to run the linter before each commit.",
    ),
    _rule(
        "always",
        rf"^{LEAD}(?:(?:you|we) (?:must |should )?)?always [a-z-]+ \S+",
        "rule",
        PREFERENCE,
        True,
        "Always run the linter before committing.",
    ),
    _rule(
        "never",
        rf"^{LEAD}(?:(?:you|we) (?:must |should )?)?never [a-z-]+ \S+|^{LEAD}(?:don'?t|do not) ever [a-z-]+ \S+",
        "rule",
        PREFERENCE,
        True,
        "Never commit directly to main.",
    ),
    _rule(
        "prefer",
        rf"^{LEAD}(?:(?:i|we)(?:'d| would)? (?:always |usually |strongly |generally |much )?)?prefer (?!not$)\S+",
        "preference",
        PREFERENCE,
        True,
        "I prefer small commits.",
    ),
    _rule(
        "use-not",
        rf"^{LEAD}(?:(?:you|we) (?:must|should) )?(?:use|choose|pick|stick (?:to|"
        rf"with)) (?:\S+ ){{1,8}}?(?:instead of|rather than|,? ?(?:and )?not|over) \S+",
        "preference",
        PREFERENCE,
        True,
        "Use pnpm, not npm.",
    ),
    _rule(
        "dont",
        rf"^{LEAD}(?:(?:you|we) (?:must|should) )?(?:don'?t|do not|not|avoid|stop|must not|mustn'?t|"
        rf"shouldn'?t|should not|no more) (?:(?:{DURABLE_VERBS})(?:ing)?) \S+",
        "rule",
        PREFERENCE,
        False,
        "Do not use print for logging.",
    ),
    _rule(
        "all-must",
        r"^(?=.*\b(?:all|every|each|any|no|never|always|only|everything|nothing|everywhere)\b).*\b(?:must|"
        r"should|has to|have to|needs? to|shall)\b \S+",
        "rule",
        PREFERENCE,
        False,
        "Every public function must have a docstring.",
    ),
    _rule(
        "must-not",
        r"^(?!.*\byou\b).{3,120}\b(?:must|should|shall|may|can) ?(?:not|never)\b \S+|"
        r"^(?!.*\byou\b).{3,120}\b(?:mustn'?t|shouldn'?t)\b \S+|^.{3,80}\bmust (?:be|always|use|have|go|"
        r"stay|start|end)\b \S+",
        "rule",
        PREFERENCE,
        False,
        "The API key must be read from the environment.",
    ),
    _rule(
        "want",
        rf"^{LEAD}.{{0,80}}\b(?:i|we) (?:do |really |also )?(?:want|'d like|"
        rf"would like)(?! you\b)(?! to (?:work|see|know|ask|start|try|do|go|talk|discuss|check|look|"
        rf"understand|run|test|fix|think|make sure|get)\b)"
        r"(?: to)? \S+ \S+ \S+",
        "preference",
        PREFERENCE,
        False,
        "I want errors to be shown on one line.",
    ),
    _rule(
        "we-should",
        rf"^{LEAD}(?:.{{0,80}}\b(?:we|it|they) should|if .{{3,80}} (?:we|it|they) should) (?:also |always |"
        rf"only )?(?!(?:look|check|try|discuss|talk|see|test|run|fix|now|start|continue|wait|support|add|"
        rf"implement|create|build|make|write|"
        r"move|remove|rename|update|change|refactor|clean|find|get|probably|definitely)\b)[a-z]+ \S+ \S+",
        "preference",
        PREFERENCE,
        False,
        "We should log the request id with each error.",
    ),
    _rule(
        "we-use",
        rf"^{LEAD}(?:(?:in this|this|the|our) (?:project|repo(?:sitory)?|codebase|team|company|service|app|"
        rf"code)[, ]+(?:we )?(?:always |only |exclusively )?uses?|we (?:always |only |exclusively )?use|"
        rf"our [\w -]{{2,40}} (?:is|are|lives?|runs?|uses?)) \S+",
        "fact",
        SEMANTIC,
        False,
        "We use PostgreSQL 16 in production.",
    ),
    _rule(
        "decided",
        rf"^{LEAD}(?:we(?:'ve| have)?|i(?:'ve| have)?) (?:decided|agreed|chosen|settled|chose|went|"
        rf"are going|'re going) (?:to|on|with|for|that|against|not to) \S+|^{LEAD}(?:let'?s|we(?:'ll|"
        rf" will)) (?:keep|stick (?:to|with)|stay (?:with|on)|go with|use|standardi[sz]e on) (?:\S+ ){{1,}}",
        "decision",
        SEMANTIC,
        False,
        "We decided to use SQLite because it needs no server.",
    ),
    _rule(
        "most-concerned",
        rf"^{LEAD}(?:i'?m|i am) (?:most|mostly|mainly|primarily) (?:concerned|interested|worried) \S+ \S+",
        "preference",
        PREFERENCE,
        False,
        "I'm most concerned with the accuracy of the count.",
    ),
    _rule(
        "correction",
        rf"^{LEAD}(?:not (?:as|in|by|with|on|to|the|an?) .{{3,80}}\bbut\b \S+|keep (?:our|the|all|"
        rf"your) .{{3,100}} (?:in|on|at|under|as|out of) \S+)",
        "preference",
        PREFERENCE,
        False,
        "Keep our working notes in the wiki.",
    ),
)

# Said so plainly that words like "now" or "first" in them do not make a task of them.
# These hold beyond the task only when they do not point at something at hand.
POINTING = frozenset({"want", "we-should", "dont", "use-not"})
POINTS = re.compile(
    r"\b(?:this|these|those)\b(?! (?:project|repo|repository|codebase|app|service|package)s?\b)|"
    r"\b(?:to|of|for|in|on|at|with|use|add|remove|change|invert|keep|delete) that\b",
    re.I,
)
OUTRIGHT = frozenset({"remember", "always", "never"})
OFF = re.compile(f"{ONE_OFF}|{EXPECTATION}|{IDIOMS}", re.I)
AS_NOW = re.compile(r"\b(?:as|like) (?:we|it|they) (?:do|does|is|are) now\b", re.I)
TOO_SHORT_WORDS = 3


def matching(sentence: str) -> Rule | None:
    """The first rule that takes the sentence; None for questions, guesses, tasks and idioms."""
    if prose.is_question(sentence) or prose.is_hedged(sentence) or prose.is_hostile(sentence):
        return None
    if len(sentence.split()) < TOO_SHORT_WORDS or sentence.endswith(":"):
        return None
    rule = next((rule for rule in RULES if rule.pattern.search(sentence)), None)
    if rule is None or re.search(IDIOMS, sentence, re.I):
        return None
    if rule.name in POINTING and POINTS.search(sentence):
        return None
    return rule if rule.name in OUTRIGHT or not OFF.search(AS_NOW.sub("", sentence)) else None
