"""The attack of a stolen password: a key made with it must end with it, and have no successor."""

from typing import NamedTuple

import pytest

from holdfast.domain.policy import Credential, Principal
from holdfast.identity import keys
from holdfast.identity.accounts import Accounts
from holdfast_lab.chaos.harness.client import OUR_ORIGIN
from tests.support.web import Cell

SCOPES = ("read", "write", "approve", "admin")


class Takeover(NamedTuple):
    """The statuses that the attacker is told."""

    successor: int
    browser: int
    key: int


async def take_over(cell: Cell) -> Takeover:
    """The attacker knows Bob's password, makes a key, and an administrator resets the password."""
    admin = cell.admin
    await cell.member("Bob")
    bob = (await admin.get("organization/users?q=bob")).json["data"][0]
    browser = await admin.signed_in("bob@acme.example")
    stolen = admin.as_((await admin.new_key("stolen", *SCOPES, email="bob@acme.example"))["secret"])
    successor = await stolen.post("api-keys", {"name": "successor", "scopes": list(SCOPES)})
    reset = {"password": "a new long passphrase"}
    assert (await admin.ask("PUT", f"users/{bob['id']}/password", reset)).status == 200
    return Takeover(
        successor.status, (await browser.get("me")).status, (await stolen.get("me")).status
    )


async def test_attackers_key_ends_with_the_password_and_makes_no_successor(cell: Cell) -> None:
    assert await take_over(cell) == Takeover(successor=403, browser=401, key=401)


async def test_key_that_makes_a_key_is_noticed(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    create = keys.ApiKeys.create

    async def as_session(self: keys.ApiKeys, who: Principal, **more: object) -> object:
        object.__setattr__(who, "credential", Credential("session", who.credential.id))
        return await create(self, who, **more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(keys.ApiKeys, "create", as_session)
    assert (await take_over(cell)).successor == 201


async def test_reset_that_keeps_keys_is_noticed(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    reset = Accounts.reset_password

    async def keeping(self: Accounts, *given: object, **more: object) -> object:
        return await reset(self, *given, **{**more, "keep_keys": True})  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Accounts, "reset_password", keeping)
    assert (await take_over(cell)).key == 200


async def test_answers_say_how_many_keys_were_revoked(cell: Cell) -> None:
    admin = cell.admin
    for name, keep, revoked in (("Bob", False, 1), ("Cid", True, 0)):
        member = await cell.member(name)
        user_id = (await member.get("me")).json["user"]["id"]
        body = {"password": "a new long passphrase", "keep_api_keys": keep}
        reset = await admin.ask("PUT", f"users/{user_id}/password", body)
        assert reset.json["revoked_api_key_count"] == revoked
        assert (await member.get("me")).status == (200 if keep else 401)
        off = {"disabled": True, "keep_api_keys": keep}
        assert (await admin.ask("PATCH", f"users/{user_id}", off)).json["disabled_at"] is not None
        await admin.ask("PATCH", f"users/{user_id}", {"disabled": False})
        assert (await member.get("me")).status == (200 if keep else 401)


async def test_link_for_a_lost_password_ends_the_keys(cell: Cell) -> None:
    member = await cell.member("Bob")
    user_id = (await member.get("me")).json["user"]["id"]
    token = (await cell.admin.post(f"users/{user_id}/link", None)).json["token"]
    assert (await member.get("me")).status == 200
    body = {"token": token, "password": "a new long passphrase"}
    assert (
        await cell.nobody.post("sessions/by-account-link", body, origin=OUR_ORIGIN)
    ).status == 201
    assert (await member.get("me")).status == 401


async def test_life_of_a_key_is_capped_by_the_organisation(cell: Cell) -> None:
    session = await cell.admin.signed_in()
    never = {"name": "k", "expires_at": "never"}
    refused = await session.post("api-keys", never)
    assert (refused.status, refused.code) == (422, "invalid_request")
    assert "365 days" in refused.raw.decode()
    unlimited = {"api_key_days_max": 0}
    assert (await cell.admin.ask("PATCH", "organization/settings", unlimited)).status == 200
    made = await session.post("api-keys", never)
    assert (made.status, made.json["expires_at"]) == (201, None)
