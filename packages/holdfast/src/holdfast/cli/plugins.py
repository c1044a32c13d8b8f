"""`holdfast lab`: each entry point of the group `holdfast.lab` is a command."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, Final

import typer

GROUP: Final = "holdfast.lab"
OF_THE_LAB: Final = ("prove", "bench", "eval")
"""Commands that people look for, and that only a test machine has."""
EXIT_NOT_INSTALLED: Final = 2


def lab_commands() -> typer.Typer:
    """The commands that are installed. A command of the lab that is not installed says how to
    install it."""
    lab = typer.Typer(
        no_args_is_help=True, help="For tests: a simulated provider, chaos tests, benchmarks."
    )
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    for name, entry in sorted(found.items()):
        command = entry.load()
        if isinstance(command, typer.Typer):
            lab.add_typer(command, name=name)
        else:
            lab.command(name)(command)
    for name in OF_THE_LAB:
        if name not in found:
            lab.command(
                name,
                hidden=True,
                context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
            )(_not_installed(name))
    return lab


def _not_installed(name: str) -> Callable[..., Any]:
    def missing() -> None:
        hint = f"holdfast lab {name} is not installed: pip install 'holdfast[lab]'"
        typer.echo(hint, err=True)
        raise typer.Exit(EXIT_NOT_INSTALLED)

    return missing
