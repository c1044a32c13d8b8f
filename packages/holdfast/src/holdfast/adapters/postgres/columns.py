"""The facts of a chat that have a column of their own, each declared once.

A fact of `COLUMNS` is a field of `Chat`, a column of `chats` and a parameter of statements, all
three of the same name. From the declaration follow the statements that load, acquire, create and
commit a chat (`FILLED` fills their placeholders), and how `rows` decodes and encodes the fact.
`BY_HAND` names the facts that need more than that. Tests compare both with `Chat` and the schema.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final

from holdfast.adapters.postgres.codec import decode_json, encode_json, escape, unescape
from holdfast.domain.chat import Backoff, ErrorKind, OpenCall, Status, TurnError
from holdfast.domain.compaction import Compaction, CompactionReason
from holdfast.domain.ids import CallId, Epoch, Seq
from holdfast.domain.parts import JsonObject, Need


@dataclass(frozen=True, slots=True)
class Column:
    """A column that holds the fact of the same name.

    `decode` makes the fact from what the driver returns, and `encode` the parameter from the fact.
    Without them both are the same value. A null is `None`, and no codec sees it.
    """

    name: str
    decode: Callable[[Any], object] | None = None
    encode: Callable[[Any], object] | None = None


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
            arguments=decode_json(call["arguments"]) if "arguments" in call else None,
        )
        for call in decode_json(stored)
    )


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
        # As text: jsonb would change the order of keys and the form of numbers.
        **({} if call.arguments is None else {"arguments": encode_json(call.arguments)}),
    }


def _error_from_json(stored: str) -> TurnError:
    return _turn_error(decode_json(stored))


def _turn_error(error: Mapping[str, Any]) -> TurnError:
    return TurnError(
        kind=ErrorKind(error["kind"]),
        sentence=error["sentence"],
        provider=error["provider"],
        status_code=error["status_code"],
        retryable=error["retryable"],
        detail=error.get("detail"),
        request_id=error.get("request_id"),
    )


def _error_to_json(error: TurnError) -> str:
    return encode_json(_turn_error_object(error))


def _turn_error_object(error: TurnError) -> JsonObject:
    return {
        "kind": error.kind.value,
        "sentence": error.sentence,
        "provider": error.provider,
        "status_code": error.status_code,
        "retryable": error.retryable,
        **({} if error.detail is None else {"detail": error.detail}),
        **({} if error.request_id is None else {"request_id": error.request_id}),
    }


def _backoff_from_json(stored: str) -> Backoff:
    backoff = decode_json(stored)
    return Backoff(
        error=_turn_error(backoff["error"]),
        delay_ms=backoff["delay_ms"],
        until=datetime.fromisoformat(backoff["until"]),
        model=backoff.get("model"),  # of rows of older versions: none
    )


def _backoff_to_json(backoff: Backoff) -> str:
    return encode_json(
        {
            "error": _turn_error_object(backoff.error),
            "delay_ms": backoff.delay_ms,
            "until": backoff.until.isoformat(),
            "model": backoff.model,
        }
    )


def _compaction_from_json(stored: str) -> Compaction:
    compaction = decode_json(stored)
    return Compaction(**{**compaction, "reason": CompactionReason(compaction["reason"])})


def _compaction_to_json(compaction: Compaction) -> str:
    told = {name: getattr(compaction, name) for name in _COMPACTION}
    return encode_json({name: value for name, value in told.items() if value is not None})


_COMPACTION: Final = tuple(field.name for field in fields(Compaction))


COLUMNS: Final = (
    Column("status", Status, str),
    Column("history_version"),
    Column("queue_version"),
    Column("stamp"),
    Column("history_stamp"),
    Column("last_seq"),
    Column("turn_seq"),
    Column("last_queued_id"),
    Column("queue_paused"),
    Column("owes_reply"),
    Column("compactable"),
    Column("compaction_requested"),
    Column("compaction", _compaction_from_json, _compaction_to_json),
    Column("prompt_tokens"),
    Column("steps"),
    Column("advised"),
    Column("open_calls", _open_calls_from_json, _open_calls_to_json),
    Column("attempt"),
    Column("attempts_forgiven"),
    Column("model", unescape, escape),
    Column("effort", unescape, escape),
    Column("web"),
    Column("plan_mode"),
    Column("error", _error_from_json, _error_to_json),
    Column("backoff", _backoff_from_json, _backoff_to_json),
)

BY_HAND: Final = {
    "chat_id": "The column is `id`, and no commit changes it.",
    "org_id": "No commit changes it.",
    "owner_id": "No commit changes it.",
    "archived": "The column is `archived_at`, by the clock of the database.",
    "version": "A commit adds one to it, and compares it.",
    "queue": "Its messages are rows of `queued_messages`; the chat has `queue_length`.",
    "worker_id": "Acquiring sets it; a commit keeps, takes or releases it.",
    "epoch": "Acquiring adds one to it; a commit keeps it or takes the chat.",
    "lost": "Acquiring sets it; it counts for one history only.",
    "awaiting": "Two columns: `awaiting_until` has an index.",
    "tools": "A commit that does not change them does not send them.",
}
"""Facts that statements and `rows` write out, and why."""

NAMES: Final = tuple(column.name for column in COLUMNS)

FILLED: Final = {
    "fact_columns": ", ".join(NAMES),
    "fact_columns_of_c": ", ".join(f"c.{name}" for name in NAMES),
    "fact_values": ", ".join(f":{name}" for name in NAMES),
    "fact_assignments": ", ".join(f"{name} = :{name}" for name in NAMES),
}
"""What `{{name}}` stands for in the statements."""
