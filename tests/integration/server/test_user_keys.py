"""Keys of users: used in the chats that the user owns, where an admin allows it, nowhere else."""

from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from holdfast.adapters.providers.registry import ModelConfig
from holdfast.admin.catalogue.changes import ModelChange, ProviderChange
from holdfast.admin.catalogue.user_keys import UserKeys
from holdfast.domain.chat import Status
from holdfast.domain.denials import FieldRefused, NotAllowed, NotFound
from holdfast.domain.ids import UserId
from holdfast.domain.policy import OrgRole, Principal, Scope
from holdfast.telemetry.logs import HIDDEN, Redactor
from holdfast_simulator.record import key_digest
from tests.integration.server.test_added_models import ADMIN, HERE, KEY, Cell, opened, rows_with
from tests.support.builders import ORG, OWNER, user
from tests.support.replica import add_owners, ask, at_rest

OTHER = UserId(UUID(int=9))
OWN, OTHERS = "canary-of-a-user-0001", "canary-of-a-user-0002"
MEMBER = Principal(
    org_id=ORG,
    user_id=OTHER,
    role=OrgRole.MEMBER,
    scopes=ADMIN.scopes,
    credential=ADMIN.credential,
)


@pytest.fixture
async def cell(template: str, tmp_path: Path) -> AsyncGenerator[Cell]:
    key_file = tmp_path / "master.key"
    key_file.write_text("11" * 32)
    async with opened(template, key_file) as cell:
        await add_owners(cell.shared.database_url, OTHER)
        yield cell


def keys_of(cell: Cell) -> UserKeys:
    assert cell.a.adapters.people is not None
    return UserKeys(cell.a.adapters.people.added, cell.a.adapters.clock)


async def provider_of(cell: Cell, *, user_keys: bool = True) -> UUID:
    provider_id, _ = await cell.add()
    change = ProviderChange(user_keys=user_keys)
    await cell.changes.change_provider(ADMIN, provider_id, change)
    await cell.known(lambda: cell.b.adapters.models.route("added").model == "added")
    return provider_id


async def key_used(cell: Cell, owner: UserId = OWNER) -> str:
    """The digest of the key that a turn in a new chat of the user was asked with."""
    before = len(cell.requests)
    chat = await ask(cell.a, user(HERE, model="added"), owner=owner)
    chat = await at_rest(cell.a, chat.chat_id)
    assert chat.status is Status.IDLE, chat.error
    (used,) = {entry.key for entry in cell.requests[before:]}
    return used


def digest(key: str) -> str:
    return key_digest({"x-api-key": key})


async def test_own_key_is_used_in_own_chats_until_it_is_deleted(cell: Cell) -> None:
    provider_id = await provider_of(cell)
    assert await key_used(cell) == digest(KEY)
    stored = await keys_of(cell).set(ADMIN, provider_id, OWN)
    assert stored.set_at is not None
    # At once: what a statement returns is known before the attempt that it begins.
    assert await key_used(cell) == digest(OWN)
    assert await key_used(cell, OTHER) == digest(KEY)
    await keys_of(cell).set(MEMBER, provider_id, OTHERS)
    assert await key_used(cell, OTHER) == digest(OTHERS)
    assert await key_used(cell) == digest(OWN)
    await keys_of(cell).remove(ADMIN, provider_id)
    assert await key_used(cell) == digest(KEY)
    assert await key_used(cell, OTHER) == digest(OTHERS)
    assert [each.set_at for each in await keys_of(cell).list(ADMIN)] == [None]
    assert Redactor().text(f"sent {OWN}") == f"sent {HIDDEN}"
    assert await rows_with(cell, OWN) == []


async def test_a_provider_that_forbids_keys_is_asked_with_its_own(cell: Cell) -> None:
    provider_id = await provider_of(cell)
    await keys_of(cell).set(ADMIN, provider_id, OWN)
    assert await key_used(cell) == digest(OWN)
    await cell.changes.change_provider(ADMIN, provider_id, ProviderChange(user_keys=False))
    assert await key_used(cell) == digest(KEY)
    (shown,) = await keys_of(cell).list(ADMIN)
    assert (shown.is_allowed, shown.set_at is not None) == (False, True)
    assert await keys_of(cell).list(MEMBER) == []
    with pytest.raises(NotFound):
        await keys_of(cell).set(ADMIN, provider_id, OWN)
    await keys_of(cell).remove(ADMIN, provider_id)
    assert await keys_of(cell).list(ADMIN) == []


async def test_another_host_drops_the_keys_of_users(cell: Cell) -> None:
    provider_id = await provider_of(cell)
    await keys_of(cell).set(ADMIN, provider_id, OWN)
    elsewhere = cell.shared.simulator.url.replace("127.0.0.1", "localhost")
    moved = ProviderChange(settings={"base_url": elsewhere, "key": KEY})
    kept = await stored_keys(cell)
    await cell.changes.change_provider(ADMIN, provider_id, moved)
    assert await stored_keys(cell) == []
    # One that was stored at the same moment, for the host before, is not sent to the new one.
    connection = await asyncpg.connect(cell.shared.database_url)
    await connection.execute(
        "insert into user_keys (id, org_id, user_id, provider_id, credential, credential_key_id)"
        " values ($1, $2, $3, $4, $5, $6)",
        *kept[0],
    )
    await connection.close()
    await cell.changes.change_provider(ADMIN, provider_id, ProviderChange(name="again"))
    assert await key_used(cell) == digest(KEY)


