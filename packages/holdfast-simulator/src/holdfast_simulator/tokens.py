"""Counting tokens, and cutting text into the deltas that carry them.

Not a tokenizer: four bytes are a token. What matters is that the count repeats and adds up, so the
tokens of a reply are the sum over its deltas, and a stream cut anywhere has an exact bill.
"""

import re
from typing import Final

BYTES_PER_TOKEN: Final = 4
JSON_CHARS: Final = 9
WORD: Final = re.compile(r"\s*\S+|\s+")


def count(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
    return -(-size // BYTES_PER_TOKEN)


def json_deltas(text: str, number: int | None = None) -> list[str]:
    """JSON has few spaces, so it comes in pieces of a fixed length, as models send it."""
    if number is None:
        number = -(-len(text) // JSON_CHARS)
    return deltas(text, number)


def deltas(text: str, number: int | None = None) -> list[str]:
    """The text in pieces that join to it: word by word, or in `number` pieces of equal length."""
    if not text:
        return []
    if number is None:
        return WORD.findall(text)
    size = -(-len(text) // max(1, number))
    return [text[at : at + size] for at in range(0, len(text), size)]
