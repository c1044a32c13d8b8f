"""`holdfast workspace` and `holdfast workspace-templates`: files and processes of chats."""

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
    int | None,
    typer.Option(
        "--ttl",
        min=1,
        metavar="SECONDS",
        help="Stop it after this idle time (default: as the template says).",
    ),
]


@templates.callback()
def _group() -> None:
    """The kinds of workspaces of the server."""


@templates.command("list", cls=ClientCommand)
@templates.command("ls", cls=ClientCommand, hidden=True)
def list_templates(*, json: AsJson = False) -> None:
    """List workspace templates; the default is marked with a star."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.client.workspace_templates.list()
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


@workspace.command("get", cls=ClientCommand)
def get(chat: ChatArgument = "@last", *, json: AsJson = False) -> None:
    """Show the chat's workspace."""

    async def work(desk: "ClientContext") -> None:
        found = await (await desk.chat(chat)).workspace.retrieve()
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
        str | None,
        typer.Option("--template", "-t", help="One of `holdfast workspace-templates list`."),
    ] = None,
    ttl: Ttl = None,
    json: AsJson = False,
) -> None:
    """Create or start the chat's workspace."""
    _change(chat, lambda found: found.workspace.create(template, ttl_seconds=ttl), json=json)


@workspace.command("start", cls=ClientCommand)
def start(chat: ChatArgument = "@last", *, json: AsJson = False) -> None:
    """Start the workspace again with its files."""
    _change(chat, lambda found: found.workspace.start(), json=json)


@workspace.command("stop", cls=ClientCommand)
def stop(chat: ChatArgument = "@last", *, json: AsJson = False) -> None:
    """Stop the workspace and its processes; its files are kept."""
    _change(chat, lambda found: found.workspace.stop(), json=json)


@workspace.command("delete", cls=ClientCommand)
@workspace.command("rm", cls=ClientCommand, hidden=True)
def delete(chat: ChatArgument, *, json: AsJson = False) -> None:
    """Delete the workspace and all its files."""
    _change(chat, lambda found: found.workspace.delete(), json=json)


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
    desk.screen.answer(f"{found.status} {found.id} from {found.template}")
    if found.auto_stop_at is not None:
        desk.screen.note(
            f"Stops at {found.auto_stop_at:%Y-%m-%d %H:%M} UTC unless something happens."
        )
    if found.error is not None:
        desk.screen.note(found.error)
