"""`holdfast admin chats`: the chats of the organisation, without what they say."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext

chats = typer.Typer(no_args_is_help=True, help="The chats of all users of the organisation.")


@chats.command("list", cls=ClientCommand)
@chats.command("ls", cls=ClientCommand, hidden=True)
def list_chats(
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of chats.")
    ] = 50,
    json: AsJson = False,
) -> None:
    """List chats, last updated first."""

    async def work(desk: "ClientContext") -> None:
        found = []
        async for chat in desk.client.organization.chats.list():
            found.append(chat)
            if len(found) == limit:
                break
        if json:
            desk.screen.json([chat.model_dump(mode="json") for chat in found])
            return
        rows = [
            (chat.id, chat.status, chat.owner_id, chat.updated_at.isoformat(timespec="seconds"))
            for chat in found
        ]
        desk.screen.table(("CHAT", "STATUS", "OWNER", "UPDATED"), rows)

    at_desk(work)


@chats.command("stop", cls=ClientCommand)
def stop(
    chat: Annotated[str, typer.Argument(metavar="CHAT", help="A chat's id.")],
    *,
    json: AsJson = False,
) -> None:
    """End the turn of any user's chat and pause its queue; the audit log gets an entry."""

    async def work(desk: "ClientContext") -> None:
        receipt = await desk.client.organization.chats.stop(chat)
        if json:
            desk.screen.model(receipt)
        else:
            desk.screen.note(f"Stopped {chat}.", "")

    at_desk(work)
