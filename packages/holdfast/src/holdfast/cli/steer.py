"""`holdfast interrupt`, `retry`, `compact` and `respond`: bring a turn to an end, or on its way."""

from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import AsJson, ChatArgument, Model

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client import AsyncChat
    from holdfast_client.models import AwaitedCall, Receipt


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


def compact(
    chat: ChatArgument = "@last",
    *,
    keep: Annotated[
        str | None, typer.Option("--keep", help="What the summary must keep, in your words.")
    ] = None,
    undo: Annotated[
        bool,
        typer.Option("--undo", help="Go back to the history before the last summary."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Replace the earlier messages by a summary, for the model; you still see every message."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.chat(chat)
        done = await (_undo_compaction(found) if undo else found.compact(keep=keep))
        if json:
            desk.screen.model(done)
        went = "The summary is taken back." if undo else f"Compacting: holdfast attach {found.id}"
        desk.screen.note(went)

    at_desk(work)


async def _undo_compaction(chat: "AsyncChat") -> "Receipt":
    async for message in chat.messages.list(order="desc"):
        if message.role == "summary":
            return await chat.restore(message.version - 1)
    raise CommandEnd("This chat has no summary.", Exit.NOT_FOUND)


def respond(
    chat: ChatArgument,
    call_id: Annotated[
        str | None, typer.Argument(metavar="[CALL]", help="Which call; needed if several wait.")
    ] = None,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The answer; - reads stdin.")
    ] = None,
    *,
    answers: Annotated[
        list[str] | None,
        typer.Option(
            "--answer",
            "-a",
            help="To each question in turn: number or label of an option, or own words.",
        ),
    ] = None,
    text_is_json: Annotated[
        bool, typer.Option("--text-is-json", help="TEXT is a JSON value, not plain text.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Answer a question, or a tool call whose result comes from here; without one, list them."""

    async def work(desk: "ClientContext") -> Exit | None:
        found = await desk.chat(chat)
        if answers and text is not None:
            raise CommandEnd("Give TEXT or --answer, not both.", Exit.USAGE)
        if answers:
            done = await _answer(found, call_id, answers)
        elif call_id is None:
            return await _list_awaited(desk, found, json=json)
        else:
            call, said = call_id, text
            if said is None:
                call, said = (await _the_one(found)).call_id, call_id
            done = await found.submit_results({call: _output(said, is_json=text_is_json)})
        if json:
            desk.screen.model(done)
        desk.screen.note("Answered; the turn goes on.")
        return None

    at_desk(work)


async def _answer(chat: "AsyncChat", call_id: str | None, said: list[str]) -> "Receipt":
    """Answer the questions of a call of `ask_user`."""
    from holdfast.cli.questions import ASK_USER, read_answers

    if call_id is None:
        call = await _the_one(chat)
    else:
        action = (await chat.refresh()).action_required
        calls = [] if action is None else action.calls
        found = next((each for each in calls if each.call_id == call_id), None)
        if found is None:
            raise CommandEnd("This call waits for no answer.", Exit.NOT_FOUND)
        call = found
    if call.tool_name != ASK_USER:
        raise CommandEnd(f"{call.tool_name} asks no questions: give TEXT.", Exit.USAGE)
    return await chat.answer(call, *read_answers(await chat.questions(call), said))


async def _list_awaited(desk: "ClientContext", chat: "AsyncChat", *, json: bool) -> Exit:
    from holdfast.cli.questions import ASK_USER, question_lines

    info = await chat.refresh()
    if info.action_required is None:
        raise CommandEnd("This chat does not wait for input.", Exit.NOT_FOUND)
    if json:
        desk.screen.model(info.action_required)
        return Exit.NEEDS_ACTION
    for call in info.action_required.calls:
        if call.tool_name == ASK_USER and info.action_required.type == "answer":
            for question in await chat.questions(call):
                for line in question_lines(question):
                    desk.screen.note(line, "")
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
