"""Commands of other distributions: each entry point of the group `holdfast.commands` is one."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, Final

import typer

GROUP: Final = "holdfast.commands"
OF_THE_LAB: Final = ("prove", "bench")
"""Commands that people look for, and that only a test machine has."""
EXIT_NOT_INSTALLED: Final = 2


def plug_in(app: typer.Typer, *, rich_help_panel: str) -> None:
    """Add the commands that are installed. A command of the lab that is not installed says how to
    install it."""
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    for name, entry in sorted(found.items()):
        command = entry.load()
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=rich_help_panel)
        else:
            app.command(name, rich_help_panel=rich_help_panel)(command)
    for name in OF_THE_LAB:
        if name not in found:
            app.command(
                name,
                hidden=True,
                context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
            )(_not_installed(name))


def _not_installed(name: str) -> Callable[..., Any]:
    def missing() -> None:
        hint = f"holdfast {name} is part of the lab: pip install 'holdfast[lab]'"
        typer.echo(hint, err=True)
        raise typer.Exit(EXIT_NOT_INSTALLED)

    return missing
