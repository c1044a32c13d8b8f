"""`rename`, `pin`, `label`, `archive`, `unarchive`, `fork`, `share`: keep chats in order."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import AsJson, ChatArgument

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext


def rename(
    chat: ChatArgument,
    title: Annotated[
        str | None,
        typer.Argument(metavar="[TITLE]", help="Without a title the server may choose one."),
    ] = None,
) -> None:
    """Give a chat a title."""

    async def work(desk: "ClientContext") -> None:
        await (await desk.chat(chat)).rename(title)

    at_desk(work)


def pin(
    chat: ChatArgument, *, off: Annotated[bool, typer.Option("--off", help="Unpin it.")] = False
) -> None:
    """Pin a chat in your list."""

    async def work(desk: "ClientContext") -> None:
        await (await desk.chat(chat)).pin(not off)

    at_desk(work)


def label(
    chat: ChatArgument,
    labels: Annotated[
        list[str] | None, typer.Argument(metavar="[LABEL]...", help="The labels; none removes all.")
    ] = None,
    *,
    add: Annotated[bool, typer.Option("--add", help="Keep the existing labels.")] = False,
) -> None:
    """Give a chat these labels and no others."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.chat(chat)
        kept = (await found.info()).labels if add else []
        await found.label(list(dict.fromkeys([*kept, *(labels or ())])))

    at_desk(work)


def archive(chat: ChatArgument) -> None:
    """Archive a chat; it accepts no commands until it is unarchived."""

    async def work(desk: "ClientContext") -> None:
        await (await desk.chat(chat)).archive()

    at_desk(work)


def unarchive(chat: ChatArgument) -> None:
    """Unarchive a chat."""

    async def work(desk: "ClientContext") -> None:
        await (await desk.chat(chat)).unarchive()

    at_desk(work)


def fork(
    chat: ChatArgument,
    *,
    at: Annotated[
        int | None, typer.Option(min=1, help="The last message to copy (default: all).")
    ] = None,
) -> None:
    """Start a new chat with the history of another one and print its id."""

    async def work(desk: "ClientContext") -> None:
        desk.screen.answer((await (await desk.chat(chat)).fork(at=at)).id)

    at_desk(work)


def share(
    chat: ChatArgument,
    who: Annotated[
        str | None, typer.Argument(metavar="[WHO]", help="An e-mail address or a user's id.")
    ] = None,
    *,
    off: Annotated[bool, typer.Option("--off", help="Remove the user's access.")] = False,
    json: AsJson = False,
) -> None:
    """Share a chat read-only with a user; without a name, list the people with access."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.chat(chat)
        if who is None:
            shares = await found.shares()
            if json:
                desk.screen.json([each.model_dump(mode="json") for each in shares])
            else:
                rows = [(each.user_id, each.email or "", each.name) for each in shares]
                desk.screen.table(("USER", "E-MAIL", "NAME"), rows)
            return
        user_id = await find_user(desk, who)
        await (found.unshare(user_id) if off else found.share(user_id))

    at_desk(work)


async def find_user(desk: "ClientContext", who: str) -> str:
    """The id of the user with this e-mail address; an id is returned as it is."""
    try:
        return str(UUID(who))
    except ValueError:
        pass
    async for user in desk.client.users.list():
        if user.email is not None and user.email.casefold() == who.casefold():
            return user.user_id
    raise CommandEnd(f"No user has the address {who}.", Exit.NOT_FOUND)
