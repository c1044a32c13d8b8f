"""The audit log only grows, names what was altered, and holds no secret."""

import asyncio
from datetime import UTC, datetime

import asyncpg
import pytest

from holdfast.chats import listing
from holdfast.domain.audit import AuditHead, Tampering
from holdfast.domain.denials import NotAllowed, WrongCredentials
from holdfast.domain.ids import OrgId
from holdfast.domain.policy import OrgRole, Principal, Scope
from holdfast.identity import audit
from holdfast.ports.identity import AuditFilter
from tests.support.builders import user
from tests.support.identity import PASSWORD, Realm


async def test_every_action_leaves_one_entry(realm: Realm, admin: Principal) -> None:
    org = admin.org_id
    bob, who = await realm.add(admin, "Bob")
    chat_id = await realm.chat(admin, user())
    made = await realm.key(who, Scope.READ)
    assert await realm.actions(org) == [
        "org.founded",
        "session.opened",
        "user.created",
        "session.opened",
        "api_key.created",
    ]

    async def adds(expected: str, done: object) -> None:
        before = len(await realm.actions(org))
        await done  # pyright: ignore[reportGeneralTypeIssues]
        assert (await realm.actions(org))[before:] == [expected]

    share = listing.share(realm.listing, realm.clock, admin, chat_id, bob.user_id)
    await adds("chat.shared", share)
    unshare = listing.unshare(realm.listing, realm.clock, admin, chat_id, bob.user_id)
    await adds("chat.unshared", unshare)
    await adds("api_key.revoked", realm.keys.revoke(who, made.key.key_id))
    accounts = realm.accounts
    await adds("user.role_set", accounts.update(admin, bob.user_id, role=OrgRole.ADMIN))
    new = "an entirely new password"
    await adds("password.changed", accounts.change_password(who, current=PASSWORD, new=new))
    await adds("session.closed", realm.sign_ins.close(who))
    await adds("password.reset", accounts.reset_password(admin, bob.user_id, PASSWORD))
    await adds("user.disabled", accounts.update(admin, bob.user_id, disabled=True))
    await adds("user.enabled", accounts.update(admin, bob.user_id, disabled=False))
    with pytest.raises(WrongCredentials):
        await realm.opened("bob@acme.example", "wrong password")
    assert (await realm.actions(org))[-1] == "session.failed"
    assert isinstance(await audit.verify(realm.log, org), AuditHead)


async def test_no_secret_is_anywhere_in_the_database(realm: Realm, admin: Principal) -> None:
    await realm.add(admin, "Bob")
    made = await realm.key(admin)
    opened = await realm.opened("ada@acme.example")
    canaries = [PASSWORD, made.secret, opened.token, made.secret[3:]]
    tables = await realm.pool.fetch(
        "select table_name from information_schema.tables where table_schema = 'public'"
    )
    read = 0
    for (table,) in tables:
        for row in await realm.pool.fetch(f'select t::text from "{table}" as t'):
            read += 1
            assert not [canary for canary in canaries if canary in row[0]], table
    assert read > 10


async def test_the_log_only_grows(realm: Realm, admin: Principal) -> None:
    for statement in (
        "update audit_log set action = 'x'",
        "delete from audit_log",
        "truncate audit_log",
    ):
        with pytest.raises(asyncpg.RaiseError, match="only grows"):
            await realm.pool.execute(statement)


async def filled(realm: Realm, admin: Principal) -> OrgId:
    for _ in range(5):
        await realm.opened("ada@acme.example")
    assert await realm.log.head(admin.org_id) == await audit.verify(realm.log, admin.org_id)
    return admin.org_id


async def tampered(realm: Realm, *statements: str) -> None:
    """As somebody who owns the database."""
    async with realm.pool.acquire() as connection, connection.transaction():
        await connection.execute("alter table audit_log disable trigger all")
        for statement in statements:
            await connection.execute(statement)
        await connection.execute("alter table audit_log enable trigger all")


