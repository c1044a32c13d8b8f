"""The user who asks, the users of the organisation, and what was done there."""

import base64
import hashlib
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Request
from starlette.responses import Response

from holdfast.api import requests as bodies
from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, ByKey, Caller, visitor_of
from holdfast.api.etags import ExpectedTags, IfMatch, only_number, present, tag_of_user, tagged
from holdfast.api.presenters import answer, nothing, user_json
from holdfast.api.routes.common import After, Limit, UserIdInPath, router_for
from holdfast.domain.accounts import User
from holdfast.domain.denials import FieldRefused
from holdfast.domain.ids import UserId
from holdfast.identity import audit
from holdfast.identity.accounts import Accounts
from holdfast.ports.store import IdempotencyKey

router = router_for("people")


@router.get("/me", response_model=shapes.Me)
async def me(asks: Asks) -> Response:
    """Who asks, and what their credential is good for."""
    who = asks.who
    return answer(
        {
            "org_id": str(who.org_id),
            "user": user_json(await asks.edge.identity.accounts.find(who, who.user_id)),
            "scopes": sorted(who.scopes),
            "credential": who.credential.kind,
        }
    )


@router.post("/me/password", status_code=204)
async def change_password(body: bodies.PasswordChanging, asks: Asks, request: Request) -> Response:
    """One's own, in a browser that is signed in; every other sign-in ends. A repeat of what was
    done is refused with `wrong_credentials`, and the new password is good."""
    await asks.edge.identity.accounts.change_password(
        asks.who, current=body.current, new=body.new, address=visitor_of(request).address
    )
    return nothing()


@router.get("/users", response_model=shapes.UserPage)
async def users(asks: Asks, limit: Limit = 50, after: After = None) -> Response:
    """The users of the organisation, by name."""
    place = None if after is None else _place(after)
    found = await asks.edge.identity.accounts.page(asks.who, limit=limit, after=place)
    more = _cursor(found[-1]) if len(found) == limit else None
    return answer({"users": [user_json(each) for each in found], "after": more})


@router.post("/users", status_code=201, response_model=shapes.User)
async def create(body: bodies.NewUser, asks: Asks, key: ByKey) -> Response:
    """Without a password: for a login through a provider, or after a reset. Without a key, a repeat
    is refused with `email_taken`."""
    # Of the body without the password: what is kept of a request must not be good for guessing it.
    said = f"{body.name}\n{body.email}\n{body.role}\n{body.password is not None}"
    user = await asks.edge.identity.accounts.create(
        asks.who,
        name=body.name,
        email=body.email,
        role=body.role,
        password=body.password,
        keyed=None
        if key is None
        else IdempotencyKey(key.key, hashlib.sha256(said.encode()).digest()),
    )
    return _told(user, 201)


@router.get("/users/{user_id}", response_model=shapes.User)
async def look(user_id: UserIdInPath, asks: Asks) -> Response:
    """One user of the organisation."""
    return _told(await asks.edge.identity.accounts.find(asks.who, UserId(user_id)))


@router.put("/users/{user_id}/role", response_model=shapes.User)
async def set_role(
    user_id: UserIdInPath, body: bodies.RoleSetting, asks: Asks, if_match: IfMatch
) -> Response:
    """Change a user's role to admin or member."""
    accounts, user, expected = _about(asks, user_id, if_match)
    async with present(lambda: _tag(asks, user)):
        return _told(await accounts.set_role(asks.who, user, body.role, expected=expected))


@router.post("/users/{user_id}/disable", response_model=shapes.User)
async def disable(user_id: UserIdInPath, asks: Asks, if_match: IfMatch) -> Response:
    """Every credential of the user's stops working; chats and history stay. Twice is once."""
    accounts, user, expected = _about(asks, user_id, if_match)
    async with present(lambda: _tag(asks, user)):
        return _told(await accounts.disable(asks.who, user, expected=expected))


@router.post("/users/{user_id}/enable", response_model=shapes.User)
async def enable(user_id: UserIdInPath, asks: Asks, if_match: IfMatch) -> Response:
    """Let a disabled user back in. Twice is once."""
    accounts, user, expected = _about(asks, user_id, if_match)
    async with present(lambda: _tag(asks, user)):
        return _told(await accounts.enable(asks.who, user, expected=expected))


@router.put("/users/{user_id}/password", response_model=shapes.User)
async def reset_password(
    user_id: UserIdInPath, body: bodies.PasswordResetting, asks: Asks, if_match: IfMatch
) -> Response:
    """By an admin; ends every sign-in of the user's."""
    accounts, user, expected = _about(asks, user_id, if_match)
    async with present(lambda: _tag(asks, user)):
        changed = await accounts.reset_password(asks.who, user, body.password, expected=expected)
    return _told(changed)


def _about(
    asks: Caller, user_id: UUID, if_match: ExpectedTags | None
) -> tuple[Accounts, UserId, frozenset[int] | None]:
    return asks.edge.identity.accounts, UserId(user_id), only_number(if_match)


async def _tag(asks: Caller, user_id: UserId) -> str:
    return tag_of_user(await asks.edge.identity.accounts.find(asks.who, user_id))


def _told(user: User, status: int = 200) -> Response:
    return tagged(answer(user_json(user), status), tag_of_user(user))


@router.get("/audit", response_model=shapes.AuditPage)
async def read_audit(
    asks: Asks,
    limit: Limit = 50,
    before: Annotated[int | None, Query(ge=1, le=bodies.COUNT_MAX)] = None,
    actor_id: UUID | None = None,
) -> Response:
    """What was done in the organisation, newest first; for its admins."""
    found = await audit.page(
        asks.edge.identity.audit,
        asks.who,
        limit=limit,
        before_seq=before,
        actor_id=None if actor_id is None else UserId(actor_id),
    )
    entries: list[dict[str, Any]] = [
        {
            "seq": each.seq,
            "at": each.at,
            "action": each.action,
            "actor_id": None if each.actor_id is None else str(each.actor_id),
            "credential": each.credential,
            "target_kind": each.target_kind,
            "target_id": each.target_id,
            "address": each.address,
            "detail": each.detail,
        }
        for each in found
    ]
    return answer({"entries": entries, "before": found[-1].seq if len(found) == limit else None})


def _cursor(user: User) -> str:
    return base64.urlsafe_b64encode(f"{user.user_id} {user.name}".encode()).decode().rstrip("=")


def _place(cursor: str) -> tuple[str, UserId]:
    try:
        said = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode()
        user_id, name = said.split(" ", 1)
        return name, UserId(UUID(user_id))
    except ValueError as error:
        raise FieldRefused("after", "not a cursor of this list") from error
