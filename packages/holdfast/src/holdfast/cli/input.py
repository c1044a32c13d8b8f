"""The user's message, put together from the command line, stdin and files."""

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from holdfast.cli.exit_codes import CommandEnd, Exit

STDIN = "-"


def what_is_said(prompt: str | None, files: Sequence[Path] | None = None) -> str:
    """The prompt, then what is piped in, then each file; `CommandEnd` when there is nothing."""
    pieces = [] if prompt in (None, STDIN) else [prompt]
    if prompt == STDIN or _piped():
        pieces.append(_stdin())
    pieces += [_named(path) for path in files or ()]
    text = "\n\n".join(piece for piece in pieces if piece and piece.strip())
    if not text:
        raise CommandEnd("There is nothing to say: give a prompt, or pipe one in.", Exit.USAGE)
    return text


def read_password() -> str:
    """Typed at a terminal, or else the first line of stdin."""
    if sys.stdin.isatty():
        return typer.prompt("Password", hide_input=True, err=True)
    password = sys.stdin.readline().rstrip("\n")
    if not password:
        raise CommandEnd("No password came on stdin.", Exit.USAGE)
    return password


def _piped() -> bool:
    """Whether something is piped in: a pipe or a file, but not whatever cron or ssh leave there."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _stdin() -> str:
    try:
        return sys.stdin.read().strip("\n")
    except UnicodeDecodeError:
        raise CommandEnd("What is piped in is no text.", Exit.USAGE) from None


def _named(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CommandEnd(f"{path} is not a text file.", Exit.USAGE) from None
    except OSError as error:
        raise CommandEnd(f"{path} cannot be read: {error.strerror}.", Exit.USAGE) from None
    return f"{path.name}:\n\n{text}"
