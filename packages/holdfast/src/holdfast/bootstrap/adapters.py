"""Everything that talks to the world, opened in order and closed in reverse.

pool → clock → bus → transport and models → workspaces → tools. The heartbeat has a connection of
its own, opened in its thread: a pool belongs to one event loop, and a lease must not wait for a
place in it, nor in a pooler.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from holdfast.adapters.bus.lossy import LossyBus
from holdfast.adapters.bus.postgres import open_postgres_bus
from holdfast.adapters.http_client.http import open_fetching
from holdfast.adapters.postgres.audit import PostgresAuditLog
from holdfast.adapters.postgres.bus_key import read_bus_key
from holdfast.adapters.postgres.catalogue import PostgresCatalogue
from holdfast.adapters.postgres.chat_texts import PostgresChatTexts
from holdfast.adapters.postgres.clock import DatabaseClock
from holdfast.adapters.postgres.credentials import PostgresCredentials
from holdfast.adapters.postgres.generation import newest_generation
from holdfast.adapters.postgres.history import PostgresHistory
from holdfast.adapters.postgres.leases import PostgresLeases
from holdfast.adapters.postgres.listing import PostgresListing
from holdfast.adapters.postgres.migrate import refuse_behind
from holdfast.adapters.postgres.oidc import PostgresOidcLinks
from holdfast.adapters.postgres.org_settings import PostgresOrgSettings
from holdfast.adapters.postgres.people import PostgresPeople
from holdfast.adapters.postgres.pool import (
    BoundedPool,
    Pool,
    PoolOptions,
    open_pool,
    server_version,
)
from holdfast.adapters.postgres.prefixes import PostgresPrefixes
from holdfast.adapters.postgres.store import PostgresStore
from holdfast.adapters.postgres.user_keys import PostgresUserKeys
from holdfast.adapters.postgres.users import PostgresUsers
from holdfast.adapters.postgres.writable import check_writable
from holdfast.adapters.providers.models import ConfiguredModels
from holdfast.adapters.providers.transport import open_transport
from holdfast.adapters.workspaces.client import AgentClient
from holdfast.admin.catalogue.added import AddedCatalogue
from holdfast.admin.catalogue.changes import CatalogueChanges
from holdfast.admin.current import CurrentSettings, NothingSet, SettingsCache
from holdfast.admin.generation import SettingsReload
from holdfast.bootstrap.added_models import AddedModelBuilder
from holdfast.bootstrap.advisor import advisor_terms
from holdfast.bootstrap.background import beside
from holdfast.bootstrap.ids import SystemIds
from holdfast.bootstrap.master_key import master_keys, open_vault
from holdfast.bootstrap.models_reload import open_models
from holdfast.bootstrap.options import (
    load_price_list,
    may_add_models,
    model_configs,
    pool_options,
)
from holdfast.bootstrap.published_models import PublishedLists
from holdfast.bootstrap.workspaces import open_workspaces, provisioners
from holdfast.domain.errors import Unavailable
from holdfast.domain.workspaces import Workspace
from holdfast.ports.bus import Bus, SettingsBus
from holdfast.ports.catalogue import AddedModels, NoAddedModels
from holdfast.ports.chat_texts import ChatTexts
from holdfast.ports.clock import Clock
from holdfast.ports.fetching import Fetching
from holdfast.ports.generation import NoSettings, SettingsGeneration
from holdfast.ports.history import History
from holdfast.ports.identity import AuditLog, Credentials, OidcLinks, Users
from holdfast.ports.ids import Ids
from holdfast.ports.leases import Leases
from holdfast.ports.listing import Listing
from holdfast.ports.models import Models, OfferedModels
from holdfast.ports.people import PeopleStore
from holdfast.ports.prefixes import PromptPrefixes
from holdfast.ports.store import Store
from holdfast.ports.tools import Tools
from holdfast.ports.web_pages import WebPages
from holdfast.ports.workspaces import Workspaces
from holdfast.settings import Settings, WrongSettings
from holdfast.telemetry.metrics import ADVICE_S, Metrics, numbers_of
from holdfast.tools.advisor import Advisor
from holdfast.tools.builtin import Builtin
from holdfast.tools.client import ClientTools
from holdfast.tools.installed import installed
from holdfast.tools.isolated import Isolated, SourceCounters
from holdfast.tools.toolbox import Combined
from holdfast.tools.web_fetch import WebFetch
from holdfast.tools.workspace.toolbox import WorkspaceTools

CLOCK_SYNC_EVERY_S: Final = 60.0
SETTINGS_POLL_EVERY_S: Final = 20.0
"""For hints that were lost: usually every process knows within a second."""
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleAdapters:
    """What only the edge needs: lists of chats, accounts, credentials, what was done."""

    listing: Listing
    users: Users
    credentials: Credentials
    audit: AuditLog
    links: OidcLinks
    fetching: Fetching
    prefixes: PromptPrefixes
    settings: SettingsCache
    models: OfferedModels
    added: AddedCatalogue
    catalogue: CatalogueChanges
    people: PeopleStore
    lists: PublishedLists


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapters:
    """One implementation of each port. `open_leases`: those of the heartbeat, entered where it
    runs. `people`: not there in a simulation, which has no edge and no admins."""

    store: Store
    history: History
    leases: Leases
    bus: Bus
    models: Models
    tools: Tools
    clock: Clock
    ids: Ids
    open_leases: Callable[[], AbstractAsyncContextManager[Leases]]
    people: PeopleAdapters | None = None
    texts: ChatTexts | None = None
    """None: no titles are made, as in a simulation."""
    settings: CurrentSettings = field(default_factory=NothingSet)
    generation: SettingsGeneration = field(default_factory=NoSettings)
    added: AddedModels = field(default_factory=NoAddedModels)
    workspaces: Workspaces | None = None
    """None: no template is offered."""
    check_writable: Callable[[], Awaitable[None]] | None = None
    """Raises `Unavailable` while the database takes no writes."""
    postgres: str = ""
    """The version of the database's server."""
    reload_models: Callable[[], None] | None = None
    """Reads the file with the models again; None: there is none."""


