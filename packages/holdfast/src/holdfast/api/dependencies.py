"""What the edge is given by the composition root, and its bounds."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from holdfast.admin.catalogue.added import AddedCatalogue, OpenedProvider
from holdfast.admin.catalogue.changes import CatalogueChanges
from holdfast.admin.catalogue.user_keys import UserKeys
from holdfast.admin.current import SettingsCache
from holdfast.admin.purposes import PurposeModels
from holdfast.api.rates import Rates
from holdfast.api.streams import StreamPlaces
from holdfast.chats.changes import ChatWriter
from holdfast.domain.approvals import Policy
from holdfast.identity.accounts import Accounts
from holdfast.identity.gate import Gate
from holdfast.identity.keys import ApiKeys
from holdfast.identity.oidc import OidcLogin
from holdfast.identity.one_time_links import OneTimeLinks
from holdfast.identity.people import People
from holdfast.identity.sign_in import PasswordLogin, SignIns
from holdfast.ports.catalogue import PublishedList, TriedModel, VendorCard
from holdfast.ports.clock import Clock
from holdfast.ports.history import History
from holdfast.ports.identity import AuditLog
from holdfast.ports.ids import Ids
from holdfast.ports.listing import Listing
from holdfast.ports.models import OfferedModels
from holdfast.ports.store import Store
from holdfast.ports.workspaces import Workspaces
from holdfast.stream.hub import Hub
from holdfast.stream.list_watchers import ListWatchers


@dataclass(frozen=True, slots=True, kw_only=True)
class WebOptions:
    own_origins: frozenset[str] = frozenset()
    """Where our own pages come from, as browsers say it; a cookie speaks for no others."""
    image_hosts: tuple[str, ...] = ()
    """Whose pictures the page shows."""
    body_bytes_max: int = 1 * 2**20
    body_s_max: float = 30.0
    """How long a body may take to arrive."""
    recheck_every_s: float = 5.0
    """After so long a stream asks again whether its reader may still read. Looked at with each
    event, and pings come every 15 s: so a revoked credential ends it within 20 s (A3)."""
    requests_max: int = 500
    """Requests under way at once, without streams; a further one is sent away at once."""
    reconnect_ms: int = 1_000
    """What streams are told when this replica stops: come again after so long."""

    def __post_init__(self) -> None:
        assert self.body_bytes_max > 0
        assert self.requests_max > 0
        assert self.body_s_max > 0
        assert 0 <= self.recheck_every_s <= 5.0, "with the ping, 20 s at most"
        assert all(origin == origin.lower() for origin in self.own_origins)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who is there and what they may."""

    gate: Gate
    accounts: Accounts
    sign_ins: SignIns
    login: PasswordLogin
    links: OneTimeLinks
    keys: ApiKeys
    people: People
    audit: AuditLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Chats:
    """The one door, and how to read and follow what is behind it."""

    ledger: ChatWriter
    store: Store
    history: History
    listing: Listing
    hub: Hub
    watching: ListWatchers
    ids: Ids


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcDoor:
    """A provider, as people see it; `lifetime`: how long they may take to come back."""

    title: str
    login: OidcLogin
    lifetime: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    chats: Chats
    identity: Identity
    settings: SettingsCache
    """What admins set while the server runs."""
    clock: Clock
    models: OfferedModels
    added: AddedCatalogue
    """Models that admins added, as this process knows them."""
    purposes: PurposeModels
    """Which model does what."""
    catalogue: CatalogueChanges
    user_keys: UserKeys
    ask_model: Callable[[str], Awaitable[TriedModel]]
    """Ask a model for one word."""
    list_models: Callable[[OpenedProvider], Awaitable[PublishedList]]
    """Ask a provider for its list of models."""
    vendors: Sequence[VendorCard]
    approvals: Policy
    """The server's own rules."""
    reserved_tools: frozenset[str]
    """The server's own, which no chat may declare."""
    metrics: Callable[[], bytes]
    version: str
    options: WebOptions = field(default_factory=WebOptions)
    rates: Rates = field(default_factory=Rates)
    strangers: Rates = field(default_factory=lambda: Rates(20.0, 400))
    """By address: those who show no credential that holds."""
    streams: StreamPlaces = field(default_factory=StreamPlaces)
    workspaces: Workspaces | None = None
    """None: no template is offered."""
    check_writable: Callable[[], Awaitable[None]] | None = None
    """Raises `Unavailable` while the database takes no writes; None: nothing to check."""
    oidc: Mapping[str, OidcDoor] = field(default_factory=dict[str, OidcDoor])
    """By the name in their path."""
