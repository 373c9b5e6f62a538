"""What a value says, without what does not change it: form, case, look-alikes, marks nobody sees, the order of JSON."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import cache

_LEAD = re.compile(
    r"^(?:please )?(?:remember(?: that\b|:| -| –| —|,)?|(?:note(?: that)?|reminder|fyi|nb)(?: ?:|,| -)) +"
)
_ASCII_UNSEEN = {code: None for code in range(128) if not chr(code).isprintable() and not chr(code).isspace()}


def canonical(value: str) -> str:
    """The value as it is compared: two that read alike are one, two that say different things stay two.

    A paraphrase is another value; that it is to be remembered, and how it is marked up, says nothing. Only what is not
    ASCII is taken for the letter it looks like: `1` and `l` differ.
    """
    return _bare(_folded(_composed(value)).translate(look_alikes()))


def shape(value: str) -> str:
    """The value as it looks, capitals taken for what they look like before they are made small.

    A small letter may look like nothing of ASCII while its capital does: who compares looks at both forms.
    """
    return _bare(_folded(_composed(value).translate(look_alikes())).translate(look_alikes()))


def _composed(value: str) -> str:
    return unicodedata.normalize("NFKC", _ordered(value))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text.casefold())


def _bare(text: str) -> str:
    if text.isascii():
        seen = text.translate(_ASCII_UNSEEN)  # a tenth of the time
    else:
        seen = "".join(sign for sign in text if sign.isspace() or not _unseen(sign))
    plain = " ".join(seen.replace("`", "").replace("**", "").split())
    return _LEAD.sub("", plain).rstrip(".!")


def _unseen(sign: str) -> bool:
    # Cf: zero width, bidi, tags, soft hyphen. Cc: controls. Beside them: variation selectors and the Hangul fillers.
    return unicodedata.category(sign) in {"Cf", "Cc"} or "\ufe00" <= sign <= "\ufe0f" or sign in "\u115f\u1160\u3164"


def _ordered(value: str) -> str:
    """JSON with its keys in order; any other text as it is."""
    if not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.dumps(json.loads(value), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return value


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
