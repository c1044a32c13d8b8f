"""A chat in one row, or on one line."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdfast_client.models import ChatEntry, ChatInfo

HEAD: Final = ("ID", "STATUS", "TOUCHED", "TITLE")
SHORT_CHARS: Final = 13


def entry_row(entry: "ChatEntry", *, whole: bool = False) -> tuple[str, ...]:
    """`whole`: for programs, with all of the id and of the time."""
    at = entry.touched_at.isoformat() if whole else when(entry.touched_at)
    chat_id = entry.chat_id if whole else entry.chat_id[:SHORT_CHARS]
    return (chat_id, status_words(entry), at, title_words(entry))


def status_words(entry: "ChatEntry") -> str:
    waiting = f" +{entry.queue_length}" if entry.queue_length else ""
    return f"{'archived' if entry.archived else entry.status}{waiting}"


def title_words(entry: "ChatEntry") -> str:
    marks = [mark for mark, there in (("[pinned]", entry.pinned), ("[new]", entry.unread)) if there]
    return " ".join([*marks, entry.title or "", *(f"#{label}" for label in entry.labels)]).strip()


def when(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M")


def facts(info: "ChatInfo") -> list[tuple[str, str]]:
    """What `show` says of a chat before its messages."""
    told = [
        ("chat", info.chat_id),
        ("title", info.title or ""),
        ("status", status_words(info)),
        ("model", " ".join(each for each in (info.model, info.effort) if each)),
        ("labels", ", ".join(info.labels)),
        ("touched", when(info.touched_at)),
        ("error", info.error.sentence if info.error else ""),
    ]
    return [(name, value) for name, value in told if value]
