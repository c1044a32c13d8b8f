"""`holdfast completion`: what a shell needs to complete commands and options."""

from enum import StrEnum
from typing import Annotated

import typer

PROGRAM = "holdfast"
VARIABLE = "_HOLDFAST_COMPLETE"


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="Which shell the script is for.")],
) -> None:
    """Print a completion script: `source <(holdfast completion bash)`."""
    # Private to Typer, whose own option prints it only for the shell that it runs in.
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value)
    typer.echo(script)
