"""The edge of a server: identity from settings, the app over it, and the first admin."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import metadata
from typing import TYPE_CHECKING, Final

from holdfast.admin.catalogue.user_keys import UserKeys
from holdfast.admin.purposes import PurposeModels
from holdfast.admin.settings import API_KEY_DAYS_MAX, OIDC_SIGN_UP_ENABLED
from holdfast.api.app import PREFIX, create_app
from holdfast.api.dependencies import Chats, Edge, Identity, OidcDoor, WebOptions
from holdfast.api.protocol import HeadOptions
from holdfast.api.rates import Rates
from holdfast.api.serving import Serving, ServingOptions, bind, serving
from holdfast.api.streams import StreamPlaces
from holdfast.bootstrap.adapters import Adapters, PeopleAdapters, open_adapters
from holdfast.bootstrap.approvals import approval_policy
from holdfast.bootstrap.background import beside
from holdfast.bootstrap.model_checks import try_model
from holdfast.bootstrap.published_models import vendor_cards
from holdfast.bootstrap.server import READY_LOOKS_S, Server
from holdfast.chats.publishing_listing import PublishingListing
from holdfast.domain.accounts import User
from holdfast.domain.denials import WrongCredentials
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import OrgId
from holdfast.domain.policy import Scope
from holdfast.identity.access_watch import AccessWatch
from holdfast.identity.accounts import Accounts
from holdfast.identity.chance import SystemChance
from holdfast.identity.gate import Gate
from holdfast.identity.keys import ApiKeys, CreatedApiKey
from holdfast.identity.oidc import FirstLogin, OidcLogin
from holdfast.identity.one_time_links import OneTimeLinks
from holdfast.identity.passwords import Passwords
from holdfast.identity.people import People
from holdfast.identity.provider import Provider, ProviderOptions
from holdfast.identity.sign_in import PasswordLogin, SignIns, Visitor
from holdfast.identity.throttle import Throttle
from holdfast.settings import OidcSettings, Settings
from holdfast.telemetry.metrics import Metrics, numbers_of

if TYPE_CHECKING:
    import socket

FORGET_EVERY_S: Final = 600.0
THROTTLED_FOR: Final = timedelta(hours=1)
FORGET_AT_ONCE: Final = 1_000
_LOG: Final = logging.getLogger(__name__)


def identity_of(adapters: Adapters) -> Identity:
    people = adapters.people
    assert people is not None, "an edge needs its adapters"
    clock = adapters.clock
    chance = SystemChance(clock)
    gate = Gate(people.credentials)
    passwords = Passwords()
    throttle = Throttle(people.credentials)
    sign_ins = SignIns(people.credentials, people.audit, gate, clock, chance)
    return Identity(
        gate=gate,
        accounts=Accounts(people.users, passwords, throttle, gate, clock, chance),
        sign_ins=sign_ins,
        login=PasswordLogin(sign_ins, passwords, throttle),
        links=OneTimeLinks(sign_ins, clock, chance),
        keys=ApiKeys(
            people.credentials, gate, clock, chance, adapters.settings.current(API_KEY_DAYS_MAX)
        ),
        people=People(people.people, passwords, sign_ins, gate, clock, chance),
        audit=people.audit,
    )


@asynccontextmanager
async def open_identity(settings: Settings) -> AsyncGenerator[Identity]:
    """For commands that need nothing else of a server."""
    async with open_adapters(settings, Metrics()) as adapters:
        yield identity_of(adapters)


def edge_of(server: Server, settings: Settings) -> Edge:
    adapters = server.adapters
    assert server.hub is not None, "who serves people has a hub"
    assert server.watching is not None, "and lets them watch their lists"
    people = adapters.people
    assert people is not None, "an edge needs its adapters"
    identity = identity_of(adapters)
    return Edge(
        chats=Chats(
            ledger=server.ledger,
            store=adapters.store,
            history=adapters.history,
            listing=PublishingListing(
                people.listing,
                adapters.bus,
                None if server.texts is None else server.texts.seek_title,
            ),
            hub=server.hub,
            watching=server.watching,
            ids=adapters.ids,
        ),
        identity=identity,
        settings=people.settings,
        clock=adapters.clock,
        models=people.models,
        added=people.added,
        purposes=PurposeModels(
            people.settings, people.added, lambda name: name in (people.models.names() or (name,))
        ),
        catalogue=people.catalogue,
        user_keys=UserKeys(people.added, adapters.clock),
        ask_model=lambda name: try_model(adapters.models, name),
        list_models=people.lists.find,
        vendors=vendor_cards(),
        approvals=approval_policy(settings),
        reserved_tools=adapters.tools.names,
        metrics=server.metrics.text,
        version=metadata.version("holdfast"),
        options=WebOptions(
            own_origins=settings.own_origins,
            image_hosts=settings.image_hosts,
            requests_max=settings.requests_max,
        ),
        rates=Rates(settings.rate_per_s, settings.rate_burst),
        strangers=Rates(settings.stranger_rate_per_s, settings.stranger_rate_burst),
        streams=StreamPlaces(settings.streams_per_user_max, settings.streams_per_chat_max),
        workspaces=adapters.workspaces,
        check_writable=adapters.check_writable,
        oidc={each.name: _door(each, settings, adapters, identity) for each in settings.oidc},
    )


def _door(
    given: OidcSettings, settings: Settings, adapters: Adapters, identity: Identity
) -> OidcDoor:
    people = adapters.people
    assert people is not None, "an edge needs its adapters"
    secret = given.client_secret
    provider = Provider(
        people.fetching,
        ProviderOptions(
            issuer=given.issuer,
            client_id=given.client_id,
            client_secret=None if secret is None else secret.get_secret_value(),
            redirect_uri=f"{settings.origins[0]}{PREFIX}/oidc/{given.name}/callback",
            http_on_loopback=given.on_loopback,
        ),
    )
    first = FirstLogin(
        org_id=None if given.org_id is None else OrgId(given.org_id),
        email_domains=frozenset(given.email_domains),
        sign_up=adapters.settings.current(OIDC_SIGN_UP_ENABLED),
    )
    chance = SystemChance(adapters.clock)
    login = OidcLogin(provider, people.links, identity.sign_ins, adapters.clock, chance, first)
    return OidcDoor(title=given.title or given.name, login=login, lifetime=first.state_lifetime)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server on its socket: `run` until `drain` has done its work."""

    server: Server
    edge: Edge
    http: Serving
    bound: "socket.socket"

    @property
    def url(self) -> str:
        host, port = self.bound.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def ready(self) -> None:
        """Until it answers. Looks now and then: it happens once."""
        await self.server.ready()
        while not self.http.started:  # noqa: ASYNC110
            await asyncio.sleep(READY_LOOKS_S)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.server.run(), name="server")
            tasks.create_task(self.http.serve(sockets=[self.bound]), name="http")

    def drain(self) -> None:
        """Accept nothing more, end every stream with a hint to come again, hand over turns."""
        self.http.stop()
        self.server.drain()


