"""Chats: create, list, read, update, archive, share, mark as read."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from fastapi import Query
from starlette.responses import Response

from holdfast.admin.settings import COMPACTION_PERCENT
from holdfast.api import requests as bodies
from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, ByKey, Caller
from holdfast.api.etags import IfMatch, listed_in, present, tag_of_chat, tagged
from holdfast.api.presenters import answer, committed, context_json, nothing, tool_json
from holdfast.api.presenters import page as list_page
from holdfast.api.routes.common import (
    ChatIdInPath,
    CursorInQuery,
    Limit,
    MetadataInQuery,
    UserIdInPath,
    chat_tag,
    check_model,
    check_web,
    router_for,
    window_tokens,
)
from holdfast.chats import create, declare, listing, steer
from holdfast.chats.changes import Commit
from holdfast.chats.listing import entry_json
from holdfast.domain.chat import Status
from holdfast.domain.client_tools import ClientTool
from holdfast.domain.commands import Fork
from holdfast.domain.errors import ChatNotFound
from holdfast.domain.events import error_details_json, queue_json, state_json
from holdfast.domain.ids import ChatId, Seq, UserId, Version
from holdfast.domain.policy import Action, Resource, TargetKind, allows, rule_for
from holdfast.domain.public_ids import CHAT_ID, USER_ID
from holdfast.ports.listing import Entry, ListFilter

router = router_for("chats")

_FLAGS: Final[Mapping[str, bool]] = {"true": True, "false": False}
_OWNERS: Final[Mapping[str, Literal["own", "shared"]]] = {"me": "own", "others": "shared"}


@router.post("/chats", status_code=201, response_model=shapes.Receipt)
async def create_chat(body: bodies.CreateChat, asks: Asks, key: ByKey) -> Response:
    """Create a chat; with a first message its turn starts at once."""
    rule_for(asks.who, Action.CREATE, TargetKind.CHAT)
    messages = () if body.message is None else (body.message.body(asks.who.user_id),)
    check_model(asks, body.model)
    await check_web(asks, body.model, web=body.web)
    if body.message is not None:
        check_model(asks, body.message.model)
        await check_web(asks, body.message.model, body.model, web=body.message.web)
    chats = asks.edge.chats
    commit = await create.create(
        chats.ledger,
        chats.ids,
        asks.driver,
        messages,
        tools=_tools(asks, body.tools),
        model=body.model,
        effort=body.effort,
        web=body.web,
        plan_mode=bool(body.plan_mode),
        listed=listing.new_facts(body.title, body.labels, body.metadata),
        keyed=key,
    )
    return _begun(commit)


@router.post("/chats/{chat_id}/fork", status_code=201, response_model=shapes.Receipt)
async def fork_chat(
    chat_id: ChatIdInPath, asks: Asks, key: ByKey, body: bodies.ForkChat | None = None
) -> Response:
    """Create a chat with this one's history; the caller needs to be able to read it. Only the owner
    may name a `version`."""
    rule_for(asks.who, Action.CREATE, TargetKind.CHAT)
    chats, wanted = asks.edge.chats, body or bodies.ForkChat()
    may = listing.reading(wanted.version)
    await listing.find(chats.listing, asks.who, ChatId(chat_id), may)
    command = Fork(
        None if wanted.up_to_seq is None else Seq(wanted.up_to_seq),
        None if wanted.version is None else Version(wanted.version),
    )
    commit = await create.fork(
        chats.ledger, chats.ids, asks.driver, ChatId(chat_id), command, keyed=key
    )
    return _begun(commit)


@router.get("/chats", response_model=shapes.ChatPage)
async def list_chats(
    asks: Asks,
    status: Annotated[
        list[Status] | None, Query(max_length=10, description="Only chats with one of these.")
    ] = None,
    archived: Annotated[
        Literal["true", "false", "any"], Query(description="`any`: archived ones and others.")
    ] = "false",
    pinned: Annotated[
        Literal["true", "false", "first"] | None,
        Query(description="`first`: the first page begins with all pins, beyond the limit."),
    ] = None,
    label: Annotated[
        str | None, Query(max_length=200, description="Only chats with exactly this label.")
    ] = None,
    metadata: MetadataInQuery = None,
    q: Annotated[
        str | None, Query(max_length=200, description="Words to find in the title.")
    ] = None,
    owner: Annotated[
        Literal["me", "others"] | None, Query(description="`others`: shared with the caller.")
    ] = None,
    limit: Limit = 50,
    cursor: CursorInQuery = None,
) -> Response:
    """The chats that the caller may read, last updated first."""
    wanted = ListFilter(
        statuses=None if status is None else frozenset(status),
        archived=_FLAGS.get(archived),
        pinned=None if pinned is None else _FLAGS.get(pinned),
        label=label,
        metadata=metadata,
        title_has=q,
        whose=None if owner is None else _OWNERS[owner],
    )
    found = await listing.page(
        asks.edge.chats.listing,
        asks.who,
        wanted,
        limit=limit,
        after=cursor,
        pinned="first" if pinned == "first" else "mixed",
    )
    return list_page([entry_json(each) for each in found.entries], found.after)


@router.get("/organization/chats", response_model=shapes.ChatPage)
async def list_organization_chats(
    asks: Asks, limit: Limit = 50, cursor: CursorInQuery = None
) -> Response:
    """All chats of the organisation, for its admins: that they are there, not what they say."""
    found = await listing.oversee(
        asks.edge.chats.listing, asks.who, ListFilter(archived=None), limit=limit, after=cursor
    )
    return list_page([entry_json(each) for each in found.entries], found.after)


@router.post("/organization/chats/{chat_id}/stop", status_code=202, response_model=shapes.Receipt)
async def stop_organization_chat(chat_id: ChatIdInPath, asks: Asks, key: ByKey) -> Response:
    """Stop a chat of any user, for admins: the turn ends and the queue is paused. The audit log
    gets an entry. If no turn runs, nothing changes."""
    by, edge = listing.overseer(asks.who), asks.edge
    entry = listing.stopped_by(asks.who, edge.clock, ChatId(chat_id))
    return committed(
        await steer.stop(edge.chats.ledger, by, ChatId(chat_id), entry, keyed=key), 202
    )


@router.get("/chats/{chat_id}", response_model=shapes.Chat)
async def get_chat(chat_id: ChatIdInPath, asks: Asks) -> Response:
    """A chat, and what of it is happening now."""
    entry = await listing.find(asks.edge.chats.listing, asks.who, ChatId(chat_id))
    return await _whole(asks, entry)


@router.patch("/chats/{chat_id}", response_model=shapes.Chat)
async def update_chat(
    chat_id: ChatIdInPath, body: bodies.UpdateChat, asks: Asks, if_match: IfMatch
) -> Response:
    """Change title, pin, labels and metadata: those that are given, in one step. The server does
    not replace a title that a user gave."""
    chat, expected = ChatId(chat_id), listed_in(if_match)
    async with present(lambda: chat_tag(asks, chat)):
        port = asks.edge.chats.listing
        entry = await listing.update(port, asks.who, chat, body.patch(), expected=expected)
    return await _whole(asks, entry)


@router.put("/chats/{chat_id}/tools", response_model=shapes.Receipt)
async def set_chat_tools(
    chat_id: ChatIdInPath, body: bodies.SetTools, asks: Asks, key: ByKey
) -> Response:
    """The tools that its client runs: these and no others, from the next turn on."""
    tools = _tools(asks, body.tools)
    commit = await declare.declare(
        asks.edge.chats.ledger, asks.driver, ChatId(chat_id), tools, keyed=key
    )
    return committed(commit)


@router.put("/chats/{chat_id}/read-marker", response_model=shapes.ReadUpTo)
async def mark_chat_read(chat_id: ChatIdInPath, body: bodies.MarkRead, asks: Asks) -> Response:
    """Set how far the caller has read; it only moves forward."""
    reached = await listing.mark_read(
        asks.edge.chats.listing, asks.who, ChatId(chat_id), Seq(body.seq)
    )
    return answer({"read_seq": reached})


@router.post("/chats/{chat_id}/archive", response_model=shapes.Receipt)
async def archive_chat(chat_id: ChatIdInPath, asks: Asks, key: ByKey) -> Response:
    """Archive a chat; it accepts no commands until it is unarchived."""
    ledger = asks.edge.chats.ledger
    return committed(await steer.archive(ledger, asks.driver, ChatId(chat_id), keyed=key))


@router.post("/chats/{chat_id}/unarchive", response_model=shapes.Receipt)
async def unarchive_chat(chat_id: ChatIdInPath, asks: Asks, key: ByKey) -> Response:
    """Unarchive a chat."""
    ledger = asks.edge.chats.ledger
    return committed(await steer.unarchive(ledger, asks.driver, ChatId(chat_id), keyed=key))


@router.get("/chats/{chat_id}/shares", response_model=shapes.SharePage)
async def list_shares(chat_id: ChatIdInPath, asks: Asks) -> Response:
    """With whom a chat is shared; for its owner."""
    found = await listing.shares(asks.edge.chats.listing, asks.who, ChatId(chat_id))
    told = [
        {"user_id": USER_ID.encode(each.user_id), "name": each.name, "email": each.email}
        for each in found
    ]
    return list_page(told)


@router.put("/chats/{chat_id}/shares/{user_id}", status_code=204)
async def share_chat(chat_id: ChatIdInPath, user_id: UserIdInPath, asks: Asks) -> Response:
    """Share the chat read-only with a member of the organisation. Repeating changes nothing."""
    chats, clock = asks.edge.chats, asks.edge.clock
    await listing.share(chats.listing, clock, asks.who, ChatId(chat_id), UserId(user_id))
    return nothing()


@router.delete("/chats/{chat_id}/shares/{user_id}", status_code=204)
async def unshare_chat(chat_id: ChatIdInPath, user_id: UserIdInPath, asks: Asks) -> Response:
    """Take a share back; open streams of that reader end within 20 s."""
    chats, clock = asks.edge.chats, asks.edge.clock
    await listing.unshare(chats.listing, clock, asks.who, ChatId(chat_id), UserId(user_id))
    return nothing()


async def _whole(asks: Caller, entry: Entry) -> Response:
    loaded = await asks.edge.chats.store.load(entry.chat_id)
    if loaded is None:
        raise ChatNotFound(entry.chat_id)  # deleted between two statements
    chat = loaded.facts.chat
    state = state_json(chat)
    seen = Resource(kind=TargetKind.CHAT, org_id=chat.org_id, owner_id=chat.owner_id)
    details = error_details_json(chat) if allows(asks.who, Action.OVERSEE, seen) else None
    told_now = answer(
        {
            **entry_json(entry),
            "model": state["model"],
            "effort": state["effort"],
            "web": state["web"],
            "plan_mode": state["plan_mode"],
            "turn_seq": state["turn_seq"],
            "attempt": state["attempt"],
            "queue": queue_json(chat)["messages"],
            "error": state["error"],
            **({} if details is None else {"error_details": details}),
            "retry": state["retry"],
            "action_required": state["action_required"],
            "tools": [tool_json(each) for each in chat.tools],
            "context": context_json(
                chat,
                limit_tokens=window_tokens(asks, chat),
                percent=asks.edge.settings.current(COMPACTION_PERCENT).of(chat.org_id),
            ),
            **({"compaction": state["compaction"]} if "compaction" in state else {}),
        }
    )
    return tagged(told_now, tag_of_chat(entry))


def _begun(commit: Commit) -> Response:
    response = committed(commit, 201)
    response.headers["location"] = f"/api/v1/chats/{CHAT_ID.encode(commit.chat.chat_id)}"
    return response


def _tools(asks: Caller, given: bodies.ToolsIn) -> list[ClientTool]:
    tools = [each.tool() for each in given]
    declare.check_tools(tools, asks.edge.reserved_tools)
    return tools
