"""Entry point of the `holdfast` command; each group of verbs is a file of its own."""

import sys

import typer

from holdfast.cli import database

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="AI agent chats that never lose a turn."
)
app.command("migrate")(database.migrate)
app.command("verify")(database.verify)


def main() -> None:
    if not __debug__:
        # The asserts are the last wall before the disk.
        sys.stderr.write("holdfast does not run under python -O: its asserts are part of it.\n")
        raise SystemExit(2)
    app()
