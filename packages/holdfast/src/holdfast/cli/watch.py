"""`holdfast watch`: all one's chats as they change, one line per change."""

from typing import TYPE_CHECKING, Annotated, Any, Final

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
        async for event in desk.client.events():
            _tell(desk.screen, event.raw, wanted, jsonl=jsonl)
        return None

    at_desk(work)


_CHANGES: Final = {"chats.snapshot": "id", "chat.updated": "id", "chat.removed": "chat_id"}
"""The field that names the chat."""


def _tell(screen: "Screen", told: dict[str, Any], wanted: set[str], *, jsonl: bool) -> None:
    event_type, data = told["type"], told["data"]
    if event_type == "ping":
        return
    if jsonl:
        screen.answer(orjson.dumps(told).decode())
        return
    for entry in data.get("chats", [data] if event_type in _CHANGES else []):
        if not wanted or entry[_CHANGES[event_type]] in wanted:
            screen.answer(_line(event_type, entry))


def _line(event_type: str, entry: dict[str, Any]) -> str:
    from holdfast.cli.ids import short

    if event_type == "chat.removed":
        return f"{short(entry['chat_id'])}  gone"
    title = entry.get("title") or ""
    unread = "*" if entry.get("unread") else " "
    label = entry.get("turn_label")
    came_to = f" ({label})" if label and entry["status"] == "idle" else ""
    return f"{short(entry['id'])} {unread} {entry['status']:<12} {title}{came_to}".rstrip()