TAMPERINGS = {
    "the text of an entry": (
        "update audit_log set entry = replace(entry, 'password', 'oidc') where seq = 4",
        Tampering(4, "altered"),
    ),
    "a space in it": (
        "update audit_log set entry = entry || ' ' where seq = 4",
        Tampering(4, "altered"),
    ),
    "its time": (
        "update audit_log set at = at - interval '1 h' where seq = 3",
        Tampering(3, "altered"),
    ),
    "its action": (
        "update audit_log set action = 'user.created' where seq = 3",
        Tampering(3, "altered"),
    ),
    "its actor": (
        "update audit_log set actor_id = gen_random_uuid() where seq = 3",
        Tampering(3, "altered"),
    ),
    "its hash": (
        "update audit_log set hash = sha256('x') where seq = 5",
        Tampering(5, "altered"),
    ),
    "one in the middle": ("delete from audit_log where seq = 4", Tampering(4, "removed")),
    "the first": ("delete from audit_log where seq = 1", Tampering(1, "removed")),
    "the last": ("delete from audit_log where seq = 7", Tampering(7, "removed")),
    "all": ("delete from audit_log", Tampering(1, "removed")),
    "two, exchanged": (
        "update audit_log set seq = seq + 100 where seq in (4, 6);"
        " update audit_log set seq = 110 - seq where seq > 100",
        Tampering(4, "altered"),
    ),
    "the head": ("update audit_heads set hash = sha256('x')", Tampering(7, "rewritten")),
}


@pytest.mark.parametrize("sentence", TAMPERINGS)
async def test_whatever_is_altered_is_named(realm: Realm, admin: Principal, sentence: str) -> None:
    org = await filled(realm, admin)
    statement, expected = TAMPERINGS[sentence]
    await tampered(realm, statement)
    assert await audit.verify(realm.log, org) == expected


async def test_an_anchor_shows_what_the_chain_alone_cannot(realm: Realm, admin: Principal) -> None:
    org = await filled(realm, admin)
    anchor = await audit.anchor(realm.log, org)
    assert await audit.verify(realm.log, org, known=anchor) == anchor
    # The last entry is cut off, and the head set back to fit.
    await tampered(
        realm,
        "delete from audit_log where seq = 7",
        "update audit_heads as h set seq = 6, hash = l.hash from audit_log as l"
        " where l.org_id = h.org_id and l.seq = 6",
    )
    assert isinstance(await audit.verify(realm.log, org), AuditHead)
    assert await audit.verify(realm.log, org, known=anchor) == Tampering(7, "removed")
    await realm.opened("ada@acme.example")
    assert await audit.verify(realm.log, org, known=anchor) == Tampering(7, "rewritten")


async def test_entries_that_come_at_once_make_one_chain(realm: Realm, admin: Principal) -> None:
    await asyncio.gather(*(realm.key(admin) for _ in range(30)))
    head = await audit.verify(realm.log, admin.org_id)
    assert isinstance(head, AuditHead)
    assert head.seq == 32


async def test_an_admin_reads_the_log_of_their_own_organisation(
    realm: Realm, admin: Principal
) -> None:
    await filled(realm, admin)
    _, bob = await realm.add(admin, "Bob")
    first = await audit.page(realm.log, admin, limit=3)
    page = first.records
    assert first.before_seq == 7
    assert [each.seq for each in page] == [9, 8, 7]
    assert page[1].action == "user.created"
    assert page[1].detail == {"role": "member"}
    assert page[1].credential == f"session:{admin.credential.id}"
    older = (await audit.page(realm.log, admin, limit=3, before_seq=7)).records
    assert [each.seq for each in older] == [6, 5, 4]
    of_bob = (await audit.page(realm.log, admin, AuditFilter(actor_id=bob.user_id))).records
    assert [each.action for each in of_bob] == ["session.opened"]
    assert of_bob[0].address == "203.0.113.7"
    with pytest.raises(NotAllowed):
        await audit.page(realm.log, bob)
    empty = await audit.page(realm.log, await realm.another_org())
    assert (empty.records, empty.before_seq) == ([], None)


async def test_filters_of_the_log_look_at_a_bounded_number_of_entries(
    realm: Realm, admin: Principal
) -> None:
    await filled(realm, admin)
    _, bob = await realm.add(admin, "Bob")

    async def found(wanted: AuditFilter, **more: int) -> list[str]:
        return [
            each.action for each in (await audit.page(realm.log, admin, wanted, **more)).records
        ]

    assert set(await found(AuditFilter(action="user.created"))) == {"user.created"}
    assert set(await found(AuditFilter(action="session"))) == {"session.opened"}
    assert await found(AuditFilter(action="sess")) == []
    of_bob = await found(AuditFilter(target_id=bob.user_id))
    assert of_bob == ["session.opened", "user.created"]
    assert await found(AuditFilter(until=datetime(2000, 1, 1, tzinfo=UTC))) == []
    assert len(await found(AuditFilter(since=datetime(2000, 1, 1, tzinfo=UTC)))) == 9

    created, before = 0, None
    for _ in range(9):
        page = await audit.page(
            realm.log, admin, AuditFilter(action="user"), looks_max=2, before_seq=before
        )
        created += len(page.records)
        before = page.before_seq
        if before is None:
            break
    assert before is None
    assert created == len(await found(AuditFilter(action="user")))
