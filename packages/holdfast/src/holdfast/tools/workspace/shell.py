"""Whether a shell command puts itself into the background: a trailing `&`, and nothing else (L98).

A shell that ends right after `server &` would take the server with it. So the `&` is taken off and
the whole command becomes a process of its own, with a number by which it can be asked for.

Only as much of the shell's grammar is read as it takes to tell that `&` from all others: quotes,
escapes, comments, substitutions, parentheses and operators. Where shells differ, or something is
left open, or a here-document begins, the command stays as it is.
"""

from typing import Final

OPERATORS: Final = (
    *(";;&", "<<-", "<<<", "&>>"),
    *("&&", "||", "|&", ";;", ";&", ">&", "<&", "<>", ">>", ">|", "&>", "<<"),
    *("&", "|", ";", "<", ">", "(", ")", "\n"),
)
"""Longest first: what begins like a shorter one is read whole."""
BLANKS: Final = " \t"
ENDS_WORD: Final = frozenset(" \t\n;&|<>()")


class _Unclear(Exception):
    """Not ours to judge: the command stays as it is."""


def without_ampersand(command: str) -> str | None:
    """The command without the `&` that puts all of it into the background; None: there is none."""
    try:
        at = _ShellReader(command).last_ampersand()
    except _Unclear:
        return None
    if at is None:
        return None
    rest = command[at + 1 :]
    # A comment, or the end of a line that goes on, must not become a part of the last word.
    return command[:at] + (" " if rest.startswith(("#", "\\")) else "") + rest


class _ShellReader:
    """Reads a command once, from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def last_ampersand(self) -> int | None:
        """Where the `&` stands after which nothing follows."""
        found: int | None = None
        follows_command = False
        depth = 0
        while (token := self._token()) is not None:
            begins, operator = token
            if operator == "\n" and found is not None:
                continue
            found = None
            depth += (operator == "(") - (operator == ")")
            if depth < 0:
                raise _Unclear  # a pattern of `case`, or a mistake
            if operator == "&" and follows_command and depth == 0:
                found = begins
            follows_command = operator in {"", ")"}
        if depth:
            raise _Unclear
        return found

    def _token(self) -> tuple[int, str] | None:
        """Where the next token begins, and which operator it is; a word is no operator: `""`."""
        self._skip_blanks()
        begins = self._at
        if begins >= len(self._text):
            return None
        for operator in OPERATORS:
            if self._text.startswith(operator, begins):
                if operator in {"<<", "<<-"}:
                    raise _Unclear  # a here-document: what follows is text, up to a line of its own
                self._at += len(operator)
                return begins, operator
        self._word()
        return begins, ""

    def _skip_blanks(self) -> None:
        """Blanks, continued lines and comments."""
        text = self._text
        while self._at < len(text):
            if text[self._at] in BLANKS:
                self._at += 1
            elif text.startswith("\\\n", self._at):
                self._at += 2
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return

    def _word(self) -> None:
        while self._at < len(self._text) and self._text[self._at] not in ENDS_WORD:
            self._piece()

    def _piece(self) -> None:
        """A letter, or something in quotes, or a substitution."""
        match self._text[self._at]:
            case "\\":
                self._take(2)
            case "'":
                self._at = self._closing("'", self._at + 1) + 1
            case '"':
                self._at += 1
                self._until('"')
            case "`":
                self._at += 1
                self._until("`")
            case "$":
                self._dollar()
            case _:
                self._at += 1

    def _dollar(self) -> None:
        match self._text[self._at + 1 : self._at + 2]:
            case "'":
                raise _Unclear  # escapes in bash, none in others
            case "(":
                self._at += 2
                self._parentheses()
            case "{":
                self._at += 2
                self._until("}")
            case _:
                self._at += 1

    def _until(self, end: str) -> None:
        """Past the closing mark, and past whatever is nested before it."""
        inside_quotes = end == '"'
        while True:
            if self._at >= len(self._text):
                raise _Unclear
            letter = self._text[self._at]
            if letter == end:
                self._at += 1
                return
            if letter == "'" and inside_quotes:
                self._at += 1  # a letter like any other
            elif letter in "\\\"'`$":
                self._piece()
            else:
                self._at += 1

    def _parentheses(self) -> None:
        """Past the `)` that closes a substitution."""
        depth = 1
        while depth:
            token = self._token()
            if token is None:
                raise _Unclear
            depth += (token[1] == "(") - (token[1] == ")")

    def _take(self, number: int) -> None:
        if self._at + number > len(self._text):
            raise _Unclear
        self._at += number

    def _closing(self, mark: str, after: int) -> int:
        at = self._text.find(mark, after)
        if at < 0:
            raise _Unclear
        return at
