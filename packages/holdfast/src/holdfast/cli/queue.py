"""`holdfast queue`: the messages that wait until a chat is free."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.options import AsJson, ChatArgument, Prompt

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext

queue = typer.Typer(no_args_is_help=True, help="Messages that wait until the chat is free.")

QueuedArgument: TypeAlias = Annotated[
    int, typer.Argument(metavar="NUMBER", help="A number from `holdfast queue list`.")
]


@queue.command("list", cls=ClientCommand)
@queue.command("ls", cls=ClientCommand, hidden=True)
def list_queue(chat: ChatArgument = "@last", *, json: AsJson = False) -> None:
    """List queued messages in order."""

    async def work(desk: "ClientContext") -> None:
        queue = (await desk.chat(chat)).queue
        waiting = await queue.list()
        if json:
            desk.screen.json([each.model_dump(mode="json") for each in waiting])
        elif waiting:
            rows = [
                (str(each.queued_id), "next" if each.send_now else "", each.text)
                for each in waiting
            ]
            desk.screen.table(("NUMBER", "", "TEXT"), rows)
            if await queue.is_paused():
                desk.screen.note(
                    "Paused: `holdfast queue resume` lets it go on, "
                    "`holdfast queue clear` empties it."
                )
        else:
            desk.screen.note("Nothing waits.")

    at_desk(work)


@queue.command("delete", cls=ClientCommand)
@queue.command("rm", cls=ClientCommand, hidden=True)
def delete(chat: ChatArgument, number: QueuedArgument, *, json: AsJson = False) -> None:
    """Delete a queued message and print it; of two simultaneous calls only one gets it."""

    async def work(desk: "ClientContext") -> None:
        taken = await (await desk.chat(chat)).queue.delete(number)
        if json:
            desk.screen.model(taken)
        else:
            desk.screen.answer(taken.text)

    at_desk(work)


@queue.command("edit", cls=ClientCommand)
def edit(
    chat: ChatArgument, number: QueuedArgument, *, prompt: Prompt = None, json: AsJson = False
) -> None:
    """Remove a queued message and queue another one at the end."""

    async def work(desk: "ClientContext") -> None:
        from holdfast.cli.input import what_is_said

        said = what_is_said(prompt)  # before anything is taken: there may be nothing to say
        found = await desk.chat(chat)
        taken = await found.queue.delete(number)
        done = (
            await found.send(
                said,
                model=taken.model,
                effort=taken.effort,
                web=taken.web,
                plan_mode=taken.plan_mode,
            )
        ).receipt
        if json:
            desk.screen.model(done)
        else:
            desk.screen.answer(
                f"sent {done.message_seq}" if done.queued_id is None else f"queued {done.queued_id}"
            )

    at_desk(work)


@queue.command("move", cls=ClientCommand)
def move(
    chat: ChatArgument,
    number: QueuedArgument,
    *,
    before: Annotated[
        int | None, typer.Option(help="Move it before this one (default: to the end).")
    ] = None,
    json: AsJson = False,
) -> None:
    """Move a queued message."""

    async def work(desk: "ClientContext") -> None:
        done = await (await desk.chat(chat)).queue.move(number, before_id=before)
        if json:
            desk.screen.model(done)

    at_desk(work)


@queue.command("send-now", cls=ClientCommand)
def send_now(chat: ChatArgument, number: QueuedArgument, *, json: AsJson = False) -> None:
    """Send a queued message now; this stops the current turn."""

    async def work(desk: "ClientContext") -> None:
        done = await (await desk.chat(chat)).queue.send_now(number)
        if json:
            desk.screen.model(done)

    at_desk(work)


@queue.command("resume", cls=ClientCommand)
def resume(chat: ChatArgument = "@last", *, json: AsJson = False) -> None:
    """Let a queue go on that Stop has paused."""

    async def work(desk: "ClientContext") -> None:
        done = await (await desk.chat(chat)).queue.resume()
        if json:
            desk.screen.model(done)

    at_desk(work)


@queue.command("clear", cls=ClientCommand)
def clear(chat: ChatArgument, *, json: AsJson = False) -> None:
    """Delete every queued message."""

    async def work(desk: "ClientContext") -> None:
        done = await (await desk.chat(chat)).queue.clear()
        if json:
            desk.screen.model(done)

    at_desk(work)
