"""Logging in through a provider, over HTTP, as a browser does; and what an attacker may try."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import time
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

import asyncpg
import pytest

from holdfast.identity.browser import BROWSER_COOKIE
from tests.support.identity import PASSWORD
from tests.support.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    Identity,
    TestProvider,
    running_provider,
)
from tests.support.replica import Replicas
from tests.support.web import ADMIN_EMAIL, OUR_ORIGIN, Answer, Cell, a_cell

SIGN_IN: Final = "__Host-holdfast"
OIDC: Final = "__Host-holdfast-oidc"


def cookies_of(answer: Answer) -> dict[str, str]:
    """Those that were set; empty: taken away."""
    pairs = (said.split(";")[0].split("=", 1) for said in answer.headers.getall("set-cookie", ()))
    return {name: value.strip('"') for name, value in pairs}


@dataclass
class Browser:
    """Keeps cookies, follows nothing by itself."""

    cell: Cell
    provider: TestProvider
    jar: dict[str, str]

    async def get(self, path: str) -> Answer:
        said = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        answer = await self.cell.nobody.get(path, **({"cookie": said} if said else {}))
        self.jar |= cookies_of(answer)
        self.jar = {name: value for name, value in self.jar.items() if value}
        return answer

    async def start(self, name: str = "acme", return_to: str | None = "/chats/1?x=y") -> str:
        """Where the provider is asked."""
        query = "" if return_to is None else f"?{urlencode({'return_to': return_to})}"
        answer = await self.get(f"oidc/{name}/start{query}")
        assert answer.status == 302, answer.raw
        return answer.headers["location"]

    async def back(self, parameters: dict[str, str], name: str = "acme") -> Answer:
        return await self.get(f"oidc/{name}/callback?{urlencode(parameters)}")

    async def whole(self, identity: Identity | None = None, **more: Any) -> Answer:
        return await self.back(self.provider.authorize(await self.start(**more), identity))


@dataclass
class Scene:
    cell: Cell
    acme: TestProvider
    other: TestProvider

    def browser(self) -> Browser:
        return Browser(self.cell, self.acme, {})

    async def count(self, table: str) -> int:
        connection = await asyncpg.connect(self.cell.replicas.database_url)
        try:
            return await connection.fetchval(f"select count(*) from {table}")
        finally:
            await connection.close()


def entry(name: str, provider: TestProvider) -> dict[str, Any]:
    return {
        "name": name,
        "title": name.title(),
        "issuer": provider.issuer,
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "email_domains": ["Acme.example"],
    }


@asynccontextmanager
async def a_scene(empty: Replicas) -> AsyncGenerator[Scene]:
    async with running_provider(time) as acme, running_provider(time) as other:
        oidc = [entry("acme", acme), entry("other", other)]
        async with a_cell(empty, origins=OUR_ORIGIN, oidc=oidc) as cell:
            yield Scene(cell, acme, other)


@pytest.fixture
async def scene(empty: Replicas) -> AsyncGenerator[Scene]:
    async with a_scene(empty) as scene:
        yield scene


async def test_a_browser_goes_there_and_comes_back_signed_in(scene: Scene) -> None:
    told = (await scene.cell.nobody.get("oidc")).json["data"]
    assert [each["name"] for each in told] == ["acme", "other"]
    assert told[0] == {"name": "acme", "title": "Acme", "start": "/api/v1/oidc/acme/start"}

    browser = scene.browser()
    asked = {
        name: each[0] for name, each in parse_qs(urlsplit(await browser.start()).query).items()
    }
    assert asked["redirect_uri"] == f"{OUR_ORIGIN}/api/v1/oidc/acme/callback"
    assert browser.jar.keys() == {OIDC}

    answer = await browser.whole()
    assert (answer.status, answer.headers["location"]) == (302, "/chats/1?x=y")
    assert browser.jar.keys() == {SIGN_IN, BROWSER_COOKIE}, "the other cookie has done its work"
    for said in answer.headers.getall("set-cookie"):
        assert {"httponly", "secure", "path=/", "samesite=lax"} <= set(said.lower().split("; "))
    me = (await browser.get("me")).json
    assert (me["user"]["email"], me["user"]["role"]) == ("grace@acme.example", "member")
    assert me["credential_type"] == "session"

    again = scene.browser()
    await again.whole()
    assert (await again.get("me")).json["user"] == me["user"], "the same person, no second account"
    assert (await scene.cell.nobody.get("oidc/nobody/start")).code == "not_found"


LOCAL: Final = {
    None: "/",
    "": "/",
    "/": "/",
    "/chats/7#end": "/chats/7#end",
    "//evil.example": "/",
    "///evil.example": "/",
    "/\\evil.example": "/",
    "\\\\evil.example": "/",
    "/\t/evil.example": "/",
    "/\n/evil.example": "/",
    "https://evil.example": "/",
    "http:evil.example": "/",
    "javascript:alert(1)": "/",
    "evil.example": "/",
    " //evil.example": "/",
    "/chats\r\nset-cookie: a=b": "/",
    "/x/\u2024\u2024/\u0430": "/",
}


async def test_nobody_is_sent_on_to_another_place(scene: Scene) -> None:
    for asked, gone_to in LOCAL.items():
        answer = await scene.browser().whole(return_to=asked)
        assert (answer.status, answer.headers["location"]) == (302, gone_to), asked


Attack = Callable[[Scene], Awaitable[Answer]]


async def wrong_state(scene: Scene) -> Answer:
    browser = scene.browser()
    back = scene.acme.authorize(await browser.start())
    return await browser.back({**back, "state": "x" * 43})


async def no_state(scene: Scene) -> Answer:
    browser = scene.browser()
    back = scene.acme.authorize(await browser.start())
    return await browser.back({"code": back["code"], "iss": back["iss"]})


async def replayed_callback(scene: Scene) -> Answer:
    browser = scene.browser()
    back = scene.acme.authorize(await browser.start())
    kept = dict(browser.jar)
    assert (await browser.back(back)).status == 302
    browser.jar = kept
    return await browser.back(back)


async def replayed_code(scene: Scene) -> Answer:
    """In a login of the attacker's own: the code is spent, and PKCE would not fit."""
    victim, attacker = scene.browser(), scene.browser()
    stolen = scene.acme.authorize(await victim.start())
    own = scene.acme.authorize(await attacker.start())
    return await attacker.back({**own, "code": stolen["code"]})