@asynccontextmanager
async def open_served(server: Server, settings: Settings) -> AsyncGenerator[Served]:
    """Raises `OSError` if the address cannot be used."""
    options = ServingOptions(
        host=settings.host,
        port=settings.port,
        trusted_proxies=settings.trusted_proxies,
        stalled_s=settings.stalled_s,
        connections_max=settings.connections_max,
        connections_per_address_max=settings.connections_per_address_max,
        head=HeadOptions(within_s=settings.head_s),
    )
    edge = edge_of(server, settings)
    people = server.adapters.people
    assert people is not None, "an edge needs its adapters"
    with bind(options) as bound:
        if settings.admin_password is not None:
            await create_first(
                edge.identity,
                organisation=settings.organisation,
                email=settings.admin_email,
                password=settings.admin_password.get_secret_value(),
            )
        watch = AccessWatch(people.people, edge.identity.gate, edge.streams.end_all_of)
        async with (
            beside(lambda: _forget(people), "forget expired"),
            beside(watch.keep, "access of disabled users"),
        ):
            http = serving(create_app(edge), options)
            server.metrics.bind("http", lambda: numbers_of(http.counters))
            server.metrics.bind("places", lambda: numbers_of(edge.streams.counters))
            yield Served(server=server, edge=edge, http=http, bound=bound)


async def _forget(people: PeopleAdapters) -> None:
    """Delete expired credentials, which are refused anyway, and prompt prefixes that no message
    names: this frees disk space. Of the prefixes, one batch each time."""
    after = ""
    while True:
        try:
            while await people.credentials.forget_expired(window=THROTTLED_FOR) >= FORGET_AT_ONCE:
                pass
            after = (await people.prefixes.forget_unnamed(after=after)).last or ""
        except Unavailable as error:
            _LOG.warning("server: expired rows could not be removed: %s", error)
        await asyncio.sleep(FORGET_EVERY_S)


@dataclass(frozen=True, slots=True)
class First:
    user: User
    key: CreatedApiKey = field(repr=False)


async def create_first(
    identity: Identity, *, organisation: str, email: str, password: str, name: str = "Admin"
) -> User | None:
    """The first admin; None if there is any user already."""
    return await identity.accounts.create_first_admin(
        org_name=organisation, name=name, email=email, password=password
    )


async def create_first_with_key(
    identity: Identity, *, organisation: str, email: str, password: str, name: str
) -> First | None:
    """And a key that is good for everything, made as that admin would make it."""
    user = await create_first(
        identity, organisation=organisation, email=email, password=password, name=name
    )
    if user is None:
        return None
    return First(user, await _new_key(identity, email, password))


async def key_of(identity: Identity, *, email: str, password: str, known: str) -> str | None:
    """The known key if it is still valid; otherwise a new key of the user with this password; None
    if the password is wrong."""
    if known and await identity.gate.authenticate(known) is not None:
        return known
    try:
        return (await _new_key(identity, email, password)).secret
    except WrongCredentials:
        return None


async def _new_key(identity: Identity, email: str, password: str) -> CreatedApiKey:
    opened = await identity.login.sign_in(email, password, Visitor(agent="holdfast admin"))
    who = await identity.gate.authenticate_cookie(opened.token)
    assert who is not None, "signed in just now"
    key = await identity.keys.create(who, name="first key", scopes=frozenset(Scope))
    await identity.sign_ins.close(who)
    return key