@asynccontextmanager
async def open_adapters(settings: Settings, metrics: Metrics) -> AsyncGenerator[Adapters]:
    url = str(settings.database_url)
    configs = model_configs(settings)  # before anything is opened: what is wrong is said at once
    offered = provisioners(settings)
    masters = master_keys(settings)  # blocks, as the list of prices below
    if configs or may_add_models(settings):
        load_price_list(settings)  # blocks, before any request or turn could wait for it
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        pool = await enter(open_pool(url, pool_options(settings)))
        await refuse_behind(pool)
        clock = await DatabaseClock.open(pool)
        await enter(_in_time(clock, pool))
        vault = await open_vault(pool, clock, masters)
        bus = await enter(_bus(settings, await read_bus_key(pool)))
        transport = await enter(open_transport(clock.now))
        models = await enter(open_models(settings, transport, configs, metrics))
        admin = SettingsCache(PostgresOrgSettings(pool), bus)
        builder = AddedModelBuilder(models.registry, settings)
        added = AddedCatalogue(PostgresCatalogue(pool), PostgresUserKeys(pool), vault, bus, builder)
        generation = await enter(_kept_settings(pool, bus, metrics, admin.read, added.read))
        ids = SystemIds(clock)
        owned_max = settings.workspaces_per_user_max
        opening = open_workspaces(offered, pool, clock, ids, metrics, owned_max=owned_max)
        workspaces = await enter(opening)
        store = _store(pool, settings, generation)
        pages = await enter(open_pages()) if settings.web_fetch else None
        asked = ConfiguredModels(transport, models.registry)
        advisor = _advisor(asked, clock, metrics, admin, added)
        listing = PostgresListing(pool, within_s=settings.list_s)
        _bind(metrics, pool, store, listing)
        yield Adapters(
            store=store,
            history=PostgresHistory(pool),
            leases=PostgresLeases(pool, settings=generation),
            bus=bus,
            models=asked,
            tools=tools_of(clock, workspaces, metrics, pages, advisor),
            clock=clock,
            ids=ids,
            open_leases=lambda: _open_leases(settings, generation),
            people=_people(
                pool,
                listing=listing,
                fetching=await enter(open_fetching()),
                settings=admin,
                models=models.registry,
                added=added,
                catalogue=CatalogueChanges(added, clock, ids.new_row_id),
                lists=PublishedLists(transport, builder),
            ),
            texts=PostgresChatTexts(pool),
            settings=admin,
            generation=generation,
            added=added,
            workspaces=workspaces,
            check_writable=lambda: check_writable(pool),
            postgres=await server_version(pool),
            reload_models=None if models.file is None else models.ask,
        )


def _advisor(
    models: Models,
    clock: Clock,
    metrics: Metrics,
    settings: CurrentSettings,
    added: AddedModels,
) -> Advisor:
    terms_of = advisor_terms(settings, added, models)
    return Advisor(models, clock, terms_of, waited=metrics.observe(ADVICE_S))


def _store(pool: BoundedPool, settings: Settings, generation: SettingsGeneration) -> PostgresStore:
    return PostgresStore(
        pool,
        settings=generation,
        wait_s=settings.database_command_timeout_s,
        chats_max=settings.chats_per_user_max,
        bytes_max=settings.bytes_per_user_max,
    )


def _people(
    pool: BoundedPool,
    *,
    listing: Listing,
    fetching: Fetching,
    settings: SettingsCache,
    models: OfferedModels,
    added: AddedCatalogue,
    catalogue: CatalogueChanges,
    lists: PublishedLists,
) -> PeopleAdapters:
    return PeopleAdapters(
        listing=listing,
        users=PostgresUsers(pool),
        credentials=PostgresCredentials(pool),
        audit=PostgresAuditLog(pool),
        links=PostgresOidcLinks(pool),
        fetching=fetching,
        prefixes=PostgresPrefixes(pool),
        settings=settings,
        models=models,
        added=added,
        catalogue=catalogue,
        people=PostgresPeople(pool),
        lists=lists,
    )