async def swapped_nonce(scene: Scene) -> Answer:
    """A token that was made for another login."""
    scene.acme.claims = lambda claims: claims.update(nonce="of another login")
    return await scene.browser().whole()


async def other_browser(scene: Scene) -> Answer:
    """Login CSRF: the victim's browser is sent to the attacker's callback."""
    attacker, victim = scene.browser(), scene.browser()
    await victim.start()
    return await victim.back(scene.acme.authorize(await attacker.start()))


async def no_cookie(scene: Scene) -> Answer:
    browser = scene.browser()
    back = scene.acme.authorize(await browser.start())
    browser.jar = {}
    return await browser.back(back)


async def mixed_up(scene: Scene) -> Answer:
    """The answer of one provider at the callback of another, which must not get the code."""
    browser = scene.browser()
    back = scene.acme.authorize(await browser.start())
    del back["iss"]
    scene.other.document = lambda d: d.pop("authorization_response_iss_parameter_supported")
    answer = await browser.back(back, "other")
    assert "token" not in scene.other.requests
    return answer


async def another_issuer(scene: Scene) -> Answer:
    browser = scene.browser()
    back = scene.acme.authorize(await browser.start())
    return await browser.back({**back, "iss": scene.other.issuer})


async def expired(scene: Scene) -> Answer:
    browser = scene.browser()
    back = scene.acme.authorize(await browser.start())
    connection = await asyncpg.connect(scene.cell.replicas.database_url)
    await connection.execute("update oidc_states set expires_at = now() - interval '1 second'")
    await connection.close()
    return await browser.back(back)


