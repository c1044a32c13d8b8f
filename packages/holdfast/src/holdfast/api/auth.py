"""From a request to who it is, whether they may ask again so soon, and under which key.

A key comes in `Authorization: Bearer`, a browser's sign-in in its cookie. Who shows a key is judged
by the key alone. A cookie speaks only for our own pages. Nothing is ever taken from a URL.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from fastapi import Depends, Header, Request
from starlette.requests import HTTPConnection

from holdfast.admin.registry import Setting
from holdfast.api.dependencies import Edge
from holdfast.api.errors import NotAuthenticated, OriginRefused
from holdfast.api.idempotency import digest_of
from holdfast.api.strict import check_query, known_parameters
from holdfast.chats import listing
from holdfast.chats.changes import Actor
from holdfast.domain.ids import CLIENT_KEY_CHARS_MAX, ClientKey
from holdfast.domain.policy import Principal
from holdfast.identity.browser import BROWSER_COOKIE, SIGN_IN_COOKIE, origin_allowed
from holdfast.identity.networks import network_of
from holdfast.identity.sign_in import Visitor
from holdfast.ports.persons import ask_for
from holdfast.ports.store import IdempotencyKey

Opens: TypeAlias = Literal["answer", "stream", "websocket"]
_PRINTABLE: Final = r"^[\x21-\x7e]+$"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Caller:
    """The one who asks, and what they ask it of."""

    edge: Edge
    who: Principal

    @property
    def driver(self) -> Actor:
        """As whom to command the ledger; `NotAllowed` if the credential is not good for that."""
        return listing.driver(self.who)

    @property
    def approver(self) -> Actor:
        """As whom to decide about tool calls; `NotAllowed` without the scope `approve`."""
        return listing.approver(self.who)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that the caller's organisation may see; the default first."""
        edge, org_id = self.edge, self.who.org_id
        names = self._names
        default = edge.added.default_of(org_id)
        return names if default not in names else (default, *(n for n in names if n != default))

    @property
    def default_model(self) -> str | None:
        """For messages that name none. None: this process knows no model."""
        chosen = self.edge.purposes.default_of(self.who.org_id)
        return chosen or next(iter(self._names), None)

    @property
    def _names(self) -> tuple[str, ...]:
        edge, org_id = self.edge, self.who.org_id
        return tuple(name for name in edge.models.names() if edge.added.sees(org_id, name))

    def current(self, setting: Setting[T]) -> T:
        """The setting of the caller's organisation, from memory."""
        return self.edge.settings.current(setting).of(self.who.org_id)


def edge_of(connection: HTTPConnection) -> Edge:
    edge = connection.app.state.edge
    assert isinstance(edge, Edge)
    return edge


async def authenticate(connection: HTTPConnection, opens: Opens) -> Caller:
    edge = edge_of(connection)
    who = await _principal(edge, connection, opens)
    if who is None:
        edge.strangers.take(address_of(connection))
        raise NotAuthenticated
    edge.rates.take(who.user_id)
    ask_for(who.user_id)
    return Caller(edge, who)


async def _principal(edge: Edge, connection: HTTPConnection, opens: Opens) -> Principal | None:
    shown = connection.headers.get("authorization")
    if shown is not None:
        scheme, _, key = shown.partition(" ")
        if scheme.lower() != "bearer":
            return None
        _check_stranger(edge, connection, key)
        return await edge.identity.gate.authenticate(key)
    token = connection.cookies.get(SIGN_IN_COOKIE)
    if token is None:
        return None
    if not from_own_page(edge, connection, opens):
        raise OriginRefused
    return await cookie_principal(edge, connection)


async def cookie_principal(edge: Edge, connection: HTTPConnection) -> Principal | None:
    token = connection.cookies.get(SIGN_IN_COOKIE)
    if token is None:
        return None
    _check_stranger(edge, connection, token)
    return await edge.identity.gate.authenticate_cookie(token)


def _check_stranger(edge: Edge, connection: HTTPConnection, shown: str) -> None:
    """Before the database is asked about what may be a guess. Who was let in here before is let
    through: an office behind one address must not suffer for one of its machines."""
    if not edge.identity.gate.remembers(shown):
        edge.strangers.check(address_of(connection))


def address_of(connection: HTTPConnection) -> str:
    """Whom to count: behind a proxy of ours, the address that it names. Of IPv6, the network: a
    client with one address there has 2⁶⁴."""
    return network_of(None if connection.client is None else connection.client.host)


def from_own_page(edge: Edge, connection: HTTPConnection, opens: Opens = "answer") -> bool:
    return origin_allowed(
        own_origins=edge.options.own_origins,
        method=connection.scope.get("method", "GET"),
        origin=connection.headers.get("origin"),
        sec_fetch_site=connection.headers.get("sec-fetch-site"),
        opens=opens,
    )


def by_browser(connection: HTTPConnection) -> bool:
    """Whether a browser says where this comes from; programs do not."""
    return "origin" in connection.headers or "sec-fetch-site" in connection.headers


def visitor_of(connection: HTTPConnection) -> Visitor:
    return Visitor(
        None if connection.client is None else connection.client.host,
        connection.headers.get("user-agent"),
        connection.cookies.get(SIGN_IN_COOKIE),
        connection.cookies.get(BROWSER_COOKIE),
    )


async def _caller(connection: HTTPConnection) -> Caller:
    return await authenticate(connection, "answer")


async def _stream_caller(connection: HTTPConnection) -> Caller:
    return await authenticate(connection, "stream")


async def _websocket_caller(connection: HTTPConnection) -> Caller:
    check_query(connection, known_parameters(connection.scope["route"].dependant))
    return await authenticate(connection, "websocket")


async def _edge(connection: HTTPConnection) -> Edge:
    return edge_of(connection)


async def _stranger(connection: HTTPConnection) -> Edge:
    edge = edge_of(connection)
    edge.strangers.take(address_of(connection))
    return edge


async def _keyed(
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=CLIENT_KEY_CHARS_MAX,
            pattern=_PRINTABLE,
            description="The same key and equal JSON: done once, and answered the same, with the"
            " header `Idempotent-Replayed: true`. The same key and other JSON:"
            " `idempotency_key_reused`.",
        ),
    ] = None,
) -> IdempotencyKey | None:
    if idempotency_key is None:
        return None
    digest = digest_of(request.method, request.scope["path"], await request.body())
    return IdempotencyKey(ClientKey(idempotency_key), digest)


Asks: TypeAlias = Annotated[Caller, Depends(_caller)]
Follows: TypeAlias = Annotated[Caller, Depends(_stream_caller)]
FollowsBySocket: TypeAlias = Annotated[Caller, Depends(_websocket_caller)]
TheEdge: TypeAlias = Annotated[Edge, Depends(_edge)]
TheStranger: TypeAlias = Annotated[Edge, Depends(_stranger)]
"""The edge, for a route that asks for no credential: counted by address."""
ByKey: TypeAlias = Annotated[IdempotencyKey | None, Depends(_keyed)]