@asynccontextmanager
async def _kept_settings(
    pool: BoundedPool,
    bus: SettingsBus,
    metrics: Metrics,
    *reads: Callable[[], Awaitable[None]],
) -> AsyncGenerator[SettingsReload]:
    """What admins set, read before anything is served and kept up to date."""
    reload = SettingsReload(
        lambda: newest_generation(pool), bus, poll_every_s=SETTINGS_POLL_EVERY_S
    )
    for read in reads:
        reload.also(read)
    await reload.refresh(always=True)
    metrics.bind("settings", lambda: {**numbers_of(reload.counters), "generation": reload.applied})
    async with beside(reload.keep, "settings"):
        yield reload


def _bind(
    metrics: Metrics, pool: BoundedPool, store: PostgresStore, listing: PostgresListing
) -> None:
    metrics.bind("pool", lambda: _pool_numbers(pool))
    metrics.bind("shares", lambda: numbers_of(pool.shares.counters))
    metrics.bind("lists", lambda: {"too_slow": listing.too_slow})
    metrics.bind(
        "quotas",
        lambda: {
            "chats_refused": store.chats_refused,
            "storage_refused": store.storage_refused,
        },
    )
    metrics.bind("commits", lambda: numbers_of(store.commits))


def tools_of(
    clock: Clock,
    workspaces: Workspaces | None,
    metrics: Metrics,
    pages: WebPages | None = None,
    advisor: Advisor | None = None,
) -> Tools:
    """The server's own tools, then the installed ones, then those that the chat declares."""
    counters = SourceCounters()
    metrics.bind("tool_sources", lambda: numbers_of(counters))
    # These sources cannot hang or fail to open: only a source that may has a task of its own.
    own: dict[str, Tools] = {"builtin": Builtin(clock)}
    if advisor is not None:
        own["advisor"] = advisor
        metrics.bind("advisor", lambda: numbers_of(advisor.counters))
    if pages is not None:
        own["web"] = WebFetch(pages)
    declared: dict[str, Tools] = {"client": ClientTools()}
    hosted: dict[str, Tools] = {} if workspaces is None else {"workspace": _hands(workspaces)}
    hosted |= installed(own | hosted | declared)
    isolated = [Isolated(hosted, counters)] if hosted else []
    return Combined(*own.values(), *isolated, *declared.values())


def _hands(workspaces: Workspaces) -> Tools:
    def connect(workspace: Workspace) -> AgentClient:
        assert workspace.address is not None, "a workspace that runs has an address"
        return AgentClient(workspace.address, workspaces.token_of(workspace))

    return WorkspaceTools(workspaces, connect)


def _in_time(clock: DatabaseClock, pool: BoundedPool) -> AbstractAsyncContextManager[None]:
    return beside(lambda: keep_in_time(lambda: clock.sync(pool), CLOCK_SYNC_EVERY_S), "clock")


@asynccontextmanager
async def _open_leases(
    settings: Settings, generation: SettingsGeneration
) -> AsyncGenerator[Leases]:
    timeout_s = settings.heartbeat_every_s
    options = PoolOptions(
        connections_min=1,
        connections_max=1,
        connect_timeout_s=timeout_s,
        command_timeout_s=timeout_s,
    )
    async with open_pool(settings.direct_url, options) as pool:
        yield PostgresLeases(pool, settings=generation)


def open_pages() -> AbstractAsyncContextManager[WebPages]:
    # Imported here: a server without `web_fetch` needs no HTML parser.
    try:
        from holdfast.adapters.http_client.web_pages import open_web_pages
    except ModuleNotFoundError:
        raise WrongSettings(
            "HOLDFAST_WEB_FETCH: html-to-markdown is not installed: install holdfast[web]."
        ) from None
    return open_web_pages()


def _bus(settings: Settings, key: bytes) -> LossyBus:
    if settings.redis_url:
        # Here, not above: who has no Redis need not load its driver.
        from holdfast.adapters.bus.redis import open_redis_bus

        return open_redis_bus(settings.redis_url, prefix=settings.bus_prefix, key=key)
    return open_postgres_bus(settings.direct_url, key=key)


def _pool_numbers(pool: Pool) -> dict[str, float]:
    idle = pool.get_idle_size()
    return {"idle": idle, "used": pool.get_size() - idle}


async def keep_in_time(sync: Callable[[], Awaitable[None]], every_s: float) -> None:
    """Clocks drift and are set; ours is compared with the database's now and then (L84)."""
    while True:
        await asyncio.sleep(every_s)
        try:
            await sync()
        except Unavailable as error:
            _LOG.warning("server: the clock could not be compared with the database's: %s", error)
