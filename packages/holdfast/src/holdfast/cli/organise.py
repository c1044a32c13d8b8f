"""Keep chats in order: titles, pins, labels, metadata, the archive, forks and shares."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import AsJson, ChatArgument, metadata_pairs
from holdfast.domain.public_ids import USER_ID, WrongId

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext


def rename(
    chat: ChatArgument,
    title: Annotated[
        str | None,
        typer.Argument(metavar="[TITLE]", help="Without a title the server may choose one."),
    ] = None,
    *,
    json: AsJson = False,
) -> None:
    """Give a chat a title."""

    async def work(desk: "ClientContext") -> None:
        entry = await (await desk.chat(chat)).update(title=title)
        if json:
            desk.screen.model(entry)

    at_desk(work)


def pin(chat: ChatArgument, *, json: AsJson = False) -> None:
    """Pin a chat in your list."""
    _pin(chat, pinned=True, json=json)


def unpin(chat: ChatArgument, *, json: AsJson = False) -> None:
    """Unpin a chat."""
    _pin(chat, pinned=False, json=json)


def _pin(chat: str, *, pinned: bool, json: bool) -> None:
    async def work(desk: "ClientContext") -> None:
        entry = await (await desk.chat(chat)).update(pinned=pinned)
        if json:
            desk.screen.model(entry)

    at_desk(work)


def label(
    chat: ChatArgument,
    labels: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LABEL]...", help="The labels; none prints those of the chat."),
    ] = None,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Remove these labels.")] = False,
    replace: Annotated[
        bool, typer.Option("--set", help="These labels and no others; none removes all.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Add labels to a chat."""
    if remove and replace:
        raise typer.BadParameter("Give either --remove or --set.")
    if remove and not labels:
        raise typer.BadParameter("--remove needs at least one label.")

    async def work(desk: "ClientContext") -> None:
        found = await desk.chat(chat)
        if not labels and not replace:
            present = await found.refresh()
            if json:
                desk.screen.model(present)
            else:
                for each in present.labels:
                    desk.screen.answer(each)
            return
        kept = [] if replace else (await found.refresh()).labels
        entry = await found.update(labels=labels_after(kept, labels or [], remove=remove))
        if json:
            desk.screen.model(entry)

    at_desk(work)


def labels_after(kept: list[str], given: list[str], *, remove: bool) -> list[str]:
    """The labels without those given, or with them: each once, in the order of their addition."""
    if remove:
        return [each for each in kept if each not in given]
    return list(dict.fromkeys([*kept, *given]))


def metadata(
    chat: ChatArgument,
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="The pairs; none prints those of the chat."),
    ] = None,
    *,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="KEY", help="Remove this key.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Set metadata of a chat: pairs of texts for programs. Other pairs stay."""
    changes: dict[str, str | None] = {**metadata_pairs(pairs), **dict.fromkeys(remove or [])}

    async def work(desk: "ClientContext") -> None:
        found = await desk.chat(chat)
        entry = await (found.update(metadata=changes) if changes else found.refresh())
        if json:
            desk.screen.model(entry)
        elif not changes:
            for key, value in entry.metadata.items():
                desk.screen.answer(f"{key}={value}")

    at_desk(work)


def archive(chat: ChatArgument, *, json: AsJson = False) -> None:
    """Archive a chat; it accepts no commands until it is unarchived."""

    async def work(desk: "ClientContext") -> None:
        done = await (await desk.chat(chat)).archive()
        if json:
            desk.screen.model(done)

    at_desk(work)


def unarchive(chat: ChatArgument, *, json: AsJson = False) -> None:
    """Unarchive a chat."""

    async def work(desk: "ClientContext") -> None:
        done = await (await desk.chat(chat)).unarchive()
        if json:
            desk.screen.model(done)

    at_desk(work)


def fork(
    chat: ChatArgument,
    *,
    at: Annotated[
        int | None, typer.Option(min=1, help="The last message to copy (default: all).")
    ] = None,
    json: AsJson = False,
) -> None:
    """Start a new chat with the history of another one and print its id."""

    async def work(desk: "ClientContext") -> None:
        forked = await (await desk.chat(chat)).fork(up_to_seq=at)
        if json:
            desk.screen.model(await forked.refresh())
        else:
            desk.screen.answer(forked.id)

    at_desk(work)


def share(
    chat: ChatArgument,
    who: Annotated[
        str | None, typer.Argument(metavar="[WHO]", help="An e-mail address or a user's id.")
    ] = None,
    *,
    json: AsJson = False,
) -> None:
    """Share a chat read-only with a user; without a name, list the people with access."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.chat(chat)
        if who is not None:
            await found.share(await find_user(desk, who))
        if json:
            desk.screen.json([each.model_dump(mode="json") for each in await found.shares()])
        elif who is None:
            shares = await found.shares()
            rows = [(each.user_id, each.email or "", each.name) for each in shares]
            desk.screen.table(("USER", "E-MAIL", "NAME"), rows)

    at_desk(work)


def unshare(
    chat: ChatArgument,
    who: Annotated[str, typer.Argument(metavar="WHO", help="An e-mail address or a user's id.")],
    *,
    json: AsJson = False,
) -> None:
    """Remove a user's access to a chat."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.chat(chat)
        await found.unshare(await find_user(desk, who))
        if json:
            desk.screen.json([each.model_dump(mode="json") for each in await found.shares()])

    at_desk(work)


async def find_user(desk: "ClientContext", who: str) -> str:
    """The id of the user with this e-mail address; an id is returned as it is."""
    with suppress(WrongId):
        return USER_ID.encode(USER_ID.decode_or_uuid(who))
    async for user in desk.client.users.list():
        if user.email is not None and user.email.casefold() == who.casefold():
            return user.id
    raise CommandEnd(f"No user has the address {who}.", Exit.NOT_FOUND)