async def refused_there(scene: Scene) -> Answer:
    browser = scene.browser()
    back = scene.acme.authorize(await browser.start())
    return await browser.back({"state": back["state"], "iss": back["iss"], "error": "denied"})


async def foreign_domain(scene: Scene) -> Answer:
    return await scene.browser().whole(Identity(subject="2", email="grace@evil.example"))


async def address_of_the_admin(scene: Scene) -> Answer:
    return await scene.browser().whole(Identity(subject="3", email=ADMIN_EMAIL))


ATTACKS: Final[list[tuple[Attack, str]]] = [
    (wrong_state, "state"),
    (no_state, "state"),
    (replayed_callback, "state"),
    (replayed_code, "provider"),
    (swapped_nonce, "token"),
    (other_browser, "state"),
    (no_cookie, "state"),
    (mixed_up, "state"),
    (another_issuer, "issuer"),
    (expired, "state"),
    (refused_there, "provider"),
    (foreign_domain, "email"),
    (address_of_the_admin, "email"),
]


async def test_an_attack_is_refused_and_opens_nothing(empty: Replicas) -> None:
    async with a_scene(empty) as scene:
        await scene.browser().whole()  # so that there is an account to be broken into
        for attack, reason in ATTACKS:
            before = await scene.count("users"), await scene.count("sign_ins")
            opened = attack is replayed_callback  # by the honest one before it
            answer = await attack(scene)
            scene.acme.claims = None
            assert (answer.status, answer.code) == (401, "oidc_login_failed"), (attack, answer.raw)
            assert answer.json["reason"] == reason, attack
            assert SIGN_IN not in cookies_of(answer), attack
            assert cookies_of(answer).get(OIDC) == "", "the cookie is good for one way back"
            after = await scene.count("users"), await scene.count("sign_ins")
            assert after == (before[0], before[1] + opened), attack
            assert CLIENT_SECRET.encode() not in answer.raw


async def test_who_is_signed_in_links_a_login_and_uses_it_from_then_on(scene: Scene) -> None:
    browser = scene.browser()
    login = {"email": ADMIN_EMAIL, "password": PASSWORD}
    browser.jar |= cookies_of(await scene.cell.nobody.post("sessions", login, origin=OUR_ORIGIN))
    cookie = f"{SIGN_IN}={browser.jar[SIGN_IN]}"
    assert (await scene.cell.admin.post("oidc/acme/link")).code == "permission_denied", "a key"
    foreign = await scene.cell.nobody.post(
        "oidc/acme/link", cookie=cookie, origin="https://evil.example"
    )
    assert foreign.code == "origin_not_allowed"
    begun = await scene.cell.nobody.post("oidc/acme/link", cookie=cookie, origin=OUR_ORIGIN)
    assert begun.status == 200, begun.raw
    browser.jar |= cookies_of(begun)
    back = scene.acme.authorize(begun.json["location"], Identity(subject="ada", email=ADMIN_EMAIL))
    assert (await browser.back(back)).status == 302

    fresh = scene.browser()
    assert (await fresh.whole(Identity(subject="ada"))).status == 302
    assert (await fresh.get("me")).json["user"]["email"] == ADMIN_EMAIL


async def test_admins_close_the_door_to_new_accounts(scene: Scene) -> None:
    known = scene.browser()
    await known.whole()
    put = await scene.cell.admin.ask(
        "PATCH", "organization/settings", {"oidc_sign_up_enabled": False}
    )
    assert put.status == 200, put.raw

    new = await scene.browser().whole(Identity(subject="2", email="new@acme.example"))
    assert (new.code, new.json["reason"]) == ("oidc_login_failed", "closed")
    assert (await scene.browser().whole()).status == 302, "who has an account keeps it"
