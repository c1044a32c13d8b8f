"""`holdfast interrupt`, `retry` and `respond`: bring a turn to an end, or on its way."""

from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import AsJson, ChatArgument, Model

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client import AsyncChat
    from holdfast_client.models import AwaitedCall


def interrupt(chat: ChatArgument = "@last", *, json: AsJson = False) -> None:
    """Stop the turn; the text so far is kept."""

    async def work(desk: "ClientContext") -> None:
        done = await (await desk.chat(chat)).interrupt()
        if json:
            desk.screen.model(done)
        desk.screen.note("Interrupted.")

    at_desk(work)


def retry(chat: ChatArgument = "@last", *, model: Model = None, json: AsJson = False) -> None:
    """Retry after a failure, or skip the wait before the next attempt; optionally with another
    model."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.chat(chat)
        turn = await found.retry(model=model)
        if json:
            desk.screen.model(turn.receipt)
        desk.screen.note(f"It runs again: holdfast attach {found.id}")

    at_desk(work)


def respond(
    chat: ChatArgument,
    call_id: Annotated[
        str | None, typer.Argument(metavar="[CALL]", help="Which call; needed if several wait.")
    ] = None,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The answer; - reads stdin.")
    ] = None,
    *,
    text_is_json: Annotated[
        bool, typer.Option("--text-is-json", help="TEXT is a JSON value, not plain text.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Answer a question, or a tool call whose result comes from here; without one, list them."""

    async def work(desk: "ClientContext") -> Exit | None:
        found = await desk.chat(chat)
        if call_id is None:
            return await _list_awaited(desk, found, json=json)
        call, said = call_id, text
        if said is None:
            call, said = (await _the_one(found)).call_id, call_id
        done = await found.submit_results({call: _output(said, is_json=text_is_json)})
        if json:
            desk.screen.model(done)
        desk.screen.note("Answered; the turn goes on.")
        return None

    at_desk(work)


async def _list_awaited(desk: "ClientContext", chat: "AsyncChat", *, json: bool) -> Exit:
    info = await chat.refresh()
    if info.action_required is None:
        raise CommandEnd("This chat does not wait for input.", Exit.NOT_FOUND)
    if json:
        desk.screen.model(info.action_required)
        return Exit.NEEDS_ACTION
    needed = info.action_required.type
    rows = [(call.call_id, needed, call.tool_name) for call in info.action_required.calls]
    desk.screen.table(("CALL", "NEEDS", "TOOL"), rows)
    return Exit.NEEDS_ACTION


async def _the_one(chat: "AsyncChat") -> "AwaitedCall":
    action = (await chat.refresh()).action_required
    if action is None:
        raise CommandEnd("This chat waits for no answer.", Exit.NOT_FOUND)
    if len(action.calls) != 1:
        names = ", ".join(call.call_id for call in action.calls)
        raise CommandEnd(f"Which call? These wait: {names}.", Exit.USAGE)
    return action.calls[0]


def _output(said: str, *, is_json: bool) -> object:
    if said == "-":
        from holdfast.cli.input import what_is_said

        said = what_is_said("-")
    if not is_json:
        return said
    try:
        return orjson.loads(said)
    except ValueError as error:
        raise CommandEnd(f"That is not JSON: {error}.", Exit.USAGE) from None
