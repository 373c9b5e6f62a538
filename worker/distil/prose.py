"""A person's own words inside a prompt: sentences, without what was pasted or injected."""

from __future__ import annotations

import re
from dataclasses import dataclass

from recorder.capture.blocks import without_blocks
from worker.distil import risks

LONG_PROMPT = 1500
"""Characters from which a prompt is taken for a pasted one: only its first paragraph is read."""
LONG_SENTENCE = 320
FOREIGN_LINES = 3
"""Lines of a log or of code from which a prompt is pasted, but for its first line."""

FENCE = re.compile(r"^[ \t]*(```|~~~).*?(^[ \t]*\1[ \t]*$|\Z)", re.S | re.M)
HEADING = re.compile(r"^#{1,6}[ \t]+\S", re.M)
QUOTED_LINE = re.compile(r"^[ \t]*(?:>|\||\$ |➜|❯|\d+→|[+-]{3} |@@|[\]})]|\"[^\"]*\",?$)|[\[{(]\s*$")
BULLET = re.compile(r"^[ \t]*(?:[-*•]|\(?\d{1,2}[.)])[ \t]+")
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+(?=[\"'(`@/\w])")
LOG_LINE = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d|=== |--- |at .+:\d+|Traceback|File \"|[A-Z]\w*(?:Error|Exception)\b|"
    r"(?:ERROR|WARN|INFO|DEBUG|FATAL|error|warning)\b[:\[ ]|npm (?:ERR|WARN)|Caused by|"
    r"\w+@[\w.-]+[:~]|import |from \w+ import )"
)
CODE_LINE = re.compile(r"(?:[;{}]|=>|\):|\\)\s*$|^\s*(?:def|class|func|const|let|var|return|if \(|for \()\b.*[({=]")
HAND_OFF = re.compile(
    r"\A\s*(?:Implement the following plan:|This session is being continued|Caveat:|\[Request interrupted|"
    r"Operation stopped by hook|Stop hook feedback|Base directory for this skill|Unknown (?:skill|command))",
    re.I,
)
DOCUMENT_INTRO = re.compile(
    r"(?:^|\n)[^\n]{0,160}\b(?:man page|docs?(?:umentation)?|doc page|log|output|stack ?trace|feedback|review(?:er)?|"
    r"comments?|pasted?|article|e-?mail|message|readme|claude\.md|agents\.md|instructions?|error|says|said|wrote)\b"
    r"[^\n]{0,60}[:?]\s*(?:\n|$)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence as it stands in the prompt, and the one before it."""

    text: str
    before: str
    starts_line: bool
    short_prompt: bool


def _own_part(text: str) -> str:
    """The prompt without tag blocks, code, quoted lines and everything that follows a pasted document's start."""
    if HAND_OFF.match(text):
        return ""
    text = FENCE.sub("\n\n", without_blocks(text))
    heading = HEADING.search(text)
    if heading:
        text = text[: heading.start()]
    intro = DOCUMENT_INTRO.search(text)
    if intro and text[intro.end() :].strip():
        text = text[: intro.end()]
    if len(text) > LONG_PROMPT:
        first, _, _ = text.strip().partition("\n\n")
        text = first if len(first) <= LONG_SENTENCE else ""
    return text


def _is_foreign(line: str) -> bool:
    return bool(QUOTED_LINE.match(line) or LOG_LINE.match(line) or CODE_LINE.search(line))


def sentences(text: str) -> list[Sentence]:
    """The sentences a person wrote here, in order; each is a literal substring of the text."""
    found: list[Sentence] = []
    own = _own_part(text)
    lines = own.splitlines()
    if sum(map(_is_foreign, lines)) >= FOREIGN_LINES:
        lines = own.strip().splitlines()[:1]
    before = ""
    for line in lines:
        if _is_foreign(line):
            before = ""
            continue
        bullet = BULLET.match(line)
        body = line[bullet.end() :] if bullet else line
        for number, part in enumerate(SENTENCE_END.split(body)):
            part = part.strip()
            if not part or len(part) > LONG_SENTENCE:
                continue
            found.append(Sentence(part, before, number == 0, len(text) <= LONG_PROMPT // 2))
            before = part
    return found


HEDGES = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|not sure|unsure|i guess|i suppose|i wonder|wondering|what if|"
    r"(?:should|shall|could|can|would|will|do|does|did|is|are|have|has) (?:we|i|you|it|there|this|"
    r"that|they)\b(?=[^.!]*\?)|"
    r"how about|what about|why (?:not|don't)|considering|let me know|i think|in theory|seems?|"
    r"looks like|imagine|suppose|"
    r"for example|e\.g\.|hypothetically|if i (?:said|told)|would be nice)\b",
    re.I,
)
INJECTION = re.compile(
    r"ignore (?:all |any )?(?:the )?(?:previous|prior|above) (?:instructions|prompts)|"
    r"system prompt|you are (?:now )?(?:an? |the )?(?:\w+ ){0,3}(?:assistant|agent|model|specialist|finalizer)",
    re.I,
)


def is_question(sentence: str) -> bool:
    """True for what asks and does not state."""
    return sentence.rstrip("\"') ").endswith("?") or bool(
        re.match(
            r"(?:so |and |ok |but |also |please )*(?:(?:tell|show|remind|ask|explain|help)(?: to)? (?:me|"
            r"us)\b|(?:what|why|how|when|where|who|which|can|could|should|shall|would|will|do|does|did|"
            r"is|are|am|was|were|have|has) (?:we|i|you|it|there|this|that|they|the|a|my|our)\b)",
            sentence,
            re.I,
        )
    )


def is_hedged(sentence: str) -> bool:
    """True for a guess, a wish put as a question, or an example."""
    return bool(HEDGES.search(sentence))


def is_hostile(sentence: str) -> bool:
    """True for words that speak to a model about its instructions, or that have it run what is downloaded."""
    return bool(INJECTION.search(sentence)) or risks.runs_download(sentence)
