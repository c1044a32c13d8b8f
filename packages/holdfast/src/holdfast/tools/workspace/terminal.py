"""What a terminal would show of the output of a command, as plain lines.

Colours and other escape sequences are removed, and of a line that was written several times over
(a progress bar) the last version stays. Readers of the page see the output as it came while the
command runs; the result has these lines.
"""

import re
from typing import Final

_TO_COLUMN_1: Final = re.compile(r"\x1b\[[01]?G")
_ESCAPE: Final = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|[PX^_][^\x1b\n]*(?:\x1b\\)?"  # DCS and its like
    r"|[ -/]*[0-~]"  # two or three letters
    r")?"
)
_OVERSTRUCK: Final = re.compile(r"[^\n\x08]\x08")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def plain(text: str) -> str:
    """Text without escape sequences; a line that was overwritten counts as last written."""
    if "\x1b" in text:
        text = _ESCAPE.sub("", _TO_COLUMN_1.sub("\r", text))
    if "\r" in text:
        text = "\n".join(map(_last_version, text.split("\n")))
    return _CONTROL.sub("", _OVERSTRUCK.sub("", text))


def _last_version(line: str) -> str:
    if "\r" not in line:
        return line
    versions = [version for version in line.split("\r") if version.strip()]
    return versions[-1] if versions else ""
