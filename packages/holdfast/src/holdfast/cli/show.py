"""`holdfast show` and `holdfast export`: a chat as it stands, to read or to keep."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.options import AsJson, ChatArgument, OutFile

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client import AsyncChat


class Format(StrEnum):
    MD = "md"
    JSON = "json"


def show(
    chat: ChatArgument = "@last",
    *,
    tail: Annotated[int, typer.Option("--tail", "-n", min=0, help="Number of messages.")] = 20,
    json: AsJson = False,
    output: OutFile = None,
) -> None:
    """Show a chat and its last messages."""

    async def work(desk: "ClientContext") -> None:
        from rich.markdown import Markdown

        from holdfast.cli.render.entries import facts
        from holdfast.cli.render.live import LiveRenderer, LiveRendererOptions
        from holdfast.cli.render.text import safe

        screen = desk.screen
        found = await desk.chat(chat)
        info = await found.refresh()
        messages = await _messages(found, tail)
        if json:
            screen.json({"chat": info.model_dump(mode="json"), "messages": messages})
            return
        for name, value in facts(info):
            screen.answer(f"{name:<8} {value}")
        live = LiveRenderer(LiveRendererOptions(width=screen.width, live=False, marks=screen.marks))
        for message in messages:
            for ink in live.feed("message.created", message):
                if ink.to == "answer" and screen.live and ink.text.strip():
                    screen.show(Markdown(safe(ink.text)))
                elif ink.to == "answer":
                    screen.ink([ink])
                else:
                    screen.styled(ink.text, ink.style)

    at_desk(work, to=output)


def export(
    chat: ChatArgument = "@last",
    *,
    format_: Annotated[Format, typer.Option("--format", help="Markdown, or all of it.")] = (
        Format.MD
    ),
    output: OutFile = None,
) -> None:
    """Write the whole history of a chat."""

    async def work(desk: "ClientContext") -> None:
        from holdfast.cli.render.history import markdown

        found = await desk.chat(chat)
        info = (await found.refresh()).model_dump(mode="json")
        messages = await _messages(found, None)
        if format_ is Format.JSON:
            desk.screen.json({"chat": info, "messages": messages})
        else:
            desk.screen.answer(markdown(info, messages))

    at_desk(work, to=output)


async def _messages(chat: "AsyncChat", tail: int | None) -> list[dict[str, Any]]:
    """The newest, in the order of history; None: all of them."""
    newest = chat.messages.list(order="desc", limit=tail)
    found = [message.model_dump(mode="json") async for message in newest]
    return found[::-1]
