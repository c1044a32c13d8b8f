"""A chat in one row, or on one line."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from holdfast_client.models import ChatFields, ChatInfo, ChatSummary, ContextUse

HEAD: Final = ("ID", "STATUS", "UPDATED", "TITLE")
SHORT_CHARS: Final = 17
"""The prefix, and the time of creation to the millisecond."""


def entry_row(entry: "ChatSummary", *, whole: bool = False) -> tuple[str, ...]:
    """`whole`: for programs, with all of the id and of the time."""
    at = entry.updated_at.isoformat() if whole else when(entry.updated_at)
    chat_id = entry.id if whole else entry.id[:SHORT_CHARS]
    return (chat_id, status_words(entry), at, title_words(entry))


def status_words(entry: "ChatFields") -> str:
    waiting = f" +{entry.queue_length}" if entry.queue_length else ""
    return f"{'archived' if entry.archived else entry.status}{waiting}"


def title_words(entry: "ChatSummary") -> str:
    marks = [mark for mark, there in (("[pinned]", entry.pinned), ("[new]", entry.unread)) if there]
    came_to = [f"({entry.turn_label})"] if entry.turn_label and entry.status == "idle" else []
    labels = [f"#{label}" for label in entry.labels]
    return " ".join([*marks, entry.title or "", *labels, *came_to]).strip()


def when(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M")


def context_words(use: "ContextUse") -> str:
    """How full the context window is, and when the chat is compacted; empty: not known."""
    if use.used_tokens is None:
        return ""
    of = "" if use.limit_tokens is None else f" of {use.limit_tokens:,}"
    compacts = use.compacts_at_tokens
    when = "" if compacts is None else f", compacted at {compacts:,}"
    return f"{use.used_tokens:,}{of} tokens{when}"


def facts(info: "ChatInfo") -> list[tuple[str, str]]:
    """What `show` says of a chat before its messages."""
    told = [
        ("chat", info.id),
        ("title", info.title or ""),
        ("status", status_words(info)),
        ("turn", info.turn_label or ""),
        ("summary", info.summary or ""),
        ("model", " ".join(each for each in (info.model, info.effort) if each)),
        ("labels", ", ".join(info.labels)),
        ("updated", when(info.updated_at)),
        ("context", context_words(info.context)),
        ("error", info.error.message if info.error else ""),
    ]
    return [(name, value) for name, value in told if value]
