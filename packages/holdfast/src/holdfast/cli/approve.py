"""`holdfast approve` and `holdfast deny`: see what a turn wants to run, and decide about that."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import orjson
import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import AsJson, ChatArgument

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.cli.client_context import ClientContext
    from holdfast_client import AsyncChat
    from holdfast_client.models import ActionRequired, Receipt, ToolCallPart

Verdict: TypeAlias = Literal["approve", "deny"]
YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no"})
ASK: Final = "Run it? [y]es, [n]o, or Enter to leave it: "
CallArgument: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="[CALL]", help="Which call; else all that wait.")
]
UNDECIDED: Final = "Nothing was decided about {tool}; it still waits."


def approve(
    chat: ChatArgument,
    call_id: CallArgument = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve it without asking.")] = False,
    json: AsJson = False,
) -> None:
    """Show a tool call that waits for approval, ask, and approve or deny it."""
    _decide(chat, call_id, "approve" if yes else None, json=json)


def deny(
    chat: ChatArgument,
    call_id: CallArgument = None,
    *,
    reason: Annotated[str, typer.Option("--reason", help="What the model is told.")] = "",
    json: AsJson = False,
) -> None:
    """Show a tool call that waits for approval, and deny it."""
    _decide(chat, call_id, "deny", reason=reason, json=json)


def _decide(
    chat: str, call_id: str | None, given: Verdict | None, *, reason: str = "", json: bool
) -> None:
    async def work(desk: "ClientContext") -> Exit | None:
        found = await desk.chat(chat)
        action = await _waiting(found)
        calls = [call for call in action.calls if call_id in (None, call.call_id)]
        if not calls or (given is not None and len(calls) > 1):
            names = ", ".join(call.call_id for call in action.calls)
            raise CommandEnd(f"Which call? These wait: {names}.", Exit.USAGE)
        done: Receipt | None = None
        left = False
        for awaited in calls:
            call = await found.call(awaited)
            for line in call_lines(call, action.expires_at):
                desk.screen.note(line, "")
            verdict = given or _ask()
            left = left or verdict is None
            if verdict is None:
                desk.screen.note(UNDECIDED.format(tool=awaited.tool_name))
            else:
                deciding = found.approve(call) if verdict == "approve" else found.deny(call, reason)
                done = await deciding
                word = "Denied" if verdict == "deny" else "Approved"
                desk.screen.note(f"{word}: {call.tool_name}.")
        if json and done is not None:
            desk.screen.model(done)
        return Exit.NEEDS_ACTION if left else None

    at_desk(work)


async def _waiting(chat: "AsyncChat") -> "ActionRequired":
    action = (await chat.refresh()).action_required
    if action is None or action.type != "approval":
        raise CommandEnd("This chat waits for no approval.", Exit.NOT_FOUND)
    return action


def call_lines(call: "ToolCallPart", expires_at: "datetime | None") -> Iterator[str]:
    """What a person decides about, line by line, with nothing hidden in it. Behind the bar, so that
    no argument can look like a line of ours."""
    from holdfast_client.visible import visible

    until = "" if expires_at is None else f", until {expires_at:%Y-%m-%d %H:%M} {expires_at:%Z}"
    yield f"{visible(call.tool_name)} waits for approval{until}:"
    for name, value in call.arguments.items():
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        first, *more = text.split("\n")
        yield f"  | {visible(name)}: {visible(first)}"
        yield from (f"  |   {visible(line)}" for line in more)
    if not call.arguments:
        yield "  | (no arguments)"


def _ask() -> Verdict | None:
    """None: neither. The answer needs a terminal, on which the call was shown."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CommandEnd("stdin is not a terminal: give --yes, or use `holdfast deny`.", Exit.USAGE)
    try:
        said: str = typer.prompt(ASK, default="", show_default=False, prompt_suffix="", err=True)
    except typer.Abort:  # Ctrl-C, or the end of the input
        return None
    return verdict_of(said)


def verdict_of(said: str) -> Verdict | None:
    word = said.strip().lower()
    if word in YES:
        return "approve"
    return "deny" if word in NO else None