async def test_swapped_keys_of_two_users_are_refused(cell: Cell) -> None:
    """By their ciphertexts, and by the users that they are stored for."""
    provider_id = await provider_of(cell)
    await keys_of(cell).set(ADMIN, provider_id, OWN)
    await keys_of(cell).set(MEMBER, provider_id, OTHERS)
    swaps = (
        "update user_keys as a set credential = b.credential from user_keys as b"
        " where a.id <> b.id",
        "update user_keys set user_id = case user_id when $1 then $2::uuid else $1::uuid end",
    )
    for number, swap in enumerate(swaps):
        connection = await asyncpg.connect(cell.shared.database_url)
        given = (OWNER, OTHER) if number else ()
        if number:
            unique = "user_keys_provider_id_user_id_key"
            await connection.execute(f"alter table user_keys drop constraint if exists {unique}")
        await connection.execute(swap, *given)
        await connection.close()
        change = ProviderChange(name=f"swap-{number}")
        await cell.changes.change_provider(ADMIN, provider_id, change)
        assert await key_used(cell) == digest(KEY)
        assert await key_used(cell, OTHER) == digest(KEY)
        # Back, so that the next swap begins with keys that can be read.
        connection = await asyncpg.connect(cell.shared.database_url)
        await connection.execute(swap, *given)
        await connection.close()
        await cell.changes.change_provider(ADMIN, provider_id, ProviderChange(name="back"))
        assert await key_used(cell) == digest(OWN)


async def test_what_cannot_be_is_refused(cell: Cell) -> None:
    provider_id = await provider_of(cell, user_keys=False)
    with pytest.raises(NotFound):  # not allowed
        await keys_of(cell).set(MEMBER, provider_id, OWN)
    with pytest.raises(NotFound):
        await keys_of(cell).remove(MEMBER, provider_id)
    reader = Principal(
        org_id=ORG,
        user_id=OTHER,
        role=OrgRole.MEMBER,
        scopes=frozenset({Scope.READ, Scope.WRITE}),
        credential=ADMIN.credential,
    )
    with pytest.raises(NotAllowed):
        await keys_of(cell).set(reader, provider_id, OWN)
    signed = {"access_key": "AKIA", "secret": "of-aws", "region": "eu-west-1"}
    given = {"vendor": "bedrock-anthropic", "aws": signed, "values": {"region": "eu-west-1"}}
    change = ProviderChange(name="signed", user_keys=True, settings=given)
    with_aws = await cell.changes.add_provider(ADMIN, change)
    with pytest.raises(FieldRefused) as refused:
        await keys_of(cell).set(MEMBER, with_aws.id, OWN)
    assert OWN not in str(refused.value)


async def test_removing_the_provider_removes_keys_and_the_log_has_none(cell: Cell) -> None:
    provider_id = await provider_of(cell)
    await keys_of(cell).set(MEMBER, provider_id, OTHERS)
    await keys_of(cell).remove(MEMBER, provider_id)
    await keys_of(cell).set(MEMBER, provider_id, OTHERS)
    await cell.changes.remove_provider(ADMIN, provider_id)
    assert await stored_keys(cell) == []
    connection = await asyncpg.connect(cell.shared.database_url)
    entries = await connection.fetch(
        "select action, actor_id, entry from audit_log where action like 'user_key.%' order by seq"
    )
    await connection.close()
    actions = [row["action"] for row in entries]
    assert actions == ["user_key.set", "user_key.deleted", "user_key.set"]
    assert {row["actor_id"] for row in entries} == {OTHER}
    assert not any(OTHERS in row["entry"] for row in entries)


async def test_a_fallback_uses_the_key_for_its_own_provider(cell: Cell) -> None:
    provider_id = await provider_of(cell)
    other = ProviderChange(name="other", user_keys=True, settings=cell.provider().settings)
    second = await cell.changes.add_provider(ADMIN, other)
    settings = {"model": "claude-sonnet-5"}
    change = ModelChange(name="second", provider_id=second.id, settings=settings)
    await cell.changes.add_model(ADMIN, change)
    await keys_of(cell).set(ADMIN, provider_id, OWN)
    await keys_of(cell).set(ADMIN, second.id, OTHERS)
    assert await key_used(cell) == digest(OWN)
    chat = await cell.answered("second")
    assert chat.status is Status.IDLE, chat.error
    assert cell.requests[-1].key == digest(OTHERS)


async def stored_keys(cell: Cell) -> list[tuple[object, ...]]:
    connection = await asyncpg.connect(cell.shared.database_url)
    rows = await connection.fetch(
        "select id, org_id, user_id, provider_id, credential::bytea, credential_key_id"
        " from user_keys"
    )
    await connection.close()
    return [tuple(row) for row in rows]


async def test_a_server_that_takes_the_owner_for_another_user_is_noticed(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant: every chat is asked for with the key of one user."""
    right = ModelConfig.for_owner
    provider_id = await provider_of(cell)
    await keys_of(cell).set(ADMIN, provider_id, OWN)
    assert await key_used(cell, OTHER) == digest(KEY)

    def of_one_user(config: ModelConfig, _owner_id: UserId | None) -> ModelConfig:
        return right(config, OWNER)

    monkeypatch.setattr(ModelConfig, "for_owner", of_one_user)
    assert await key_used(cell, OTHER) == digest(OWN)
