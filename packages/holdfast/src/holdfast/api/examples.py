"""An example of each request and of each answer, for the OpenAPI document.

They tell one story: Ada asks what kelp is, and a tool of her client looks it up. Answers are made
by the code that makes real ones, so that they cannot differ from those. A test holds all of them
against their shapes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import orjson
from starlette.responses import Response

from holdfast.api.admin_examples import admin_examples
from holdfast.api.errors import InvalidRequest
from holdfast.api.presenters import (
    answer,
    audit_json,
    committed,
    context_json,
    key_json,
    page,
    session_json,
    tool_json,
    user_json,
    workspace_json,
)
from holdfast.api.problems import problem_of
from holdfast.chats.changes import Commit
from holdfast.chats.hints import encode_data
from holdfast.chats.listing import encode_cursor, entry_json
from holdfast.domain.accounts import ApiKey, SignIn, User
from holdfast.domain.chat import Awaiting, Chat, OpenCall, QueuedMessage, Status
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.events import (
    EventType,
    ResetReason,
    history_reset,
    message_json,
    queued_json,
    removed_json,
    state_json,
)
from holdfast.domain.ids import (
    ApiKeyId,
    CallId,
    ChatId,
    ClientKey,
    Epoch,
    OrgId,
    QueuedId,
    Seq,
    SignInId,
    UserId,
    Version,
    uuid7,
)
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.outcome import Answer
from holdfast.domain.parts import Need, Text, ToolCall
from holdfast.domain.policy import OrgRole, Scope
from holdfast.domain.public_ids import ORG_ID, USER_ID
from holdfast.domain.workspaces import Workspace, WorkspaceId, WorkspaceStatus
from holdfast.identity.audit import AuditRecord
from holdfast.ports.listing import Entry, ListPosition
from holdfast.stream.events import as_sse, envelope

Json = dict[str, Any]

_START: Final = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
_MODEL: Final = "claude-sonnet-4-5"
_CALL: Final = CallId("call_1")
_DIGEST: Final = "5f2b6c1e9a0d4e37"
_ARGUMENTS: Final = {"word": "kelp"}
_QUESTION: Final = "What is kelp?"
_SCHEMA: Final = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
}


@dataclass(frozen=True, slots=True)
class Example:
    """None: there is no body."""

    request: Any = None
    response: Any = None


def examples() -> Mapping[str, Example]:
    """By the id of the operation."""
    return dict((*_of_chats(), *_of_messages(), *_of_commands(), *_of_users(), *_of_server()))


def problem_example() -> Json:
    """What is answered to a message without words."""
    detail = "Give either text or parts."
    wrong = {"in": "body", "pointer": "", "code": "invalid_value", "detail": detail}
    return _read(problem_of(InvalidRequest([wrong]), "req_5eac0de5eac0de00"))


def _at(seconds: int) -> datetime:
    return _START + timedelta(seconds=seconds)


def _uuid(number: int) -> UUID:
    return uuid7(int(_START.timestamp() * 1_000), number << 40 | 0x5EA_C0DE)


ORG: Final = OrgId(_uuid(1))
ADA: Final = UserId(_uuid(2))
GRACE: Final = UserId(_uuid(3))
CHAT: Final = ChatId(_uuid(4))

_TOOL: Final = ClientTool(
    name="look_up", description="Look a word up in our dictionary.", schema=_SCHEMA
)
_WORDS: Final = MessageBody(
    role=Role.USER,
    parts=(Text(_QUESTION),),
    author_id=ADA,
    client_key=ClientKey("3f0c6a52-kelp"),
)
_LATER: Final = MessageBody(role=Role.USER, parts=(Text("And in Japanese?"),), author_id=ADA)
_QUEUED: Final = QueuedMessage(
    queued_id=QueuedId(1), position=1, urgent=False, head=_LATER, bytes=16
)
_SAID: Final = Message(
    seq=Seq(1),
    body=_WORDS,
    revision=Version(1),
    epoch=Epoch(0),
    created_at=_START,
    turn_seq=Seq(1),
)
_CALLS: Final = Message(
    seq=Seq(2),
    body=MessageBody(
        role=Role.ASSISTANT,
        parts=(
            Text("I will look it up."),
            ToolCall(_CALL, _TOOL.name, _ARGUMENTS, Need.RESULT, digest=None),
        ),
        model=_MODEL,
        usage={"input": 412, "output": 38, "cache_read": 380},
        cost_micros=690,
    ),
    revision=Version(3),
    epoch=Epoch(1),
    created_at=_at(4),
    turn_seq=Seq(1),
    attempt=1,
)
_STATE: Final = Chat(
    chat_id=CHAT,
    org_id=ORG,
    owner_id=ADA,
    status=Status.AWAITING,
    version=Version(4),
    last_seq=Seq(2),
    turn_seq=Seq(1),
    model=_MODEL,
    queue=(_QUEUED,),
    tools=(_TOOL,),
    open_calls=(
        OpenCall(
            call_id=_CALL,
            tool=_TOOL.name,
            seq=Seq(2),
            epoch=Epoch(1),
            needs=Need.RESULT,
            arguments=_ARGUMENTS,
        ),
    ),
    awaiting=Awaiting(kind=Need.RESULT, calls=(_CALL,)),
)
_ENTRY: Final = Entry(
    chat_id=CHAT,
    org_id=ORG,
    owner_id=ADA,
    title="What kelp is",
    title_source="model",
    turn_label=None,
    summary="What kelp is, where it grows, and what an order of it costs.",
    status=Status.AWAITING,
    archived=False,
    pinned=False,
    labels=("sea",),
    metadata={"order": "4711"},
    version=Version(4),
    history_version=Version(3),
    listed=1,
    last_seq=Seq(2),
    read_seq=Seq(1),
    queue_length=1,
    touched_at=_at(6),
    created_at=_START,
    needs=Need.RESULT,
)
_USER: Final = User(
    user_id=ADA,
    org_id=ORG,
    name="Ada Lovelace",
    email="ada@example.com",
    role=OrgRole.ADMIN,
    disabled_at=None,
    has_password=True,
    created_at=_START - timedelta(days=30),
    version=1,
)
_MEMBER: Final = replace(
    _USER, user_id=GRACE, name="Grace Hopper", email="grace@example.com", role=OrgRole.MEMBER
)
_KEY: Final = ApiKey(
    key_id=ApiKeyId(_uuid(5)),
    org_id=ORG,
    user_id=ADA,
    name="Nightly report",
    prefix="hfst_Zk3v",
    scopes=frozenset({Scope.READ, Scope.WRITE}),
    created_at=_START,
    expires_at=_START + timedelta(days=365),
    revoked_at=None,
    last_used_at=None,
)
_SESSION: Final = SignIn(
    sign_in_id=SignInId(_uuid(6)),
    user_id=ADA,
    method="password",
    address="203.0.113.7",
    agent="Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0",
    created_at=_START,
    seen_at=_at(60),
    expires_at=_START + timedelta(days=30),
)
_WORKSPACE: Final = Workspace(
    workspace_id=WorkspaceId(_uuid(7)),
    org_id=ORG,
    owner_id=ADA,
    chat_id=CHAT,
    template="python",
    status=WorkspaceStatus.RUNNING,
    stops_at=_at(3_600),
    created_at=_START,
)


def _read(response: Response) -> Json:
    return orjson.loads(response.body)


def _wire(value: Mapping[str, Any]) -> Json:
    """With times as text."""
    return _read(answer(value))


def _receipt(version: int, *, turn: int = 1, seq: int | None = None) -> Json:
    told = Answer(
        version=Version(version), turn_seq=Seq(turn), seq=None if seq is None else Seq(seq)
    )
    return _read(committed(Commit(chat=_STATE, answer=told)))


def _queued_receipt() -> Json:
    told = Answer(version=_STATE.version, queued_id=_QUEUED.queued_id)
    return _read(committed(Commit(chat=_STATE, answer=told)))


def _whole() -> Json:
    state = state_json(_STATE)
    now = ("model", "effort", "web", "plan_mode", "turn_seq", "attempt", "error", "retry")
    return _wire(
        {
            **entry_json(_ENTRY),
            **{name: state[name] for name in (*now, "action_required")},
            "queue": [queued_json(_QUEUED)],
            "tools": [tool_json(_TOOL)],
            "context": context_json(_STATE, limit_tokens=200_000, percent=70),
        }
    )


def _of_chats() -> Iterator[tuple[str, Example]]:
    tools = [tool_json(_TOOL)]
    after = encode_cursor(ListPosition(_ENTRY.touched_at, CHAT))
    chats = _read(page([entry_json(_ENTRY)], after))
    begun = {
        "message": {"text": _QUESTION},
        "tools": tools,
        "title": "Kelp",
        "labels": ["sea"],
        "metadata": {"order": "4711"},
        "effort": "low",
    }
    yield "create_chat", Example(begun, _receipt(1, seq=1))
    yield "fork_chat", Example({"up_to_seq": 1}, _receipt(1))
    yield "list_chats", Example(response=chats)
    yield "list_organization_chats", Example(response=chats)
    yield "get_chat", Example(response=_whole())
    yield (
        "update_chat",
        Example({"title": "Kelp", "labels": ["sea"], "metadata": {"order": "4711"}}, _whole()),
    )
    yield "set_chat_tools", Example({"tools": tools}, _receipt(5))
    yield "mark_chat_read", Example({"seq": 2}, {"read_seq": 2})
    yield "archive_chat", Example(response=_receipt(5))
    yield "unarchive_chat", Example(response=_receipt(6))
    share = {"user_id": USER_ID.encode(GRACE), "name": _MEMBER.name, "email": _MEMBER.email}
    yield "list_shares", Example(response=_read(page([share])))
    yield "stream_events", Example(response=_list_events())


def _of_messages() -> Iterator[tuple[str, Example]]:
    history = [message_json(_SAID), message_json(_CALLS)]
    queued = _wire(removed_json(_QUEUED.queued_id, _LATER))
    yield "list_messages", Example(response=_read(page(history)))
    yield "get_message", Example(response=_wire(message_json(_CALLS)))
    yield "send_message", Example({"text": _QUESTION, "when_busy": "queue"}, _queued_receipt())
    yield "edit_message", Example({"text": "What is brown kelp?"}, _receipt(7, turn=3, seq=3))
    yield (
        "list_queued_messages",
        Example(
            response={"data": [_wire(queued_json(_QUEUED))], "next_cursor": None, "paused": False}
        ),
    )
    yield "clear_queue", Example(response=_receipt(5))
    yield "resume_queue", Example(response=_receipt(5, turn=3, seq=3))
    yield "delete_queued_message", Example(response=queued)
    yield "update_queued_message", Example({"before_id": None}, _receipt(5))
    yield "send_queued_message", Example(response=_receipt(5))
    yield "stream_chat_events", Example(response=_chat_events())


def _of_commands() -> Iterator[tuple[str, Example]]:
    decision = {"call_id": _CALL, "decision": "approve", "digest": _DIGEST}
    result = {"call_id": _CALL, "output": "A large brown alga.", "is_error": False}
    answers = {"answers": [{"chosen": ["North Sea"], "text": "Near Helgoland."}]}
    answered = {"call_id": "call_2", "output": answers}
    branch = {"version": 6, "first_seq": 1, "messages": 2}
    workspace = Example(response=_wire(workspace_json(_WORKSPACE)))
    stopped = replace(_WORKSPACE, status=WorkspaceStatus.STOPPED, stops_at=None)
    gone = replace(stopped, status=WorkspaceStatus.DELETED)
    yield "interrupt_chat", Example({"turn_seq": 1}, _receipt(5))
    yield "stop_organization_chat", Example(response=_receipt(5))
    yield "retry_chat", Example({"model": _MODEL}, _receipt(5))
    yield "compact_chat", Example({"keep": "The names of the species."}, _receipt(5))
    yield "list_branches", Example(response=_read(page([branch])))
    yield "restore_chat", Example({"version": 6}, _receipt(8))
    yield "submit_tool_results", Example({"results": [result, answered]}, _receipt(5, seq=3))
    yield "submit_tool_decisions", Example({"decisions": [decision]}, _receipt(5))
    yield "get_workspace", workspace
    yield "create_workspace", replace(workspace, request={"template": "python"})
    yield "start_workspace", workspace
    yield "stop_workspace", Example(response=_wire(workspace_json(stopped)))
    yield "delete_workspace", Example(response=_wire(workspace_json(gone)))


def _of_users() -> Iterator[tuple[str, Example]]:
    user, member = _wire(user_json(_USER)), _wire(user_json(_MEMBER))
    password = "correct horse battery staple"  # noqa: S105 - an example
    me = {
        "org_id": ORG_ID.encode(ORG),
        "user": user,
        "scopes": sorted(_KEY.scopes),
        "credential_type": "api_key",
    }
    key = {"name": _KEY.name, "scopes": ["read", "write"], "expires_at": "2030-01-01T00:00:00Z"}
    account = {"name": _MEMBER.name, "email": _MEMBER.email, "role": "member"}
    secret = {**key_json(_KEY), "secret": f"{_KEY.prefix}8sJq0WmXyT2bR5nLd7cG"}
    entry = AuditRecord(
        seq=4711,
        at=_START,
        action="user.created",
        actor_id=ADA,
        credential=f"api_key:{_KEY.key_id}",
        target_kind="user",
        target_id=str(GRACE),
        address="203.0.113.7",
        detail={"role": "member"},
    )
    yield "get_current_user", Example(response=me)
    yield "change_password", Example({"current": password, "new": f"{password} 2"})
    yield "list_users", Example(response=_read(page([user, member])))
    yield "create_user", Example(account, member)
    yield "get_user", Example(response=member)
    yield "update_user", Example({"role": "member"}, {**member, "revoked_api_key_count": 0})
    reset = {**member, "revoked_api_key_count": 2}
    yield "reset_password", Example({"password": password}, reset)
    yield "list_audit_entries", Example(response=_read(page([audit_json(entry)])))
    yield "create_session", Example({"email": _USER.email, "password": password}, user)
    yield "create_session_by_link", Example({"token": "3kq9Xc7mPfW2" * 3 + "Zr81aLt"}, user)
    yield "list_sessions", Example(response=_read(page([session_json(_SESSION)])))
    yield "list_api_keys", Example(response=_read(page([key_json(_KEY)])))
    yield "create_api_key", Example(key, _wire(secret))


def _of_server() -> Iterator[tuple[str, Example]]:
    start = "/api/v1/oidc/company/start"
    provider = {"name": "company", "title": "Company account", "start": start}
    model = {
        "id": _MODEL,
        "is_default": True,
        "context_window": 200_000,
        "output_max": 64_000,
        "efforts": ["low", "medium", "high"],
        "images": True,
        "provider_tools": ["web_search"],
        "web": True,
        "documents": True,
        "thinking": True,
        "vendor": "Anthropic",
        "simulated": False,
        "price": {"input_micros": 3_000_000, "output_micros": 15_000_000},
        "retires_at": None,
    }
    template = {"name": "python", "description": "Python 3.13 and git.", "ttl_seconds": 3_600}
    location = "https://login.example.com/authorize?client_id=holdfast"
    for name, request, response in admin_examples(_wire(user_json(_MEMBER)), _MODEL):
        yield name, Example(request, response)
    yield "list_oidc_providers", Example(response=_read(page([provider])))
    yield "link_oidc_login", Example(response={"location": location})
    yield "list_models", Example(response=_read(page([model])))
    yield "list_workspace_templates", Example(response=_read(page([template])))
    yield "get_version", Example(response={"version": "0.1.0", "api": "v1"})
    yield "check_liveness", Example(response={"status": "ok"})
    yield "check_readiness", Example(response={"status": "ok"})
    yield "get_metrics", Example(response="holdfast_commit_seconds_count 4711.0\n")


def _event(kind: str, cursor: str, version: int | None, data: Any, *, final: bool) -> str:  # noqa: ANN401
    name, place = kind.encode(), cursor.encode()
    made = envelope(name, place, version, encode_data(data), final=final)
    return as_sse(name, place, made).decode()


def _chat_events() -> str:
    reset = history_reset(Seq(1), ResetReason.SNAPSHOT).data
    said, state = message_json(_SAID), state_json(_STATE)
    return "".join(
        (
            _event(EventType.HISTORY_RESET, "4.0.0.0", 4, reset, final=False),
            _event(EventType.MESSAGE_CREATED, "4.0.0.1", 4, said, final=False),
            _event(EventType.CHAT_STATE, "4.0.0.4", 4, state, final=True),
        )
    )


def _list_events() -> str:
    snapshot = {"chats": [entry_json(_ENTRY)], "after": None}
    return _event("chats.snapshot", "1024", None, snapshot, final=True)
