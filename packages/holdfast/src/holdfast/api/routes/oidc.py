"""Log in through an identity provider: there with a cookie, back with a code."""

import logging
from typing import Annotated, Final, TypeAlias

from fastapi import Path, Query, Request
from starlette.responses import Response

from holdfast.api import responses as shapes
from holdfast.api.auth import Asks, TheStranger, cookie_principal, visitor_of
from holdfast.api.dependencies import Edge, OidcDoor
from holdfast.api.errors import NoSuchProvider
from holdfast.api.presenters import answer
from holdfast.api.problems import problem_of
from holdfast.api.routes.common import router_for
from holdfast.api.routes.credentials import set_sign_in
from holdfast.domain.denials import NotAllowed, OidcRefused
from holdfast.identity.browser import COOKIE_ATTRIBUTES, OIDC_COOKIE
from holdfast.identity.oidc import Begun, Callback

router = router_for("oidc")

_LOG: Final = logging.getLogger(__name__)
PARAMETER_CHARS_MAX: Final = 4_096
ProviderInPath: TypeAlias = Annotated[str, Path(alias="provider", max_length=40)]
Parameter: TypeAlias = Annotated[str | None, Query(max_length=PARAMETER_CHARS_MAX)]
ReturnTo: TypeAlias = Annotated[
    str | None,
    Query(
        max_length=PARAMETER_CHARS_MAX,
        description="A path of this server to go on to; anything else is the front page.",
    ),
]


@router.get("/oidc", response_model=shapes.OidcProviders)
async def providers(edge: TheStranger) -> Response:
    """The identity providers through which people may log in."""
    told = [
        {"name": name, "title": door.title, "start": f"/api/v1/oidc/{name}/start"}
        for name, door in edge.oidc.items()
    ]
    return answer({"providers": told})


@router.get("/oidc/{provider}/start", status_code=302, response_class=Response)
async def start(
    provider: ProviderInPath, edge: TheStranger, return_to: ReturnTo = None
) -> Response:
    """For a browser: go to the provider, with a cookie that only the way back is good for."""
    door = _door(edge, provider)
    begun = await door.login.begin(return_to=return_to)
    response = Response(status_code=302, headers={"location": begun.url})
    _remember(response, begun, door)
    return response


@router.post("/oidc/{provider}/link", response_model=shapes.OidcLink)
async def link(provider: ProviderInPath, asks: Asks, return_to: ReturnTo = None) -> Response:
    """Begin to log in this way from now on, too: send the browser, which must be signed in, to
    `location`. Changes nothing by itself, so a repeat only begins again."""
    if asks.who.credential.kind != "sign_in":
        raise NotAllowed("a login is linked in a signed-in session, not with an API key")
    door = _door(asks.edge, provider)
    begun = await door.login.begin(return_to=return_to, link_to=asks.who)
    response = answer({"location": begun.url})
    _remember(response, begun, door)
    return response


@router.get("/oidc/{provider}/callback", status_code=302, response_class=Response)
async def come_back(
    provider: ProviderInPath,
    edge: TheStranger,
    request: Request,
    state: Parameter = None,
    code: Parameter = None,
    iss: Parameter = None,
    error: Parameter = None,
) -> Response:
    """Where the provider sends the browser: signs it in and goes on, or `login_refused`."""
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
        _LOG.warning("identity: login through %s was refused: %s", provider, refused.detail)
        response = problem_of(refused)
    else:
        response = Response(status_code=302, headers={"location": finished.return_to})
        if finished.opened is not None:
            set_sign_in(response, edge, finished.opened.token)
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
