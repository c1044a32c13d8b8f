"""`holdfast attach`: see a chat from its beginning, or from a cursor, and go on with it."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.interrupt_keys import rungs_attached
from holdfast.cli.options import AsJson, AsJsonl, ChatArgument, OutFile, Quiet, TimeoutS

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext


def attach(
    chat: ChatArgument = "@last",
    *,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="CURSOR", help="Resume after the event with this cursor."),
    ] = None,
    tail: Annotated[
        int | None, typer.Option(min=0, help="Show only this many earlier messages.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-F", help="Keep following after the turn has ended.")
    ] = False,
    timeout_s: TimeoutS = None,
    json: AsJson = False,
    jsonl: AsJsonl = False,
    quiet: Quiet = False,
    output: OutFile = None,
) -> None:
    """Replay a chat and follow it to the end of its turn; it reconnects automatically.

    Ctrl-C first says that the agent keeps running; the second interrupts it, d detaches.
    """

    async def work(desk: "ClientContext") -> Exit | None:
        from holdfast.cli.after_turn import print_settled
        from holdfast.cli.follow import Following, form_of, sink_for

        form = form_of(json=json, jsonl=jsonl, quiet=quiet)
        if form == "jsonl" and tail is not None:
            raise CommandEnd("--jsonl tells every event: it takes no --tail.", Exit.USAGE)
        found = await desk.chat(chat)
        following = Following(desk, found, sink_for(desk, form, found, tail=tail), rungs_attached())
        until = None if follow else "settled"
        code = await following.until(until, after=after, timeout_s=timeout_s)
        print_settled(desk.screen, form, found, code)
        return code

    at_desk(work, to=output)
