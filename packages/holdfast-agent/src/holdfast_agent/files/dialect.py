r"""The one language of patterns: that of ripgrep, whichever engine searches.

What ripgrep refuses is refused here before an engine sees it, in words that say what to do instead:
look-around, backreferences, line breaks, and what only Python understands (`\Z`, `(?P=name)`). What
Python spells in another way is translated for the engine without ripgrep; the little that it cannot
do at all, such as `\p{L}`, is refused by that engine alone.
"""

import re
from typing import Final

LINE_BREAK: Final = (
    "A search looks at one line at a time, so a pattern cannot contain a line break (\\n or \\r)."
    " Search for one of the lines, and set context to see the lines around it."
)
NO_LOOKING: Final = (
    "Look-around and backreferences are not supported. Search for a simpler pattern, or use"
    " execute with grep -P."
)
ESCAPE: Final = "Escape special characters such as ( [ {{ + with a backslash, or set literal=true."
WRONG: Final = "The pattern is not a valid regular expression: {error}. " + ESCAPE
NO_RIPGREP: Final = (
    "This workspace has no ripgrep, and without it {what} is not supported. Use a simpler pattern."
)
_POSIX: Final = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7f", "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": "!-/:-@\\[-`{-~", "space": "\\t\\n\\x0b\\x0c\\r ", "upper": "A-Z",
    "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_LINE_END: Final = re.compile(r"(?:\\[nr]|\\x0[aAdD])+")
_PROPERTY: Final = re.compile(r"\\[pP](?:\{[^{}]*\}|.)")
_REPEAT: Final = re.compile(r"\{ *\d+ *(?:, *\d* *)?\}")
_GROUP: Final = re.compile(r"\(\?(?:P?<([A-Za-z_]\w*)>|([a-zA-Z]*(?:-[a-zA-Z]+)?)([:)]))")
_FLAGS: Final = frozenset("imsxuUR-")
_LETTERS: Final = frozenset("aftvnrAzbBdDsSwWpPxuU")
_CODE: Final = re.compile(
    r"(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[xuU]\{([0-9A-Fa-f]+)\})"
)


class BadPattern(Exception):
    """The message is a sentence for the model."""


def wrong(error: str) -> BadPattern:
    return BadPattern(WRONG.format(error=error.rstrip(".")))


def check(pattern: str) -> None:
    """Refuse what no engine may be asked. What else is wrong, an engine finds."""
    _Reader(pattern).read()


def python(pattern: str) -> str:
    """The same pattern for `re`, or `BadPattern` if it cannot be."""
    return _Reader(pattern, translates=True).read()


class _Reader:
    def __init__(self, pattern: str, *, translates: bool = False) -> None:
        self._text = pattern
        self._at = 0
        self._translates = translates
        self._out: list[str] = []

    def read(self) -> str:
        while self._at < len(self._text):
            match self._text[self._at]:
                case "\\":
                    self._escape(in_class=False)
                case "[":
                    self._class()
                case "(":
                    self._group()
                case "{":
                    self._repeat()
                case "\n" | "\r":
                    raise BadPattern(LINE_BREAK)
                case "*" | "+" | "?":
                    self._quantifier()
                case _:
                    self._take(1)
        return "".join(self._out)

    def _take(self, count: int, instead: str | None = None) -> None:
        piece = self._text[self._at : self._at + count]
        self._out.append(piece if instead is None else instead)
        self._at += count

    def _only_ripgrep(self, what: str) -> None:
        if self._translates:
            raise BadPattern(NO_RIPGREP.format(what=f"`{what}`"))

    def _escape(self, *, in_class: bool) -> None:
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in ("n", "r") and not in_class:
            raise BadPattern(LINE_BREAK)
        if letter.isdecimal() and letter.isascii():
            raise BadPattern(NO_LOOKING)
        if letter and letter.isalnum() and letter not in _LETTERS:
            raise wrong(f"unrecognized escape sequence \\{letter}")
        if letter in ("x", "u", "U") and letter:
            self._code(in_class=in_class)
        elif letter in ("p", "P") and letter:
            self._only_ripgrep(f"\\{letter}")
            found = _PROPERTY.match(self._text, self._at)
            self._take(len(found[0]) if found else 2)
        elif letter == "z":
            self._take(2, r"\Z" if self._translates else None)
        elif letter == "b" and in_class:
            raise wrong("\\b in a character class")
        elif letter == "b" and self._text.startswith("{", self._at + 2):
            self._only_ripgrep("\\b{…}")
            self._take(len(self._text[self._at :].partition("}")[0]) + 1)
        elif letter in ("<", ">") and letter and not in_class and self._translates:
            self._take(2, r"\b(?=\w)" if letter == "<" else r"\b(?<=\w)")
        else:
            self._take(2)

    def _code(self, *, in_class: bool) -> None:
        found = _CODE.match(self._text, self._at + 1)
        if found is None:
            raise wrong("an escape with a wrong number of hexadecimal digits")
        code = int(next(digits for digits in found.groups() if digits), 16)
        if code in (0x0A, 0x0D) and not in_class:
            raise BadPattern(LINE_BREAK)
        if code > 0x10FFFF:
            raise wrong("an escape that is no character")
        length = 1 + len(found[0])
        self._take(length, re.escape(chr(code)) if self._translates else None)

    def _class(self) -> None:
        """A class in brackets, with all that is nested in it."""
        negated = self._text.startswith("[^", self._at)
        begins = self._at + (2 if negated else 1)
        self._take(begins - self._at)
        while self._at < len(self._text):
            letter = self._text[self._at]
            if letter == "]" and self._at > begins:
                if not negated and _LINE_END.fullmatch(self._text, begins, self._at):
                    raise BadPattern(LINE_BREAK)
                self._take(1)
                return
            if letter == "\\":
                self._escape(in_class=True)
            elif letter == "[":
                self._nested()
            elif self._text.startswith(("&&", "--", "~~"), self._at):
                self._only_ripgrep(self._text[self._at : self._at + 2])
                self._take(2)
            else:
                self._take(1)
        raise wrong("unclosed character class")

    def _nested(self) -> None:
        end = self._text.find(":]", self._at)
        name = self._text[self._at + 2 : end] if end >= 0 else ""
        if self._text.startswith("[:", self._at) and name in _POSIX:
            instead = _POSIX[name] if self._translates else None
            self._take(end + 2 - self._at, instead)
            return
        self._only_ripgrep("a class within a class; escape it as \\[")
        self._class()

    def _group(self) -> None:
        if not self._text.startswith("(?", self._at):
            self._take(1)
            return
        if self._text.startswith(("(?=", "(?!", "(?<=", "(?<!", "(?P=", "(?>", "(?("), self._at):
            raise BadPattern(NO_LOOKING)
        found = _GROUP.match(self._text, self._at)
        if found is None or not _FLAGS.issuperset(found[2] or ""):
            raise wrong("unrecognized flag or group")
        name, flags, end = found.groups()
        if end == ")" and not flags:
            raise wrong("unrecognized flag or group")
        if name is not None:
            self._take(len(found[0]), f"(?P<{name}>" if self._translates else None)
            return
        if set(flags or "") & set("UR"):
            self._only_ripgrep(found[0])
        if end == ")" and self._at > 0:
            self._only_ripgrep(f"{found[0]} after the beginning")
        self._take(len(found[0]))

    def _repeat(self) -> None:
        found = _REPEAT.match(self._text, self._at)
        if found is None:
            raise wrong("a { that is no repetition; write it as \\{")
        self._take(len(found[0]), found[0].replace(" ", "") if self._translates else None)
        self._after_quantifier()

    def _quantifier(self) -> None:
        self._take(1)
        self._after_quantifier()

    def _after_quantifier(self) -> None:
        """Two in a row are a repetition of a repetition in ripgrep, and something else in `re`."""
        if self._text.startswith("?", self._at):
            self._take(1)
        if self._text.startswith(("*", "+", "{"), self._at):
            self._only_ripgrep("a quantifier after a quantifier")
