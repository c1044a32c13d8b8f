"""Bytes of files made into text that can be told."""

from typing import Final

LINE_BYTES_MAX: Final = 8 * 1024
BINARY_LOOK_BYTES: Final = 8 * 1024
BOM: Final = b"\xef\xbb\xbf"


def looks_binary(beginning: bytes) -> bool:
    return b"\0" in beginning[:BINARY_LOOK_BYTES]


def told_line(beginning: bytes | bytearray, length: int) -> str:
    """A line without its ending, of which the beginning is given, cut if it is too long."""
    kept = bytes(beginning[: min(length, LINE_BYTES_MAX)])
    if length <= LINE_BYTES_MAX:
        return readable(kept)
    kept = whole_runes(kept)
    left = f"{length - len(kept):,} more bytes in this line"
    return f"{readable(kept)}… [{left}: use a command such as cut -c]"


def readable(text: bytes) -> str:
    return text.decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def whole_runes(text: bytes) -> bytes:
    """Without the bytes of a rune that is not whole at the end."""
    for back in range(1, min(4, len(text)) + 1):
        byte = text[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return text[:-back] if length > back else text
    return text
