"""What is printed once a turn has settled, by those forms that print nothing before."""

from typing import TYPE_CHECKING, Any

from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.render.live import text_of

if TYPE_CHECKING:
    from holdfast.cli.follow import Form
    from holdfast.cli.screen import Screen
    from holdfast_client import AsyncChat


def print_settled(screen: "Screen", form: "Form", chat: "AsyncChat", code: Exit) -> None:
    match form:
        case "json":
            screen.json(document(chat, code))
        case "quiet":
            text = document(chat, code)["text"]
            if text:
                screen.answer(text)
            error = chat.view.error
            if error is not None:
                raise CommandEnd(f"error: {error.message}", code)
        case _:
            pass


def document(chat: "AsyncChat", code: Exit) -> dict[str, Any]:
    """A followed chat as one JSON document."""
    view = chat.view.raw
    return {
        "chat_id": chat.id,
        "status": view.status,
        "exit": int(code),
        "text": final_text(list(view.messages)),
        "error": view.error,
        "action_required": view.action_required,
        "queue": list(view.queue),
        "queue_paused": view.queue_paused,
        "messages": list(view.messages),
        "cursor": view.cursor,
    }


def final_text(messages: list[dict[str, Any]]) -> str:
    """The last text of the agent since the last user message."""
    for message in reversed(messages):
        match message["role"]:
            case "assistant" if text := text_of(message["parts"]):
                return text
            case "user":
                return ""
            case _:
                pass
    return ""
