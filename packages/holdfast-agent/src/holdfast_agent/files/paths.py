r"""How a path is said and how it is shown.

A path is relative to the workspace's folder. An absolute one that begins with that folder, by the
name that processes know it by or the one that the agent does, is taken as the rest of it. `..` and
links are left to the kernel: what they mean depends on the files.

A name may hold line breaks, terminal escapes, marks that turn the writing direction and bytes that
are no UTF-8. Shown as they are they would lie, so such a path is shown in double quotes with
escapes: `"a\nb"`, `"\x1b[2J"`, `"\u202etxt"`; `\xNN` is a byte, `\uNNNN` and `\UNNNNNNNN` a
character. A path in double quotes is read in the same way, so what was shown can be said.
"""

import os
import re
from collections.abc import Mapping
from typing import Final

SHOWN_CHARS_MAX: Final = 4096
"""As many as the wire carries."""
LONG: Final = "Paths of more than 4,096 characters are left out."
_LETTERS: Final[Mapping[str, str]] = {
    "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r",
    '"': '"', "\\": "\\",
}  # fmt: skip
_MEANT: Final = {letter: char for char, letter in _LETTERS.items()}
_ESCAPE: Final = re.compile(r'\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([abtnvfr"\\]))')
_QUOTED: Final = re.compile(rf'"(?:[^"\\]|{_ESCAPE.pattern})*"')


class BadPath(Exception):
    """It cannot be a path; the words say why."""


class OutsidePath(Exception):
    """An absolute path of somewhere else."""


def shown(path: str) -> str:
    """As people and models see it, in one line and without surprises."""
    if path.isprintable() and not path.startswith('"'):
        return path
    return f'"{"".join(_escaped(char) for char in path)}"'


def _escaped(char: str) -> str:
    if char in _LETTERS:
        return "\\" + _LETTERS[char]
    if char.isprintable():
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unquoted(said: str) -> str:
    if len(said) < 2 or not _QUOTED.fullmatch(said):
        return said
    return _ESCAPE.sub(_meant, said[1:-1])


def _meant(escape: re.Match[str]) -> str:
    byte, short, long, letter = escape.groups()
    if letter:
        return _MEANT[letter]
    if byte:
        return os.fsdecode(bytes([int(byte, 16)]))
    code = int(short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise BadPath("there is no such character as in its escapes")
    return chr(code)


def relative(said: str, roots: tuple[str, ...]) -> str:
    """The path from the root, without needless steps; `.` is the root. `..` stays as it is."""
    path = unquoted(said)
    if "\0" in path:
        raise BadPath("no name can hold a NUL")
    if path.startswith("/"):
        path = _stripped(path, roots)
    steps = [step for step in path.split("/") if step not in ("", ".")]
    return "/".join(steps) or "."


def _stripped(path: str, roots: tuple[str, ...]) -> str:
    for root in roots:
        if path == root or path.startswith(root.rstrip("/") + "/"):
            return path[len(root) :]
    raise OutsidePath(path)


def joined(folder: str, name: str) -> str:
    return name if folder in ("", ".") else f"{folder}/{name}"
