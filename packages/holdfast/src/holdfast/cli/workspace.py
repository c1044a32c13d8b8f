"""`holdfast workspace` and `holdfast templates`: places with files and processes for chats."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.options import AsJson, ChatArgument

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from holdfast.cli.client_context import ClientContext
    from holdfast_client.aio.chat import AsyncChat
    from holdfast_client.models import Workspace

workspace = typer.Typer(no_args_is_help=True, help="A chat's workspace (files and processes).")
templates = typer.Typer(no_args_is_help=True, help="The kinds of workspaces of the server.")

Ttl: TypeAlias = Annotated[
    int,
    typer.Option(
        "--ttl",
        min=0,
        metavar="SECONDS",
        help="Stop it after this idle time (0: the template's default).",
    ),
]


@templates.callback()
def _group() -> None:
    """The kinds of workspaces of the server."""


@templates.command("ls", cls=ClientCommand)
def ls(*, json: AsJson = False) -> None:
    """List workspace templates; the default is marked with a star."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.client.templates()
        if json:
            desk.screen.json([each.model_dump(mode="json") for each in found])
        elif found:
            rows = [
                (f"{each.name} *" if each is found[0] else each.name, each.description)
                for each in found
            ]
            desk.screen.table(("NAME", "DESCRIPTION"), rows)
        else:
            desk.screen.note("This server offers no workspaces.")

    at_desk(work)


@workspace.command("show", cls=ClientCommand)
def show(chat: ChatArgument = "@last", *, json: AsJson = False) -> None:
    """Show the chat's workspace."""

    async def work(desk: "ClientContext") -> None:
        found = await (await desk.chat(chat)).workspace()
        if json:
            desk.screen.json(None if found is None else found.model_dump(mode="json"))
        elif found is None:
            desk.screen.note("The chat has no workspace.")
        else:
            _say(desk, found)

    at_desk(work)


@workspace.command("create", cls=ClientCommand)
def create(
    chat: ChatArgument = "@last",
    *,
    template: Annotated[
        str | None, typer.Option("--template", "-t", help="One of `holdfast templates ls`.")
    ] = None,
    ttl: Ttl = 0,
    json: AsJson = False,
) -> None:
    """Create or start the chat's workspace."""
    _change(chat, lambda found: found.create_workspace(template, ttl_s=ttl), json=json)


@workspace.command("start", cls=ClientCommand)
def start(chat: ChatArgument = "@last", *, json: AsJson = False) -> None:
    """Start the workspace again with its files."""
    _change(chat, lambda found: found.start_workspace(), json=json)


@workspace.command("stop", cls=ClientCommand)
def stop(chat: ChatArgument = "@last", *, json: AsJson = False) -> None:
    """Stop the workspace and its processes; its files are kept."""
    _change(chat, lambda found: found.stop_workspace(), json=json)


@workspace.command("delete", cls=ClientCommand)
def delete(chat: ChatArgument, *, json: AsJson = False) -> None:
    """Delete the workspace and all its files."""
    _change(chat, lambda found: found.delete_workspace(), json=json)


def _change(
    chat: str, change: "Callable[[AsyncChat], Awaitable[Workspace]]", *, json: bool
) -> None:
    async def work(desk: "ClientContext") -> None:
        changed = await change(await desk.chat(chat))
        if json:
            desk.screen.json(changed.model_dump(mode="json"))
        else:
            _say(desk, changed)

    at_desk(work)


def _say(desk: "ClientContext", found: "Workspace") -> None:
    desk.screen.answer(f"{found.status} {found.workspace_id} from {found.template}")
    if found.stops_at is not None:
        desk.screen.note(f"Stops at {found.stops_at:%Y-%m-%d %H:%M} UTC unless something happens.")
    if found.error is not None:
        desk.screen.note(found.error)
