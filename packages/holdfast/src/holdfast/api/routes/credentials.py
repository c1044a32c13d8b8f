"""Sign in and out, and keys for programs."""

from fastapi import Request
from starlette.responses import Response

from holdfast.api import account_responses as shapes
from holdfast.api import requests as bodies
from holdfast.api.auth import Asks, ByKey, TheStranger, by_browser, from_own_page, visitor_of
from holdfast.api.cursors import cut_page, time_cursor, time_place
from holdfast.api.dependencies import Edge
from holdfast.api.errors import OriginRefused
from holdfast.api.presenters import answer, key_json, nothing, page, session_json, user_json
from holdfast.api.routes.common import (
    ApiKeyIdInPath,
    Cursor,
    Limit,
    SessionIdInPath,
    UserChoice,
    chosen_user,
    router_for,
)
from holdfast.domain.ids import ApiKeyId, OrgId, SignInId
from holdfast.identity.browser import BROWSER_COOKIE, COOKIE_ATTRIBUTES, SIGN_IN_COOKIE
from holdfast.identity.sign_in import OpenedSignIn

router = router_for("auth")


@router.post("/sessions", status_code=201, response_model=shapes.User)
async def create_session(
    body: bodies.CreateSession, edge: TheStranger, request: Request
) -> Response:
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
    set_sign_in(response, edge, opened)
    return response


@router.post("/sessions/by-link", status_code=201, response_model=shapes.User)
async def create_session_by_link(
    body: bodies.UseSignInLink, edge: TheStranger, request: Request
) -> Response:
    """By the one-time link that `holdfast dev` prints. The answer sets a cookie. The link is valid
    once, for 15 minutes, and on the machine of the server."""
    if by_browser(request) and not from_own_page(edge, request):
        raise OriginRefused
    opened = await edge.identity.links.sign_in(body.token, visitor_of(request))
    response = answer(user_json(opened.user), 201)
    set_sign_in(response, edge, opened)
    return response


def set_sign_in(response: Response, edge: Edge, opened: OpenedSignIn) -> None:
    """The cookie of the sign-in, and that by which the account knows the browser later."""
    options = edge.identity.sign_ins.options
    for name, value, lifetime in (
        (SIGN_IN_COOKIE, opened.token, options.lifetime),
        (BROWSER_COOKIE, opened.browser, options.browser_lifetime),
    ):
        max_age = int(lifetime.total_seconds())
        response.set_cookie(name, value, max_age=max_age, **COOKIE_ATTRIBUTES)


@router.get("/sessions", response_model=shapes.SessionPage)
async def list_sessions(
    asks: Asks, user_id: UserChoice = "me", limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """Valid sessions, newest first: the caller's, or (for an admin) those of other users."""
    found = await asks.edge.identity.sign_ins.list(
        asks.who, chosen_user(asks, user_id), limit=limit + 1, after=time_place(cursor)
    )
    shown, last = cut_page(found, limit)
    following = None if last is None else time_cursor(last.created_at, last.sign_in_id)
    return page([session_json(each) for each in shown], following)


@router.delete("/sessions/current", status_code=204)
async def revoke_current_session(asks: Asks) -> Response:
    """End the session of the request."""
    await asks.edge.identity.sign_ins.close(asks.who)
    response = nothing()
    response.delete_cookie(SIGN_IN_COOKIE, **COOKIE_ATTRIBUTES)
    return response


@router.delete("/sessions/{session_id}", status_code=204)
async def revoke_session(session_id: SessionIdInPath, asks: Asks) -> Response:
    """End a session of the caller, or (for an admin) of any user."""
    await asks.edge.identity.sign_ins.revoke(asks.who, SignInId(session_id))
    return nothing()


@router.get("/api-keys", response_model=shapes.ApiKeyPage)
async def list_api_keys(
    asks: Asks, user_id: UserChoice = "me", limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """API keys, newest first: the caller's, or (for an admin) those of other users."""
    found = await asks.edge.identity.keys.list(
        asks.who, chosen_user(asks, user_id), limit=limit + 1, after=time_place(cursor)
    )
    shown, last = cut_page(found, limit)
    following = None if last is None else time_cursor(last.created_at, last.key_id)
    return page([key_json(each) for each in shown], following)


@router.post("/api-keys", status_code=201, response_model=shapes.CreatedApiKey)
async def create_api_key(body: bodies.CreateApiKey, asks: Asks, key: ByKey) -> Response:
    """Create a key for the caller, in a session: no API key creates another one. The secret is
    returned once: a repeat under the same `Idempotency-Key` creates nothing, and
    `api_key_already_created` names the key to revoke."""
    made = await asks.edge.identity.keys.create(
        asks.who, name=body.name, scopes=body.scopes, expires_at=body.expires_at, keyed=key
    )
    return answer({**key_json(made.key), "secret": made.secret}, 201)


@router.delete("/api-keys/{api_key_id}", status_code=204)
async def revoke_api_key(api_key_id: ApiKeyIdInPath, asks: Asks) -> Response:
    """Effective here at once, and everywhere, open streams too, within 30 s."""
    await asks.edge.identity.keys.revoke(asks.who, ApiKeyId(api_key_id))
    return nothing()
