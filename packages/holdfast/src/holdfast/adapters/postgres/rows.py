"""Between rows and the domain."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, Final, ParamSpec, Protocol, TypeVar
from uuid import UUID

from holdfast.adapters.postgres.codec import decode_json, encode_json, escape, unescape
from holdfast.domain.chat import (
    Awaiting,
    Backoff,
    Chat,
    ErrorKind,
    LostWorkers,
    OpenCall,
    Origin,
    Past,
    QueuedMessage,
    Status,
    TurnError,
)
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.errors import ChatTooNew, FormatUnknown
from holdfast.domain.events import takeover_json
from holdfast.domain.format import FORMAT, READS, parts_from_json, parts_to_json
from holdfast.domain.ids import (
    CallId,
    ChatId,
    Epoch,
    OrgId,
    QueuedId,
    Seq,
    UserId,
    Version,
    VersionStamp,
    WorkerId,
)
from holdfast.domain.messages import (
    CallFate,
    Ending,
    InheritedCall,
    Message,
    MessageBody,
    Role,
    Takeover,
    Visibility,
)
from holdfast.domain.outcome import Appended, Enqueued, Outcome
from holdfast.domain.parts import JsonObject, Need, Part


class RowLike(Protocol):
    """A record of the driver, or an object decoded from JSON."""

    def __getitem__(self, name: str, /) -> Any: ...  # noqa: ANN401  (typed where it is read)


# From rows.

P = ParamSpec("P")
Read = TypeVar("Read")


def refusing_unknown(read: Callable[P, Read]) -> Callable[P, Read]:
    """Raise `FormatUnknown` for every word and shape that the decoder does not know, so that a
    caller can tell one unreadable row from a mistake of the server."""

    @wraps(read)
    def refusing(*args: P.args, **kwargs: P.kwargs) -> Read:
        try:
            return read(*args, **kwargs)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise FormatUnknown(f"{type(error).__name__}: {error}") from error

    return refusing


@refusing_unknown
def chat_from_row(row: RowLike) -> Chat:
    if row["reads"] > READS:
        raise ChatTooNew(ChatId(row["id"]), row["reads"], READS)
    return Chat(
        chat_id=ChatId(row["id"]),
        org_id=OrgId(row["org_id"]),
        owner_id=UserId(row["owner_id"]),
        status=Status(row["status"]),
        archived=row["archived"],
        version=Version(row["version"]),
        history_version=Version(row["history_version"]),
        queue_version=Version(row["queue_version"]),
        stamp=VersionStamp(row["stamp"]),
        history_stamp=VersionStamp(row["history_stamp"]),
        last_seq=Seq(row["last_seq"]),
        last_queued_id=QueuedId(row["last_queued_id"]),
        owes_reply=row["owes_reply"],
        compactable=row["compactable"],
        compaction_requested=row["compaction_requested"],
        open_calls=_open_calls_from_json(row["open_calls"]),
        queue=_queue_from_json(row["queue"]),
        worker_id=None if row["worker_id"] is None else WorkerId(row["worker_id"]),
        epoch=Epoch(row["epoch"]),
        attempt=row["attempt"],
        attempts_forgiven=row["attempts_forgiven"],
        lost=_lost_from_json(row["lost"], row["history_version"]),
        model=_text(row["model"]),
        effort=_text(row["effort"]),
        error=_error_from_json(row["error"]),
        backoff=_backoff_from_json(row["backoff"]),
        awaiting=_awaiting_from_json(row["awaiting"], row["awaiting_until"]),
        tools=_tools_from_json(row["tools"]),
    )


@refusing_unknown
def message_from_row(row: RowLike) -> Message:
    removed, copied_from = row["removed_revision"], row["copied_from"]
    return Message(
        seq=Seq(row["seq"]),
        body=MessageBody(
            role=Role(row["role"]),
            parts=parts_from_json(row["format"], decode_json(row["parts"])),
            ending=Ending(row["ending"]),
            visibility=Visibility(row["visibility"]),
            model=_text(row["model"]),
            effort=_text(row["effort"]),
            author_id=row["author_id"],
            usage=None if row["usage"] is None else decode_json(row["usage"]),
            cost_micros=row["cost_micros"],
            takeover=_takeover_from_json(row["takeover"]),
        ),
        revision=Version(row["revision"]),
        epoch=Epoch(row["epoch"]),
        created_at=row["created_at"],
        removed_revision=None if removed is None else Version(removed),
        copied_from=None if copied_from is None else Seq(copied_from),
        stamp=VersionStamp(row["stamp"]),
    )


@refusing_unknown
def queued_from_row(row: RowLike) -> MessageBody:
    """The whole of a message that is or was in the queue."""
    return _queued_body(row, decode_json(row["parts"]))


def _queued_body(row: RowLike, parts: Sequence[JsonObject]) -> MessageBody:
    author_id = row["author_id"]
    return MessageBody(
        role=Role.USER,
        parts=parts_from_json(row["format"], parts),
        model=_text(row["model"]),
        effort=_text(row["effort"]),
        author_id=None if author_id is None else UserId(UUID(str(author_id))),
    )


@refusing_unknown
def promoted_from_row(row: RowLike) -> tuple[Part, ...]:
    return parts_from_json(row["format"], decode_json(row["parts"]))


@refusing_unknown
def past_from_row(version: Version, row: RowLike) -> Past:
    return Past(
        version=version,
        shared_seq=Seq(row["shared_seq"]),
        copied=row["copied"],
        copied_bytes=row["copied_bytes"],
        hidden=row["hidden"],
        tail=_tail_from_json(row["tail"]),
    )


@refusing_unknown
def origin_from_row(chat: Chat, version: Version, row: RowLike) -> Origin:
    return Origin(
        chat=chat,
        version=version,
        last_seq=Seq(row["last_seq"]),
        messages=row["messages"],
        reply_seq=Seq(row["reply_seq"]),
        before_reply=row["before_reply"],
        bytes=row["bytes"],
        bytes_before_reply=row["bytes_before_reply"],
        tail=_tail_from_json(row["tail"]),
    )


def _tail_from_json(stored: str | None) -> tuple[MessageBody, ...]:
    tail = () if stored is None else decode_json(stored)
    return tuple(
        MessageBody(
            role=Role(body["role"]), parts=parts_from_json(body["format"], body["parts"] or ())
        )
        for body in tail
    )


def _text(stored: str | None) -> str | None:
    return None if stored is None else unescape(stored)


def _queue_from_json(stored: str | None) -> tuple[QueuedMessage, ...]:
    if stored is None:
        return ()
    return tuple(
        QueuedMessage(
            queued_id=QueuedId(row["queued_id"]),
            position=row["position"],
            urgent=row["urgent"],
            head=_queued_body(row, row["head"]),
            bytes=row["bytes"],
            cut=row["cut"],
        )
        for row in decode_json(stored)
    )


def _open_calls_from_json(stored: str) -> tuple[OpenCall, ...]:
    if stored == "[]":  # by far the most common case
        return ()
    return tuple(
        OpenCall(
            call_id=CallId(call["call_id"]),
            tool=call["tool"],
            seq=Seq(call["seq"]),
            epoch=Epoch(call["epoch"]),
            needs=Need(call["needs"]),
            # Not there in calls that an older version opened.
            digest=call.get("digest"),
            then=Need(call.get("then", Need.NOTHING)),
            place=call.get("place"),
        )
        for call in decode_json(stored)
    )


def _lost_from_json(stored: str | None, history_version: int) -> LostWorkers | None:
    if stored is None:
        return None
    lost = decode_json(stored)
    if lost["history_version"] != history_version:
        return None  # an older version, which does not know the column, has committed a message
    return LostWorkers(
        workers=lost["workers"],
        since=datetime.fromisoformat(lost["since"]),
        until=datetime.fromisoformat(lost["until"]),
    )


def _takeover_from_json(stored: str | None) -> Takeover | None:
    if stored is None:
        return None
    try:
        return _takeover(decode_json(stored))
    except (LookupError, TypeError, ValueError):
        return None  # of a newer version: the message is shown without the line


def _takeover(takeover: Mapping[str, Any]) -> Takeover:
    calls = tuple(
        InheritedCall(CallId(call["call_id"]), call["tool"], CallFate(call["fate"]))
        for call in takeover["calls"]
    )
    return Takeover(
        attempt=takeover["attempt"],
        lost_workers=takeover["lost_workers"],
        after_s=takeover["after_s"],
        kept=takeover["kept"],
        calls=calls,
    )


def _error_from_json(stored: str | None) -> TurnError | None:
    return None if stored is None else _turn_error(decode_json(stored))


def _turn_error(error: RowLike) -> TurnError:
    return TurnError(
        kind=ErrorKind(error["kind"]),
        sentence=error["sentence"],
        provider=error["provider"],
        status_code=error["status_code"],
        retryable=error["retryable"],
    )


def _backoff_from_json(stored: str | None) -> Backoff | None:
    if stored is None:
        return None
    backoff = decode_json(stored)
    return Backoff(
        error=_turn_error(backoff["error"]),
        delay_ms=backoff["delay_ms"],
        until=datetime.fromisoformat(backoff["until"]),
    )


def _awaiting_from_json(stored: str | None, deadline: datetime | None) -> Awaiting | None:
    if stored is None:
        return None
    awaiting = decode_json(stored)
    return Awaiting(
        kind=Need(awaiting["kind"]),
        calls=tuple(CallId(call_id) for call_id in awaiting["calls"]),
        deadline=deadline,
    )


def _tools_from_json(stored: str) -> tuple[ClientTool, ...]:
    if stored == "[]":
        return ()
    return tuple(
        ClientTool(name=tool["name"], description=tool["description"], schema=tool["schema"])
        for tool in decode_json(stored)
    )


# To parameters, by the names that the statements use.


def facts_parameters(chat: Chat) -> dict[str, Any]:
    """The facts that a commit sets."""
    awaiting = chat.awaiting
    return {
        "status": chat.status.value,
        "archived": chat.archived,
        "history_version": chat.history_version,
        "queue_version": chat.queue_version,
        "stamp": chat.stamp,
        "history_stamp": chat.history_stamp,
        "last_seq": chat.last_seq,
        "last_queued_id": chat.last_queued_id,
        "queue_length": len(chat.queue),
        "owes_reply": chat.owes_reply,
        "compactable": chat.compactable,
        "compaction_requested": chat.compaction_requested,
        "open_calls": _open_calls_to_json(chat.open_calls),
        "attempt": chat.attempt,
        "attempts_forgiven": chat.attempts_forgiven,
        "model": _escaped(chat.model),
        "effort": _escaped(chat.effort),
        "error": None if chat.error is None else encode_json(_error_to_json(chat.error)),
        "backoff": None if chat.backoff is None else _backoff_to_json(chat.backoff),
        "awaiting": None
        if awaiting is None
        else encode_json({"kind": awaiting.kind.value, "calls": awaiting.calls}),
        "awaiting_until": None if awaiting is None else awaiting.deadline,
    }


def tools_to_json(tools: Sequence[ClientTool]) -> str:
    return encode_json(
        [
            {"name": tool.name, "description": tool.description, "schema": tool.schema}
            for tool in tools
        ]
    )


MESSAGE: Final = (
    *("m_seq", "m_role", "m_ending", "m_visibility", "m_parts"),
    *("m_model", "m_effort", "m_author", "m_usage", "m_cost", "m_takeover"),
)
MESSAGES: Final = (
    *("seqs", "roles", "endings", "visibilities", "parts"),
    *("models", "efforts", "authors", "usages", "costs", "takeovers"),
)
NO_MESSAGE: Final[dict[str, Any]] = {"format": FORMAT, **dict.fromkeys(MESSAGE)}
QUEUED: Final = (
    *("q_ids", "q_positions", "q_urgent"),
    *("q_parts", "q_bytes", "q_heads", "q_models", "q_efforts", "q_authors"),
)


def message_parameters(appended: Appended) -> dict[str, Any]:
    return {"format": FORMAT, **dict(zip(MESSAGE, _message_row(appended), strict=True))}


def messages_parameters(appended: Sequence[Appended]) -> dict[str, Any]:
    return {"format": FORMAT, **_columns(MESSAGES, [_message_row(entry) for entry in appended])}


def rest_parameters(outcome: Outcome) -> dict[str, Any]:
    """What hides, copies and moves the queue."""
    past = outcome.restored
    return {
        "hidden_from": outcome.hidden_from,
        "last_seq_before": outcome.before.last_seq,
        "shared_seq": None if past is None else past.shared_seq,
        "past_version": None if past is None else past.version,
        "q_format": FORMAT,
        **_columns(QUEUED, [_queued_row(queued) for queued in outcome.queued]),
        **_columns(
            ("left_ids", "left_fates", "left_seqs"),
            [(left.queued_id, left.fate.value, left.seq) for left in outcome.left],
        ),
        **_columns(
            ("moved_ids", "moved_positions", "moved_urgent"),
            [(move.queued_id, move.position, move.urgent) for move in outcome.moved],
        ),
    }


def _message_row(appended: Appended) -> tuple[Any, ...]:
    body = appended.body
    return (
        appended.seq,
        body.role.value,
        body.ending.value,
        body.visibility.value,
        encode_json(parts_to_json(body.parts)),
        _escaped(body.model),
        _escaped(body.effort),
        body.author_id,
        None if body.usage is None else encode_json(body.usage),
        body.cost_micros,
        None if body.takeover is None else encode_json(takeover_json(body.takeover)),
    )


def _queued_row(queued: Enqueued) -> tuple[Any, ...]:
    entry = queued.entry
    return (
        entry.queued_id,
        entry.position,
        entry.urgent,
        encode_json(parts_to_json(queued.body.parts)),
        entry.bytes,
        encode_json(parts_to_json(entry.head.parts)) if entry.cut else None,
        _escaped(queued.body.model),
        _escaped(queued.body.effort),
        queued.body.author_id,
    )


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """One list per column: how a set of rows is passed to a statement."""
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


def _escaped(text: str | None) -> str | None:
    return None if text is None else escape(text)


def _open_calls_to_json(calls: Sequence[OpenCall]) -> str:
    if not calls:
        return "[]"
    return encode_json([_open_call_to_json(call) for call in calls])


def _open_call_to_json(call: OpenCall) -> JsonObject:
    gated = {"digest": call.digest, "then": call.then.value} if call.digest is not None else {}
    return {
        "call_id": call.call_id,
        "tool": call.tool,
        "seq": call.seq,
        "epoch": call.epoch,
        "needs": call.needs.value,
        **gated,
        **({} if call.place is None else {"place": call.place}),
    }


def _error_to_json(error: TurnError) -> JsonObject:
    return {
        "kind": error.kind.value,
        "sentence": error.sentence,
        "provider": error.provider,
        "status_code": error.status_code,
        "retryable": error.retryable,
    }


def _backoff_to_json(backoff: Backoff) -> str:
    return encode_json(
        {
            "error": _error_to_json(backoff.error),
            "delay_ms": backoff.delay_ms,
            "until": backoff.until.isoformat(),
        }
    )
