"""Text that a user decides about, with everything visible that would otherwise hide or move it.

A command may hold characters that turn the direction of writing, take no room at all, or move the
cursor: what a person reads is then not what is run.
"""

import re
import unicodedata
from typing import Final

# Beside controls, formats, surrogates, private and unassigned ones, and separators that are no
# plain space: letters and marks that are drawn as nothing.
_HIDING: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """The text on one line; what cannot be seen as itself is written as `\\u{202e}`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_NAMED.get(char) or _shown(char) for char in text)


def _shown(char: str) -> str:
    hides = char != " " and unicodedata.category(char) in _HIDING
    return f"\\u{{{ord(char):x}}}" if hides or _BLANK.match(char) else char
