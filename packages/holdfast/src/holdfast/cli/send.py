"""`holdfast send` and `holdfast wait`: say something to a chat; wait until it has settled."""

import asyncio
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import (
    AsJson,
    ChatArgument,
    Effort,
    Files,
    Model,
    OutFile,
    Plan,
    Prompt,
    Quiet,
    TimeoutS,
    Web,
)

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext


class WhenBusy(StrEnum):
    QUEUE = "queue"
    INTERRUPT = "interrupt"


class Until(StrEnum):
    SETTLED = "settled"
    IDLE = "idle"
    NEEDS_ACTION = "needs-action"


def send(
    chat: ChatArgument,
    *,
    prompt: Prompt = None,
    when_busy: Annotated[
        WhenBusy,
        typer.Option("--when-busy", help="While a turn runs: queue the message, or stop the turn."),
    ] = WhenBusy.QUEUE,
    model: Model = None,
    effort: Effort = None,
    web: Web = None,
    plan: Plan = None,
    files: Files = None,
    json: AsJson = False,
) -> None:
    """Send a message and exit. The message starts a turn or is queued."""

    async def work(desk: "ClientContext") -> None:
        from holdfast.cli.input import what_is_said

        said = what_is_said(prompt, files)
        found = await desk.chat(chat)
        turn = await found.send(
            said,
            when_busy=when_busy.value,
            model=model,
            effort=effort,
            web=web,
            plan_mode=plan,
        )
        done = turn.receipt
        if json:
            desk.screen.json(done.model_dump(mode="json"))
        elif done.queued_id is not None:
            desk.screen.answer(f"queued {done.queued_id}")
        else:
            desk.screen.answer(f"sent {done.message_seq}")

    at_desk(work)


def wait(
    chat: ChatArgument = "@last",
    *,
    until: Annotated[
        Until, typer.Option("--until", help="settled: the turn ended or needs input.")
    ] = Until.SETTLED,
    timeout_s: TimeoutS = None,
    json: AsJson = False,
    quiet: Quiet = False,
    output: OutFile = None,
) -> None:
    """Wait until a chat's turn has ended or needs input, and print the answer.

    Exit codes: 0 done, 3 needs action, 7 the agent ended in an error, 124 timeout.
    """

    async def work(desk: "ClientContext") -> Exit | None:
        from holdfast.cli.exit_codes import of_turn, rests_unanswered
        from holdfast.cli.render.live import asked_for

        found = await desk.chat(chat)
        goal = "needs_action" if until is Until.NEEDS_ACTION else until.value
        try:
            async with asyncio.timeout(timeout_s):
                reply = await found.wait(until=goal)
        except TimeoutError:
            raise CommandEnd(
                "It did not happen in time; nothing was stopped.", Exit.TIMEOUT
            ) from None
        ending = reply.messages[-1].finish_reason if reply.messages else None
        if rests_unanswered(reply.status, found.view.raw.messages):
            ending = "interrupted"
        error = None if reply.error is None else reply.error.model_dump(mode="json")
        code = of_turn(reply.status, error, ending)
        if json:
            desk.screen.json(
                {
                    "chat_id": reply.chat_id,
                    "status": reply.status,
                    "exit": int(code),
                    "text": reply.text,
                    "error": error,
                    "action_required": reply.action_required
                    and reply.action_required.model_dump(mode="json"),
                }
            )
        elif reply.text:
            desk.screen.answer(reply.text)
        if reply.error is not None:
            desk.screen.note(f"error: {reply.error.message}", "red")
        if reply.action_required is not None and not quiet:
            for line in asked_for(reply.action_required.model_dump(mode="json"), chat):
                desk.screen.note(line, "yellow")
        return code

    at_desk(work, to=output)
