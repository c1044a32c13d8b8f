"""Short names for the things tests talk about."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from holdfast.domain.chat import Awaiting, Backoff, Chat, ErrorKind, OpenCall, QueuedMessage, Status
from holdfast.domain.chat import TurnError as Error
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.heads import stored_bytes
from holdfast.domain.ids import (
    CallId,
    ChatId,
    Epoch,
    QueuedId,
    Seq,
    Version,
    WorkerId,
    uuid7,
)
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.parts import Need, Text, ToolCall, ToolResult
from holdfast_lab.chaos.harness.people import ORG as ORG
from holdfast_lab.chaos.harness.people import OWNER as OWNER
from holdfast_lab.chaos.harness.people import user as user

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WORKER = WorkerId(UUID(int=3))
CHAT = ChatId(uuid7(1, 1))


def reply(text: str = "hi", **more: Any) -> MessageBody:
    return MessageBody(role=Role.ASSISTANT, parts=(Text(text),), **more)


def system(text: str = "be brief") -> MessageBody:
    return MessageBody(role=Role.SYSTEM, parts=(Text(text),))


def boundary(text: str = "so far") -> MessageBody:
    return MessageBody(role=Role.BOUNDARY, parts=(Text(text),))


def digest_for(call_id: str) -> str:
    """What a decision about a call of `asks` names."""
    return f"digest of {call_id}"


def asks(
    *call_ids: str,
    needs: Need = Need.NOTHING,
    ending: Ending = Ending.COMPLETE,
    tool: str = "tool",
) -> MessageBody:
    """A reply that asks for tools."""
    calls = tuple(
        ToolCall(
            CallId(i),
            tool,
            {"n": i},
            needs=needs,
            digest=digest_for(i) if needs.is_gate else None,
        )
        for i in call_ids
    )
    return MessageBody(role=Role.ASSISTANT, parts=(Text("let me see"), *calls), ending=ending)


def result(call_id: str, output: str = "42") -> ToolResult:
    return ToolResult(CallId(call_id), "tool", output)


def results(*call_ids: str) -> MessageBody:
    return MessageBody(role=Role.TOOL, parts=tuple(result(i) for i in call_ids))


def a_tool(name: str = "look_up") -> ClientTool:
    return ClientTool(name=name, description="Looks something up.", schema={"type": "object"})


def error(kind: ErrorKind = ErrorKind.OVERLOADED) -> Error:
    return Error(
        kind=kind,
        sentence="The provider is busy.",
        provider="sim",
        retryable=True,
        detail="for admins only",
        request_id="req_for_admins_only",
    )


def backoff() -> Backoff:
    return Backoff(error=error(), delay_ms=1500, until=NOW + timedelta(milliseconds=1500))


def queued(number: int, text: str = "later", *, urgent: bool = False) -> QueuedMessage:
    head = user(f"{text} {number}")
    return QueuedMessage(
        queued_id=QueuedId(number),
        position=number,
        urgent=urgent,
        head=head,
        bytes=stored_bytes(head.parts),
    )


def open_call(call_id: str, needs: Need = Need.NOTHING, epoch: int = 1) -> OpenCall:
    return OpenCall(
        call_id=CallId(call_id),
        tool="tool",
        seq=Seq(2),
        epoch=Epoch(epoch),
        needs=needs,
        digest=digest_for(call_id) if needs.is_gate else None,
    )


def a_chat(status: Status = Status.IDLE, *, queue: int = 0, **more: Any) -> Chat:
    """A plausible chat in a status, with a history of a user message and a reply."""
    chat = Chat(
        chat_id=CHAT,
        org_id=ORG,
        owner_id=OWNER,
        status=status,
        version=Version(7),
        history_version=Version(6),
        queue_version=Version(5),
        last_seq=Seq(2),
        turn_seq=Seq(1),
        last_queued_id=QueuedId(queue),
        compactable=True,
        epoch=Epoch(1),
        queue=tuple(queued(n) for n in range(1, queue + 1)),
    )
    match status:
        case Status.RUNNING | Status.INTERRUPTING:
            chat = replace(chat, worker_id=WORKER, owes_reply=True, attempt=1)
        case Status.AWAITING:
            call = open_call("c1", Need.RESULT)
            chat = replace(
                chat,
                owes_reply=True,
                open_calls=(call,),
                awaiting=Awaiting(kind=Need.RESULT, calls=(call.call_id,), deadline=NOW),
            )
        case Status.FAILED:
            chat = replace(chat, owes_reply=True, attempt=3, error=error())
        case Status.IDLE:
            pass
    return replace(chat, **more)
