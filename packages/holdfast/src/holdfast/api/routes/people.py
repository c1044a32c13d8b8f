"""The user who asks, the users of the organisation, and what was done there."""

import hashlib
from typing import Annotated
from uuid import UUID

from fastapi import Query, Request
from pydantic import AwareDatetime
from starlette.responses import Response

from holdfast.api import account_responses as shapes
from holdfast.api import admin_shapes
from holdfast.api import requests as bodies
from holdfast.api.auth import Asks, ByKey, Caller, visitor_of
from holdfast.api.cursors import (
    cut_page,
    encode_cursor,
    number_cursor,
    number_place,
    user_place,
)
from holdfast.api.etags import ExpectedTags, IfMatch, only_number, present, tag_of_user, tagged
from holdfast.api.idempotency import as_replay
from holdfast.api.presenters import answer, audit_json, nothing, page, user_json
from holdfast.api.routes.common import Cursor, Limit, UserIdInPath, UserIdInQuery, router_for
from holdfast.domain.accounts import ChangedUser, User
from holdfast.domain.denials import FieldRefused
from holdfast.domain.ids import UserId
from holdfast.domain.policy import TargetKind
from holdfast.domain.public_ids import ORG_ID, TARGET_ID_TYPES, WrongId
from holdfast.identity import audit
from holdfast.identity.accounts import Accounts
from holdfast.ports.identity import AuditFilter
from holdfast.ports.store import IdempotencyKey

router = router_for("users")
organization = router_for("organization")


@router.get("/me", response_model=shapes.Me)
async def get_current_user(asks: Asks) -> Response:
    """Who asks, and what their credential is good for."""
    who = asks.who
    return answer(
        {
            "org_id": ORG_ID.encode(who.org_id),
            "user": user_json(await asks.edge.identity.accounts.find(who, who.user_id)),
            "scopes": sorted(who.scopes),
            "credential_type": who.credential.kind,
        }
    )


@router.post("/me/password", status_code=204)
async def change_password(body: bodies.ChangePassword, asks: Asks, request: Request) -> Response:
    """One's own, in a browser that is signed in; every other session ends. A repeat of what was
    done is refused with `invalid_credentials`, and the new password is good."""
    visitor = visitor_of(request)
    await asks.edge.identity.accounts.change_password(
        asks.who,
        current=body.current,
        new=body.new,
        address=visitor.address,
        browser=visitor.browser,
    )
    return nothing()


