"""Sign in and out, and keys for programs."""

from uuid import UUID

from fastapi import Request
from starlette.responses import Response

from holdfast.api import requests as bodies
from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, ByKey, TheStranger, by_browser, from_own_page, visitor_of
from holdfast.api.dependencies import Edge
from holdfast.api.errors import OriginRefused
from holdfast.api.presenters import answer, key_json, nothing, sign_in_json, user_json
from holdfast.api.routes.common import router_for
from holdfast.domain.ids import ApiKeyId, OrgId, SignInId, UserId
from holdfast.identity.browser import COOKIE_ATTRIBUTES, SIGN_IN_COOKIE

router = router_for("credentials")


@router.post("/sign-ins", status_code=201, response_model=shapes.User)
async def sign_in(body: bodies.SigningIn, edge: TheStranger, request: Request) -> Response:
    """By e-mail and password. The answer sets a cookie, and says nothing about which was wrong."""
    # A foreign page must not sign a user's browser in to an account of its own choice.
    if by_browser(request) and not from_own_page(edge, request):
        raise OriginRefused
    opened = await edge.identity.login.sign_in(
        body.email,
        body.password,
        visitor_of(request),
        org_id=None if body.org_id is None else OrgId(body.org_id),
    )
    response = answer(user_json(opened.user), 201)
    set_sign_in(response, edge, opened.token)
    return response


def set_sign_in(response: Response, edge: Edge, token: str) -> None:
    max_age = int(edge.identity.sign_ins.options.lifetime.total_seconds())
    response.set_cookie(SIGN_IN_COOKIE, token, max_age=max_age, **COOKIE_ATTRIBUTES)


@router.get("/sign-ins", response_model=shapes.SignInList)
async def sign_ins(asks: Asks, user_id: UUID | None = None) -> Response:
    """The caller's valid sessions, or (for an admin) those of another user."""
    whose = None if user_id is None else UserId(user_id)
    found = await asks.edge.identity.sign_ins.list(asks.who, whose)
    return answer({"sign_ins": [sign_in_json(each) for each in found]})


@router.delete("/sign-ins/current", status_code=204)
async def sign_out(asks: Asks) -> Response:
    """End the sign-in that asks."""
    await asks.edge.identity.sign_ins.close(asks.who)
    response = nothing()
    response.delete_cookie(SIGN_IN_COOKIE, **COOKIE_ATTRIBUTES)
    return response


@router.delete("/sign-ins/{sign_in_id}", status_code=204)
async def revoke_sign_in(sign_in_id: UUID, asks: Asks) -> Response:
    """End a session of the caller, or (for an admin) of any user."""
    await asks.edge.identity.sign_ins.revoke(asks.who, SignInId(sign_in_id))
    return nothing()


@router.get("/keys", response_model=shapes.Keys)
async def keys(asks: Asks, user_id: UUID | None = None) -> Response:
    """The caller's keys, or a user's; an admin who names no user gets the organisation's."""
    whose = None if user_id is None else UserId(user_id)
    found = await asks.edge.identity.keys.list(asks.who, whose)
    return answer({"keys": [key_json(each) for each in found]})


@router.post("/keys", status_code=201, response_model=shapes.MadeKey)
async def make_key(body: bodies.NewKey, asks: Asks, key: ByKey) -> Response:
    """Create a key for the caller, with no more access than the credential of the request. The
    secret is returned once: a repeat under the same `Idempotency-Key` creates nothing, and
    `already_made` names the key to revoke."""
    made = await asks.edge.identity.keys.create(
        asks.who, name=body.name, scopes=body.scopes, expires_at=body.expires_at, keyed=key
    )
    return answer({**key_json(made.key), "secret": made.secret}, 201)


@router.delete("/keys/{key_id}", status_code=204)
async def revoke_key(key_id: UUID, asks: Asks) -> Response:
    """Effective here at once, and everywhere, open streams too, within 30 s."""
    await asks.edge.identity.keys.revoke(asks.who, ApiKeyId(key_id))
    return nothing()
