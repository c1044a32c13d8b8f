"""The modes of `holdfast lab eval` that need no model."""

import asyncio
from pathlib import Path
from typing import Annotated, Literal

import typer


def oracle(
    *,
    tasks: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Names, a difficulty, or a category; default: all."),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Folder of tasks (default: our own)."),
    ] = None,
    sandbox: Annotated[
        Literal["bubblewrap", "external"], typer.Option(help="Around the verifiers.")
    ] = "bubblewrap",
) -> None:
    """Check tasks without a model: the solution must get reward 1, and an empty run 0.

    Exit code 1: a task is wrong.
    """
    from holdfast.cli.exit_codes import Exit
    from holdfast.cli.process import say
    from holdfast.domain.errors import HoldfastError
    from holdfast_lab.eval.oracle import check_tasks
    from holdfast_lab.eval.tasks import OWN_TASKS, find_tasks

    try:
        checks = asyncio.run(check_tasks(find_tasks(folder or OWN_TASKS, tasks or ()), sandbox))
    except HoldfastError as wrong:
        say(str(wrong))
        raise typer.Exit(Exit.FAILED) from None
    for each in checks:
        verdict = "ok" if each.holds else f"WRONG: {each.said}"
        typer.echo(f"{each.task:<20} empty {each.empty:g}  solved {each.solved:g}  {verdict}")
    wrong_ones = [each.task for each in checks if not each.holds]
    typer.echo(f"{len(checks) - len(wrong_ones)} of {len(checks)} tasks hold.")
    if wrong_ones:
        raise typer.Exit(Exit.FAILED)


def swebench(
    rows: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="Rows as JSON lines or a JSON list.")
    ],
    *,
    into: Annotated[Path, typer.Option(help="Folder for the tasks.")],
    repositories: Annotated[
        str, typer.Option(help="Where `owner/name` is cloned from: a URL or a folder.")
    ] = "https://github.com",
    test_command: Annotated[
        str, typer.Option(help="How tests are run; their names are added.")
    ] = "python3 -m pytest -q -p no:cacheprovider",
    image: Annotated[
        str, typer.Option(help="Image of the Dockerfile, for Harbor; {id} is the row's.")
    ] = "python:3.12",
) -> None:
    """Turn rows of SWE-bench into task folders.

    Exit code 1: a row lacks a field.
    """
    from holdfast.cli.exit_codes import Exit
    from holdfast.cli.process import say
    from holdfast.domain.errors import HoldfastError
    from holdfast_lab.eval.swebench import Adapter, read_rows

    adapter = Adapter(repositories=repositories, test_command=test_command, image=image)
    try:
        made = [adapter.write(row, into) for row in read_rows(rows)]
    except HoldfastError as wrong:
        say(str(wrong))
        raise typer.Exit(Exit.FAILED) from None
    typer.echo(f"{len(made)} tasks are in {into}.")
