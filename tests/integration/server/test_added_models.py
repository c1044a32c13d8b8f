"""Models that admins add: known everywhere without a restart; no change cuts a reply."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from holdfast.admin.catalogue.changes import CatalogueChanges, ModelChange, ProviderChange
from holdfast.bootstrap import Server
from holdfast.domain.chat import Chat, ErrorKind, Status
from holdfast.domain.denials import FieldRefused, NotAllowed
from holdfast.domain.errors import ChangedMeanwhile, NameTaken, SecretsOff
from holdfast.domain.ids import OrgId, SignInId, UserId
from holdfast.domain.policy import EVERY_SCOPE, Credential, OrgRole, Principal
from holdfast.ports.catalogue import ModelState, OrgCatalogue
from holdfast.telemetry.logs import HIDDEN, Redactor
from holdfast_simulator.record import Entry
from holdfast_simulator.server import Simulator
from tests.support.builders import ORG, OWNER, user
from tests.support.replica import Replicas, ask, at_rest, replicas
from tests.support.waits import HANG_S

ADMIN = Principal(
    org_id=ORG,
    user_id=OWNER,
    role=OrgRole.ADMIN,
    scopes=EVERY_SCOPE,
    credential=Credential("session", SignInId(UUID(int=5))),
)
FOREIGN = OrgId(UUID(int=77))
KEY, NEW_KEY = "canary-of-the-database-0001", "canary-of-the-database-0002"
HERE = '[[sim: say "Here I am."]]'


@dataclass
class Cell:
    """Replica A serves people, worker B drives turns."""

    shared: Replicas
    a: Server
    b: Server

    @property
    def changes(self) -> CatalogueChanges:
        assert self.a.adapters.people is not None
        return self.a.adapters.people.catalogue

    def provider(self, key: str = KEY, **settings: Any) -> ProviderChange:
        given = {
            "vendor": "simulator-anthropic",
            "base_url": self.shared.simulator.url,
            "key": key,
            **settings,
        }
        return ProviderChange(name="acme", settings=given)

    async def add(self, name: str = "added", **settings: Any) -> tuple[UUID, UUID]:
        provider = await self.changes.add_provider(ADMIN, self.provider(**settings))
        model = await self.changes.add_model(
            ADMIN,
            ModelChange(name=name, provider_id=provider.id, settings={"model": "claude-sonnet-5"}),
        )
        return provider.id, model.id

    @property
    def requests(self) -> list[Entry]:
        """What the simulator was asked."""
        simulator = self.shared.simulator
        assert isinstance(simulator, Simulator)
        return list(simulator.record)

    async def known(self, known: Callable[[], bool]) -> None:
        """Until worker B knows; by a hint, so long before the next poll."""
        async with asyncio.timeout(HANG_S):
            while not known():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def b_refuses(self, name: str) -> None:
        await self.known(lambda: self.b.adapters.added.refusal(ORG, name) is not None)

    async def answered(self, model: str, text: str = HERE) -> Chat:
        chat = await ask(self.a, user(text, model=model))
        return await at_rest(self.a, chat.chat_id)

    async def stored(self) -> OrgCatalogue:
        return await self.changes.find(ADMIN)


@asynccontextmanager
async def opened(template: str, key_file: Path, **more: Any) -> AsyncGenerator[Cell]:
    async with AsyncExitStack() as stack:
        shared = await stack.enter_async_context(replicas(template))
        given: dict[str, Any] = {"master_key_file": key_file, "retry_first_delay_s": 0.05, **more}
        a = await stack.enter_async_context(shared.open(role="api", **given))
        b = await stack.enter_async_context(shared.open(role="worker", **given))
        running = asyncio.create_task(b.run())
        yield Cell(shared, a, b)
        b.drain()
        await running


@pytest.fixture
async def cell(template: str, tmp_path: Path) -> AsyncGenerator[Cell]:
    key_file = tmp_path / "master.key"
    key_file.write_text("11" * 32)
    async with opened(template, key_file) as cell:
        yield cell


async def test_model_added_on_one_replica_answers_on_the_other(cell: Cell) -> None:
    await cell.add()
    await cell.known(lambda: cell.b.adapters.models.route("added").model == "added")
    assert cell.b.adapters.models.route("added").vendor == "simulator-anthropic"
    chat = await cell.answered("added")
    assert chat.status is Status.IDLE, chat.error
    # What came from the database is hidden in logs, and is not in a row in clear.
    assert Redactor().text(f"sent {KEY}") == f"sent {HIDDEN}"
    assert await rows_with(cell, KEY) == []


async def test_provider_disabled_in_mid_stream_does_not_cut_the_reply(cell: Cell) -> None:
    provider_id, _ = await cell.add()
    await cell.known(lambda: cell.b.adapters.models.route("added").model == "added")
    chat = await ask(cell.a, user("[[sim: count=40 | rate=40]]", model="added"))
    await cell.known(lambda: any(entry.bytes_sent for entry in cell.requests))
    await cell.changes.change_provider(ADMIN, provider_id, ProviderChange(is_enabled=False))
    await cell.b_refuses("added")
    chat = await at_rest(cell.a, chat.chat_id)
    assert chat.status is Status.IDLE, chat.error
    page = await cell.a.adapters.history.page(chat.chat_id, limit=10)
    assert page.messages[-1].body.ending is not None
    refused = await cell.answered("added")
    assert refused.status is Status.FAILED
    assert refused.error is not None
    assert refused.error.kind is ErrorKind.CONFIG
    assert "An admin has disabled its provider." in refused.error.sentence


async def test_replaced_key_is_used_by_the_next_attempt(cell: Cell) -> None:
    provider_id, _ = await cell.add(headers={"x-sim-fault": "overloaded", "x-account": "one"})
    await cell.known(lambda: cell.b.adapters.models.route("added").model == "added")
    chat = await ask(cell.a, user(HERE, model="added"))
    await cell.known(lambda: any(entry.done.is_set() for entry in cell.requests))
    mended = {"key": NEW_KEY, "headers": {"x-account": "two"}}
    await cell.changes.change_provider(ADMIN, provider_id, ProviderChange(settings=mended))
    chat = await at_rest(cell.a, chat.chat_id)
    assert chat.status is Status.IDLE, chat.error
    # The simulator records no keys; the header is sealed together with the key.
    accounts = [entry.headers.get("x-account") for entry in cell.requests]
    assert (accounts[0], accounts[-1]) == ("one", "two")
    assert Redactor().text(NEW_KEY) == HIDDEN


async def test_secret_is_dropped_where_the_host_changes(cell: Cell) -> None:
    provider_id, _ = await cell.add()
    named = await cell.changes.change_provider(ADMIN, provider_id, ProviderChange(name="renamed"))
    assert named.credential is not None
    moved = await cell.changes.change_provider(
        ADMIN, provider_id, ProviderChange(settings={"base_url": "https://elsewhere.example/v1"})
    )
    assert moved.credential is None
    assert moved.about is None


async def test_only_one_model_is_the_default(cell: Cell) -> None:
    provider_id, first = await cell.add()
    make = ModelChange(name="two", provider_id=provider_id, is_default=True)
    second = (await cell.changes.add_model(ADMIN, make)).id
    await cell.changes.change_model(ADMIN, first, ModelChange(is_default=True))
    assert [row.id for row in (await cell.stored()).models if row.is_default] == [first]
    with pytest.raises(FieldRefused, match="another model the default"):
        await cell.changes.change_model(ADMIN, first, ModelChange(is_default=False))
    await cell.changes.remove_model(ADMIN, first)
    assert [row.id for row in (await cell.stored()).models if row.is_default] == [second]


async def test_what_cannot_be_is_refused(cell: Cell) -> None:
    provider_id, model_id = await cell.add()
    with pytest.raises(NameTaken):  # the models file has it
        await cell.changes.add_model(ADMIN, ModelChange(name="sim", provider_id=provider_id))
    with pytest.raises(NameTaken):
        await cell.changes.add_model(ADMIN, ModelChange(name="added", provider_id=provider_id))
    stolen: dict[str, Any] = {"key_file": "/etc/passwd", "token": {"kind": "google"}}
    for field, value in stolen.items():
        with pytest.raises(FieldRefused, match="only the models file"):
            await cell.changes.add_provider(ADMIN, cell.provider(**{field: value}))
    with pytest.raises(FieldRefused, match="No vendor is named"):
        await cell.changes.add_provider(ADMIN, cell.provider(vendor="nobody"))
    with pytest.raises(ChangedMeanwhile):
        await cell.changes.change_model(ADMIN, model_id, ModelChange(name="x"), expected={7})
    member = Principal(
        org_id=ORG,
        user_id=UserId(UUID(int=9)),
        role=OrgRole.MEMBER,
        scopes=EVERY_SCOPE,
        credential=ADMIN.credential,
    )
    with pytest.raises(NotAllowed):
        await cell.changes.find(member)


async def test_model_of_another_organisation_is_unknown(cell: Cell) -> None:
    await cell.add()
    await cell.known(lambda: cell.b.adapters.models.route("added").model == "added")
    assert cell.b.adapters.added.refusal(ORG, "added") is None
    said = cell.b.adapters.added.refusal(FOREIGN, "added")
    assert said is not None
    assert "is not configured here" in said


async def test_audit_has_before_and_after_and_no_secret(cell: Cell) -> None:
    provider_id, _ = await cell.add()
    change = ProviderChange(settings={"key": NEW_KEY})
    await cell.changes.change_provider(ADMIN, provider_id, change)
    assert await rows_with(cell, NEW_KEY) == []
    connection = await asyncpg.connect(cell.shared.database_url)
    entries = await connection.fetch("select action, entry from audit_log order by seq")
    await connection.close()
    actions = [row["action"] for row in entries]
    assert actions == ["secret_key.added", "provider.created", "model.created", "provider.updated"]
    assert "fingerprint" in entries[-1]["entry"]
    assert "before" in entries[-1]["entry"]


async def test_without_a_master_key_a_key_is_refused_and_a_dump_says_why(
    template: str, tmp_path: Path
) -> None:
    key_file = tmp_path / "master.key"
    key_file.write_text("11" * 32)
    async with replicas(template) as shared:
        async with shared.open(role="api", master_key_file=key_file) as a:
            cell = Cell(shared, a, a)
            await cell.add()
        async with shared.open(role="api") as without:
            assert without.adapters.people is not None
            assert without.adapters.people.added.state("added") is ModelState.KEY_UNREADABLE
            said = without.adapters.added.refusal(ORG, "added")
            assert said is not None
            assert "cannot be read" in said
            change = ProviderChange(name="b", settings=cell.provider().settings)
            with pytest.raises(SecretsOff):
                await without.adapters.people.catalogue.add_provider(ADMIN, change)


async def rows_with(cell: Cell, secret: str) -> list[str]:
    """Tables that have the secret in clear."""
    connection = await asyncpg.connect(cell.shared.database_url)
    try:
        tables = await connection.fetch(
            "select relname from pg_class where relkind = 'r'"
            " and relnamespace = 'public'::regnamespace"
        )
        found: list[str] = []
        for (name,) in tables:
            text = f'select exists (select from "{name}" as t where t::text like $1)'
            if await connection.fetchval(text, f"%{secret}%"):
                found.append(name)
    finally:
        await connection.close()
    return found
