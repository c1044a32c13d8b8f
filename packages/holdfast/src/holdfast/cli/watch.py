"""`holdfast watch`: all one's chats as they change, one line per change."""

from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.exit_codes import Exit
from holdfast.cli.options import AsJsonl

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast.cli.screen import Screen


def watch(
    chats: Annotated[
        list[str] | None, typer.Argument(metavar="[CHAT]...", help="Only these.")
    ] = None,
    *,
    jsonl: AsJsonl = False,
) -> None:
    """Print every change to your chats until Ctrl-C: status, title, messages."""

    async def work(desk: "ClientContext") -> Exit | None:
        wanted = {(await desk.chat(each)).id for each in chats or ()}
        async for event in desk.client.watch():
            _tell(desk.screen, event.raw, wanted, jsonl=jsonl)
        return None

    at_desk(work)


def _tell(screen: "Screen", told: dict[str, Any], wanted: set[str], *, jsonl: bool) -> None:
    kind, data = told["event"], told["data"]
    if kind == "ping":
        return
    if jsonl:
        screen.answer(orjson.dumps(told).decode())
        return
    for entry in data.get("chats", [data] if "chat_id" in data else []):
        if not wanted or entry["chat_id"] in wanted:
            screen.answer(_line(kind, entry))


def _line(kind: str, entry: dict[str, Any]) -> str:
    from holdfast.cli.ids import short

    if kind == "chat_gone":
        return f"{short(entry['chat_id'])}  gone"
    title = entry.get("title") or ""
    unread = "*" if entry.get("unread") else " "
    return f"{short(entry['chat_id'])} {unread} {entry['status']:<12} {title}".rstrip()
