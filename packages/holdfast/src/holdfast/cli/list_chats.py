"""`holdfast list`: the chats that one may read."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.options import AsJson, Metadata, metadata_pairs

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext


def list_chats(
    *,
    search: Annotated[str | None, typer.Option(help="Words of the title.")] = None,
    label: Annotated[str | None, typer.Option(help="Only with this label.")] = None,
    metadata: Metadata = None,
    status: Annotated[
        str | None, typer.Option(help="idle, running, interrupting, awaiting or failed.")
    ] = None,
    shared: Annotated[
        bool | None,
        typer.Option("--shared/--mine", help="Only chats shared with you, or only your own."),
    ] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Archived chats.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of entries.")
    ] = 30,
    json: AsJson = False,
    ids: Annotated[bool, typer.Option("--ids", help="Only whole ids, one per line.")] = False,
) -> None:
    """List chats, the last one written to first."""
    pairs = metadata_pairs(metadata)

    async def work(desk: "ClientContext") -> None:
        from holdfast.cli.render.entries import HEAD, entry_row

        listed = desk.client.chats.list(
            search=search,
            label=label,
            metadata=pairs or None,
            archived=archived,
            owner=None if shared is None else "others" if shared else "me",
            status=status,
            limit=limit,
        )
        found = [entry async for entry in listed]
        screen = desk.screen
        if json:
            screen.json([entry.model_dump(mode="json") for entry in found])
        elif ids:
            for entry in found:
                screen.answer(entry.id)
        elif found:
            screen.table(HEAD, [entry_row(entry, whole=not screen.live) for entry in found])
        else:
            screen.note("There are none.")

    at_desk(work)
