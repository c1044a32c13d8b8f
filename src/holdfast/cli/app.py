"""Entry point of the `holdfast` command; each group of verbs is a file of its own."""

import sys
from importlib import metadata
from typing import Annotated

import typer

from holdfast.cli import database
from holdfast.cli.admin import admin
from holdfast.cli.dev.command import dev
from holdfast.cli.serve import serve
from holdfast.cli.worker import worker
from holdfast.simulator.command import simulate

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="AI agent chats that never lose a turn."
)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,  # noqa: FBT002
) -> None:
    if show:
        typer.echo(f"holdfast {metadata.version('holdfast')}")
        raise typer.Exit


app.command("dev")(dev)
app.command("migrate")(database.migrate)
app.command("verify")(database.verify)
app.command("serve")(serve)
app.command("worker")(worker)
app.add_typer(admin, name="admin")
app.command("simulate")(simulate)


def main() -> None:
    if not __debug__:
        # The asserts are the last wall before the disk.
        sys.stderr.write("holdfast does not run under python -O: its asserts are part of it.\n")
        raise SystemExit(2)
    app()
