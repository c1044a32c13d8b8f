"""The command `holdfast lab eval`. Heavy imports are inside functions: see `cli/app.py`."""

from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import typer

WHAT: Final = partial(typer.Option, rich_help_panel="What is run")
LIMITS: Final = partial(typer.Option, rich_help_panel="Limits")
SERVER: Final = partial(typer.Option, rich_help_panel="Server")
REPORT: Final = partial(typer.Option, rich_help_panel="Report")

Model: TypeAlias = Annotated[
    str | None, WHAT(help="Name of a configured model (default: the default model).")
]
Tasks: TypeAlias = Annotated[
    list[str] | None,
    WHAT(metavar="PATTERN", help="Names, with * and ?, a difficulty, or a category; default: all."),
]
Folder: TypeAlias = Annotated[
    Path | None, WHAT(exists=True, file_okay=False, help="Folder of tasks (default: our own).")
]
Runs: TypeAlias = Annotated[int, WHAT(min=1, help="Runs of each task in each arm.")]
Arms: TypeAlias = Annotated[
    list[str] | None,
    WHAT("--arm", metavar="NAME=FILE", help="Also run with the settings of this TOML file."),
]
Durability: TypeAlias = Annotated[
    bool,
    WHAT("--durability", help="Run each arm a second time while server and agent are killed."),
]
Scripted: TypeAlias = Annotated[
    bool, WHAT("--scripted", help="A scripted solver instead of a model: four tasks, no key.")
]
Parallel: TypeAlias = Annotated[int, LIMITS(min=1, max=64, help="Runs at once.")]
CostMax: TypeAlias = Annotated[
    float, LIMITS(min=0.01, help="Dollars for all runs together; then runs are stopped.")
]
Floor: TypeAlias = Annotated[
    float | None, LIMITS(min=0, max=1, help="Exit code 1 if pass@1 of an arm is below this.")
]
Url: TypeAlias = Annotated[
    str, SERVER(help="Use this running server on this machine; needs --workspaces.")
]
Key: TypeAlias = Annotated[
    str, SERVER(envvar="HOLDFAST_API_KEY", help="API key for the server of --url.")
]
Workspaces: TypeAlias = Annotated[
    Path | None,
    SERVER(exists=True, file_okay=False, help="HOLDFAST_WORKSPACES_FOLDER of that server."),
]
Template: TypeAlias = Annotated[str, SERVER(help="Its template of kind `local`.")]
SandboxName: TypeAlias = Annotated[
    Literal["bubblewrap", "external"],
    SERVER("--sandbox", help="Around commands and verifiers; external: none, the machine is one."),
]
Json: TypeAlias = Annotated[Path | None, REPORT(metavar="FILE", help="Write report.json here.")]
Html: TypeAlias = Annotated[Path | None, REPORT(metavar="FILE", help="Write the page here.")]


def eval_(
    context: typer.Context,
    *,
    model: Model = None,
    tasks: Tasks = None,
    folder: Folder = None,
    runs: Runs = 3,
    arm: Arms = None,
    durability: Durability = False,
    scripted: Scripted = False,
    parallel: Parallel = 4,
    cost_max: CostMax = 20.0,
    floor: Floor = None,
    url: Url = "",
    key: Key = "",
    workspaces: Workspaces = None,
    template: Template = "local",
    sandbox: SandboxName = "bubblewrap",
    json: Json = None,
    html: Html = None,
) -> None:
    """Measure how well a model solves tasks with Holdfast's prompt and tools.

    Starts a server and a PostgreSQL server of its own, with the models of HOLDFAST_MODELS or
    HOLDFAST_MODELS_FILE, and removes them afterwards. Each run is a chat with a workspace; a
    verifier gives it a reward from 0 to 1.

    Exit codes: 0 measured, 1 below --floor or the measurement failed, 2 wrong usage.
    """
    if context.invoked_subcommand is not None:
        return
    from holdfast_lab.commands.eval.measured import Wish, measured

    _check(url=url, key=key, workspaces=workspaces, arms=arm, own=durability or scripted)
    if scripted and (model or folder):
        raise typer.BadParameter("--scripted chooses the model and the folder of tasks.")
    measured(
        Wish(
            model=model,
            tasks=tuple(tasks or ()),
            folder=folder,
            runs=runs,
            arms=tuple(arm or ()),
            durability=durability,
            scripted=scripted,
            parallel=parallel,
            cost_max=cost_max,
            floor=floor,
            url=url.rstrip("/"),
            key=key,
            workspaces=workspaces,
            template=template,
            sandbox=sandbox,
            json=json,
            html=html,
        )
    )


def _check(
    *, url: str, key: str, workspaces: Path | None, arms: list[str] | None, own: bool
) -> None:
    if not url:
        return
    if arms or own:
        raise typer.BadParameter("--arm, --durability and --scripted need a server of their own.")
    if not key:
        raise typer.BadParameter("--url needs --key, or HOLDFAST_API_KEY.")
    if workspaces is None:
        raise typer.BadParameter("--url needs --workspaces.")
