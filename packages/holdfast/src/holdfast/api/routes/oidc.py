"""Log in through an identity provider: there with a cookie, back with a code."""

import logging
from typing import Annotated, Final, TypeAlias

from fastapi import Path, Query, Request
from starlette.responses import Response

from holdfast.api import account_responses as shapes
from holdfast.api.auth import Asks, TheStranger, cookie_principal, visitor_of
from holdfast.api.dependencies import Edge, OidcDoor
from holdfast.api.errors import NoSuchProvider
from holdfast.api.presenters import answer, page
from holdfast.api.problems import problem_of
from holdfast.api.request_ids import request_id_of
from holdfast.api.routes.common import router_for
from holdfast.api.routes.credentials import set_sign_in
from holdfast.api.strict import AnyQueryRoute
from holdfast.domain.denials import NotAllowed, OidcRefused
from holdfast.identity.browser import COOKIE_ATTRIBUTES, OIDC_COOKIE
from holdfast.identity.oidc import Begun, Callback

router = router_for("auth")
returns = router_for("auth", AnyQueryRoute)
"""Providers add parameters of their own, and RFC 6749 says that a client ignores them."""

_LOG: Final = logging.getLogger(__name__)
PARAMETER_CHARS_MAX: Final = 4_096
ProviderInPath: TypeAlias = Annotated[
    str, Path(alias="provider", max_length=40, description="The `name` of an identity provider.")
]
State: TypeAlias = Annotated[
    str | None,
    Query(max_length=PARAMETER_CHARS_MAX, description="Ties the answer to the login that began."),
]
Code: TypeAlias = Annotated[
    str | None,
    Query(max_length=PARAMETER_CHARS_MAX, description="What the server exchanges for tokens."),
]
Issuer: TypeAlias = Annotated[
    str | None,
    Query(max_length=PARAMETER_CHARS_MAX, description="Which provider answers (RFC 9207)."),
]
LoginError: TypeAlias = Annotated[
    str | None,
    Query(max_length=PARAMETER_CHARS_MAX, description="Why the provider did not log in the user."),
]
ReturnTo: TypeAlias = Annotated[
    str | None,
    Query(
        max_length=PARAMETER_CHARS_MAX,
        description="A path of this server to go on to; anything else is the front page.",
    ),
]


@router.get("/oidc", response_model=shapes.OidcProviderPage)
async def list_oidc_providers(edge: TheStranger) -> Response:
    """The identity providers through which people may log in."""
    told = [
        {"name": name, "title": door.title, "start": f"/api/v1/oidc/{name}/start"}
        for name, door in edge.oidc.items()
    ]
    return page(told)


@router.get("/oidc/{provider}/start", status_code=302, response_class=Response)
async def start_oidc_login(
    provider: ProviderInPath, edge: TheStranger, return_to: ReturnTo = None
) -> Response:
    """For a browser: go to the provider, with a cookie that only the way back is good for."""
    door = _door(edge, provider)
    begun = await door.login.begin(return_to=return_to)
    response = Response(status_code=302, headers={"location": begun.url})
    _remember(response, begun, door)
    return response


@router.post("/oidc/{provider}/link", response_model=shapes.OidcLink)
async def link_oidc_login(
    provider: ProviderInPath, asks: Asks, return_to: ReturnTo = None
) -> Response:
    """Begin to log in this way from now on, too: send the browser, which must be signed in, to
    `location`. Changes nothing by itself, so a repeat only begins again."""
    if asks.who.credential.kind != "session":
        raise NotAllowed("A login is linked in a signed-in session, not with an API key")
    door = _door(asks.edge, provider)
    begun = await door.login.begin(return_to=return_to, link_to=asks.who)
    response = answer({"location": begun.url})
    _remember(response, begun, door)
    return response


@returns.get("/oidc/{provider}/callback", status_code=302, response_class=Response)
async def finish_oidc_login(
    provider: ProviderInPath,
    edge: TheStranger,
    request: Request,
    state: State = None,
    code: Code = None,
    iss: Issuer = None,
    error: LoginError = None,
) -> Response:
    """Where the provider sends the browser: signs it in and goes on, or `oidc_login_failed`."""
    door = _door(edge, provider)
    callback = Callback(state=state, code=code, iss=iss, error=error)
    cookie = request.cookies.get(OIDC_COOKIE)
    # The provider's page sent the browser here, so that this cookie counts although the request
    # does not come from a page of ours: the user who links a login must be the one who began to.
    signed_in = await cookie_principal(edge, request)
    try:
        finished = await door.login.finish(
            callback, cookie, visitor_of(request), signed_in=signed_in
        )
    except OidcRefused as refused:
        request_id = request_id_of(request.scope)
        _LOG.warning(
            "identity: login through %s was refused: %s",
            *(provider, refused.detail),
            extra={"request_id": request_id},
        )
        response = problem_of(refused, request_id)
    else:
        response = Response(status_code=302, headers={"location": finished.return_to})
        if finished.opened is not None:
            set_sign_in(response, edge, finished.opened)
    response.delete_cookie(OIDC_COOKIE, **COOKIE_ATTRIBUTES)
    return response


def _door(edge: Edge, provider: str) -> OidcDoor:
    door = edge.oidc.get(provider)
    if door is None:
        raise NoSuchProvider
    return door


def _remember(response: Response, begun: Begun, door: OidcDoor) -> None:
    max_age = int(door.lifetime.total_seconds())
    response.set_cookie(OIDC_COOKIE, begun.cookie, max_age=max_age, **COOKIE_ATTRIBUTES)
