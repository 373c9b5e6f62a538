"""The constants of ranking, and the numbers that chose them.

Fitted by `python -m benchmarks.recall --fit` (a softmax over each question's candidates, l2 0.1) on 201 questions about
24 coding sessions and on three LoCoMo conversations, each set counting the same; every answer that a label accepts
counts. What becomes of recall@1, @5, @10 and nDCG@10 (coding, where each half was fitted without its transcripts, 4
splits) and of recall@10 and nDCG@10 (the two LoCoMo conversations nothing was fitted on) without a feature, all others
fitted on from what they were:

| without | coding | LoCoMo | without | coding | LoCoMo |
|---|---|---|---|---|---|
| (nothing) | .505 .825 .937 .708 | .787 .659 | own_prompt | .484 .806 .918 .690 | .787 .659 |
| dense | .490 .820 .932 .701 | .785 .657 | our_prompt | .500 .825 .930 .705 | .789 .659 |
| words | .491 .825 .935 .704 | .788 .664 | late | .493 .821 .939 .705 | .788 .659 |
| near | .432 .807 .909 .668 | .781 .656 | shell | .501 .822 .928 .704 | .787 .659 |
| previous | .481 .831 .928 .696 | .775 .645 | memory | .504 .826 .938 .709 | .787 .660 |
| next | .505 .826 .933 .706 | .787 .660 | tool_call | .489 .803 .935 .704 | .787 .659 |
| earlier | .497 .810 .931 .700 | .779 .649 | tool_own | .496 .813 .933 .702 | .790 .662 |
| answers | .493 .811 .932 .701 | .789 .642 | looking | .491 .821 .927 .700 | .787 .659 |
| named | .507 .827 .937 .710 | .787 .657 | announces | .489 .812 .937 .699 | .787 .657 |
| inside | .505 .831 .934 .708 | .786 .659 | concludes | .471 .802 .925 .687 | .788 .659 |
| speaker | .499 .818 .930 .704 | .779 .647 | length | .504 .823 .935 .709 | .788 .660 |
| session | .499 .813 .922 .702 | .784 .662 | says_when | .501 .822 .933 .705 | .781 .660 |
| dated | .504 .825 .935 .708 | .784 .657 | repeats | .505 .823 .934 .707 | .788 .660 |
| tells_when | .501 .828 .927 .705 | .786 .659 |  |  |  |

`named`, the share of the question's names a row holds, was left out for it. Left out before because they did not carry
over to other sessions: reciprocal ranks, recency, context inside the embedded text, whether a row is a question,
cosines as they are, why-, where- and how-many-questions, the turn's prompt as context, words of the first 220
characters; and since: cosines of the neighbours, the two rarest words, kinds of tools, long pasted prompts, errors
where an error is asked for, headings and lists.
"""

from __future__ import annotations

from collections.abc import Mapping

MEANING = "near"
"""The feature that is there only when the vector arm could look."""

MEMORY = 1.40

# (hybrid, words alone)
RANK: Mapping[str, tuple[float, float]] = {
    "own": (2.47, 2.61),
    "dense": (2.19, 2.42),
    "words": (0.97, 1.54),
    "near": (2.03, 0.00),
    "previous": (3.74, 3.80),
    "next": (1.40, 1.82),
    "earlier": (3.16, 3.35),
    "answers": (2.81, 2.99),
    "inside": (1.64, 2.33),
    "speaker": (1.53, 1.56),
    "session": (2.36, 2.69),
    "dated": (1.99, 1.79),
    "tells_when": (1.27, 1.31),
    "own_prompt": (2.02, 2.12),
    "our_prompt": (0.79, 0.86),
    "late": (1.18, 1.18),
    "shell": (1.10, 1.25),
    # 0.4 by the fit, over 60 memories that all had their event beside them; a memory is what was made of it.
    "memory": (MEMORY, MEMORY),
    "tool_call": (-1.15, -1.11),
    "tool_own": (1.23, 1.05),
    "looking": (-0.98, -1.02),
    "announces": (-1.09, -1.19),
    "concludes": (0.70, 0.85),
    "length": (1.09, 0.80),
    "says_when": (0.42, 0.25),
    "repeats": (-1.01, -1.01),
}


def of(by_meaning: bool) -> Mapping[str, float]:
    """What each feature is worth in a ranking, in logits."""
    return {name: pair[0 if by_meaning else 1] for name, pair in RANK.items()}


# (hybrid, words alone); a sum below 0 is no answer. A logistic rule, fitted on answerable and foreign coding questions.
ANSWER: Mapping[str, tuple[float, float]] = {
    "own_five": (3.508, 7.050),
    "around": (2.070, 2.391),
    "likeness": (4.656, 3.976),
    "known": (1.231, 1.843),
}
BIAS = (-6.888, -4.640)


def answers(by_meaning: bool) -> tuple[float, Mapping[str, float]]:
    """The bias and what each piece of evidence is worth for there being an answer at all."""
    at = 0 if by_meaning else 1
    return BIAS[at], {name: pair[at] for name, pair in ANSWER.items()}
