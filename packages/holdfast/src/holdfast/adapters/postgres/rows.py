"""Between rows and the domain."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from typing import Any, Final, ParamSpec, Protocol, TypeVar
from uuid import UUID

from holdfast.adapters.postgres.codec import decode_json, encode_json, escape, unescape
from holdfast.adapters.postgres.columns import BY_HAND, COLUMNS, NAMES
from holdfast.domain.chat import (
    Awaiting,
    Chat,
    ListedFacts,
    LostWorkers,
    Origin,
    Past,
    QueuedMessage,
)
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.errors import ChatTooNew, FormatUnknown
from holdfast.domain.format import FORMAT, READS, level_of, parts_from_json, parts_to_json
from holdfast.domain.ids import (
    CallId,
    ChatId,
    ClientKey,
    Epoch,
    QueuedId,
    Seq,
    UserId,
    Version,
    VersionStamp,
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
    facts = {fact: row[fact] for fact in _LOADED}
    facts["chat_id"] = row["id"]
    for fact, decode in _DECODED:
        stored = facts[fact]
        if stored is not None:
            facts[fact] = decode(stored)
    if facts["queue"] is None:
        facts["queue"] = ()
    if facts["lost"] is not None:
        facts["lost"] = _lost_from_json(facts["lost"], facts["history_version"])
    if facts["awaiting"] is not None:
        facts["awaiting"] = _awaiting_from_json(facts["awaiting"], row["awaiting_until"])
    return Chat(**facts)


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
            web=row["web"],
            plan_mode=row["plan_mode"],
            author_id=row["author_id"],
            usage=None if row["usage"] is None else decode_json(row["usage"]),
            cost_micros=row["cost_micros"],
            takeover=_takeover_from_json(row["takeover"]),
            client_key=_client_key(row["client_key"]),
            prefix=row["prefix"],
        ),
        revision=Version(row["revision"]),
        epoch=Epoch(row["epoch"]),
        created_at=row["created_at"],
        turn_seq=row["turn_seq"],
        queued_id=row["queued_id"],
        attempt=row["attempt"],
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
        web=row["web"],
        plan_mode=row["plan_mode"],
        author_id=None if author_id is None else UserId(UUID(str(author_id))),
        client_key=_client_key(row["client_key"]),
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
        turn_seq=row["turn_seq"],
        turn_copied=row["turn_copied"],
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
        turn_seq=row["turn_seq"],
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


def _client_key(stored: str | None) -> ClientKey | None:
    return None if stored is None else ClientKey(unescape(stored))


def _queue_from_json(stored: str) -> tuple[QueuedMessage, ...]:
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


def _lost_from_json(stored: str, history_version: int) -> LostWorkers | None:
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


def _takeover_to_json(takeover: Takeover) -> JsonObject:
    return {
        "attempt": takeover.attempt,
        "lost_workers": takeover.lost_workers,
        "after_s": takeover.after_s,
        "kept": takeover.kept,
        "calls": [
            {"call_id": call.call_id, "tool": call.tool, "fate": call.fate.value}
            for call in takeover.calls
        ],
    }


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


def _awaiting_from_json(stored: str, deadline: datetime | None) -> Awaiting:
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
        ClientTool(
            name=tool["name"],
            description=tool["description"],
            schema=tool["schema"],
            open_world=tool.get("open_world", False),  # older rows do not say
        )
        for tool in decode_json(stored)
    )


_LOADED: Final = (*(fact for fact in BY_HAND if fact != "chat_id"), *NAMES)
_DECODED: Final = (
    *((column.name, column.decode) for column in COLUMNS if column.decode is not None),
    ("queue", _queue_from_json),
    ("tools", _tools_from_json),
)


# To parameters, by the names that the statements use.

_ENCODED: Final = [(column.name, column.encode) for column in COLUMNS if column.encode is not None]


def facts_parameters(chat: Chat) -> dict[str, Any]:
    """The facts that a create or a commit sets."""
    awaiting = chat.awaiting
    parameters = {name: getattr(chat, name) for name in NAMES}
    for name, encode in _ENCODED:
        fact = parameters[name]
        if fact is not None:
            parameters[name] = encode(fact)
    parameters["reads"] = level_of(chat)
    parameters["archived"] = chat.archived
    parameters["queue_length"] = len(chat.queue)
    parameters["awaiting"] = (
        None
        if awaiting is None
        else encode_json({"kind": awaiting.kind.value, "calls": awaiting.calls})
    )
    parameters["awaiting_until"] = None if awaiting is None else awaiting.deadline
    return parameters


def listed_parameters(listed: ListedFacts) -> dict[str, Any]:
    return {
        "title": escaped(listed.title),
        "labels": [escape(label) for label in listed.labels],
        "metadata": metadata_to_json(listed.metadata),
    }


def metadata_to_json(metadata: Mapping[str, str | None]) -> str:
    return encode_json(metadata) if metadata else "{}"


def _tool_to_json(tool: ClientTool) -> JsonObject:
    told: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "schema": tool.schema,
    }
    return {**told, "open_world": True} if tool.open_world else told


def tools_to_json(tools: Sequence[ClientTool]) -> str:
    return encode_json([_tool_to_json(tool) for tool in tools])


MESSAGE: Final = (
    *("m_seq", "m_role", "m_ending", "m_visibility", "m_parts"),
    *("m_model", "m_effort", "m_web", "m_plan_mode", "m_author", "m_usage", "m_cost", "m_takeover"),
    *("m_turn_seq", "m_attempt", "m_key", "m_prefix"),
)
MESSAGES: Final = (
    *("seqs", "roles", "endings", "visibilities", "parts"),
    *("models", "efforts", "webs", "plan_modes", "authors", "usages", "costs", "takeovers"),
    *("turn_seqs", "attempts", "message_keys", "prefixes"),
)
NO_MESSAGE: Final[dict[str, Any]] = {"format": FORMAT, **dict.fromkeys(MESSAGE)}
QUEUED: Final = (
    *("q_ids", "q_positions", "q_urgent"),
    *("q_parts", "q_bytes", "q_heads", "q_models", "q_efforts", "q_webs", "q_plan_modes"),
    *("q_authors", "q_keys"),
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
        escaped(body.model),
        escaped(body.effort),
        body.web,
        body.plan_mode,
        body.author_id,
        None if body.usage is None else encode_json(body.usage),
        body.cost_micros,
        None if body.takeover is None else encode_json(_takeover_to_json(body.takeover)),
        appended.turn_seq,
        appended.attempt,
        escaped(body.client_key),
        body.prefix,
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
        escaped(queued.body.model),
        escaped(queued.body.effort),
        queued.body.web,
        queued.body.plan_mode,
        queued.body.author_id,
        escaped(queued.body.client_key),
    )


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """One list per column: how a set of rows is passed to a statement."""
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


def escaped(text: str | None) -> str | None:
    return None if text is None else escape(text)