@router.get("/users", response_model=shapes.UserPage)
async def list_users(
    asks: Asks,
    q: Annotated[
        str | None,
        Query(max_length=200, description="Words, each of them in the name or the e-mail."),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The users of the organisation, by name."""
    accounts = asks.edge.identity.accounts
    found = await accounts.page(asks.who, limit=limit + 1, after=user_place(cursor), search=q)
    shown, last = cut_page(found, limit)
    following = None if last is None else encode_cursor(str(last.user_id), last.name)
    return page([user_json(each) for each in shown], following)


@router.post("/users", status_code=201, response_model=shapes.User)
async def create_user(body: bodies.CreateUser, asks: Asks, key: ByKey) -> Response:
    """Without a password: for a login through a provider, or after a reset. Without a key, a repeat
    is refused with `email_taken`."""
    # Of the body without the password: what is kept of a request must not be good for guessing it.
    said = f"{body.name}\n{body.email}\n{body.role}\n{body.password is not None}"
    user, replayed = await asks.edge.identity.accounts.create(
        asks.who,
        name=body.name,
        email=body.email,
        role=body.role,
        password=body.password,
        keyed=None
        if key is None
        else IdempotencyKey(key.key, hashlib.sha256(said.encode()).digest()),
    )
    response = _told(user, 201)
    return as_replay(response) if replayed else response


@router.get("/users/{user_id}", response_model=shapes.User)
async def get_user(user_id: UserIdInPath, asks: Asks) -> Response:
    """One user of the organisation."""
    return _told(await asks.edge.identity.accounts.find(asks.who, UserId(user_id)))


@router.patch("/users/{user_id}", response_model=shapes.ChangedUser)
async def update_user(
    user_id: UserIdInPath, body: admin_shapes.UpdateUser, asks: Asks, if_match: IfMatch
) -> Response:
    """Change a user's role, or disable or enable the user: what is left out stays. Disabling
    revokes every session and API key for good, ends live streams, and stops turns, queues and
    workspaces; chats and history stay."""
    accounts, user, expected = _about(asks, user_id, if_match)
    async with present(lambda: _tag(asks, user)):
        changed = await accounts.update(
            asks.who,
            user,
            role=body.role,
            disabled=body.disabled,
            keep_keys=bool(body.keep_api_keys),
            expected=expected,
        )
    return _told_of_change(changed)


@router.put("/users/{user_id}/password", response_model=shapes.ChangedUser)
async def reset_password(
    user_id: UserIdInPath, body: admin_shapes.ResetPassword, asks: Asks, if_match: IfMatch
) -> Response:
    """By an admin; ends every session of the user, and revokes every API key of the user unless
    `keep_api_keys` says otherwise."""
    accounts, user, expected = _about(asks, user_id, if_match)
    async with present(lambda: _tag(asks, user)):
        changed = await accounts.reset_password(
            asks.who, user, body.password, keep_keys=bool(body.keep_api_keys), expected=expected
        )
    return _told_of_change(changed)


def _about(
    asks: Caller, user_id: UUID, if_match: ExpectedTags | None
) -> tuple[Accounts, UserId, frozenset[int] | None]:
    return asks.edge.identity.accounts, UserId(user_id), only_number(if_match)


async def _tag(asks: Caller, user_id: UserId) -> str:
    return tag_of_user(await asks.edge.identity.accounts.find(asks.who, user_id))


def _told(user: User, status: int = 200) -> Response:
    return tagged(answer(user_json(user), status), tag_of_user(user))


def _told_of_change(user: ChangedUser) -> Response:
    told = {**user_json(user), "revoked_api_key_count": user.revoked_keys}
    return tagged(answer(told), tag_of_user(user))


@organization.get("/organization/audit-log", response_model=shapes.AuditPage)
async def list_audit_entries(
    asks: Asks,
    limit: Limit = 50,
    cursor: Cursor = None,
    actor_id: UserIdInQuery | None = None,
    action: Annotated[
        str | None,
        Query(
            max_length=100,
            description="Such as `user.created`; `user` stands for all that begin with `user.`.",
        ),
    ] = None,
    target_id: Annotated[
        str | None,
        Query(max_length=64, description="What was changed: the id of a chat, a user, a key, …"),
    ] = None,
    since: Annotated[
        AwareDatetime | None, Query(description="Only entries from this moment on.")
    ] = None,
    until: Annotated[
        AwareDatetime | None, Query(description="Only entries before this moment.")
    ] = None,
) -> Response:
    """What was done in the organisation, newest first; for its admins. A page with a filter looks
    at 20,000 entries at most: it can be short, or empty, and have a `next_cursor`."""
    found = await audit.page(
        asks.edge.identity.audit,
        asks.who,
        AuditFilter(
            actor_id=actor_id,
            action=action,
            target_id=None if target_id is None else _target(target_id),
            since=since,
            until=until,
        ),
        limit=limit,
        before_seq=number_place(cursor, bodies.COUNT_MAX),
    )
    following = None if found.before_seq is None else number_cursor(found.before_seq)
    users = {each.actor_id for each in found.records if each.actor_id is not None}
    users |= {
        UUID(each.target_id) for each in found.records if each.target_id and _is_of_user(each)
    }
    names = await asks.edge.identity.people.names(asks.who, users)
    return page([audit_json(each, names) for each in found.records], following)


def _is_of_user(entry: audit.AuditRecord) -> bool:
    return entry.target_kind == TargetKind.USER


def _target(given: str) -> UUID:
    for kind in TARGET_ID_TYPES.values():
        if given.startswith(kind.prefix):
            try:
                return kind.decode(given)
            except WrongId as wrong:
                raise FieldRefused("target_id", str(wrong), within="query") from None
    raise FieldRefused("target_id", "the id of what was changed, such as `user_…`", within="query")
