"""Login through a real provider on localhost, and what a hostile one or a hostile user may try."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey

from holdfast.adapters.http_client.http import open_fetching
from holdfast.domain.denials import OidcRefused
from holdfast.domain.errors import Unavailable
from holdfast.domain.policy import OrgRole, Principal
from holdfast.identity.oidc import Begun, Callback, Finished, FirstLogin, OidcLogin
from holdfast.identity.provider import Provider, ProviderOptions
from tests.support.identity import HERE, ONE_DAY, Realm
from tests.support.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    REDIRECT,
    Identity,
    TestProvider,
    running_provider,
)

OTHER_KEY = RSAKey.generate_key(2048, {"kid": "k1"})


@dataclass
class Login:
    realm: Realm
    admin: Principal
    provider: TestProvider
    oidc: OidcLogin

    async def come_back(
        self,
        begun: Begun,
        identity: Identity | None = None,
        *,
        signed_in: Principal | None = None,
        **bent: Any,
    ) -> Finished:
        answer = {**self.provider.authorize(begun.url, identity), **bent}
        cookie = answer.pop("cookie", begun.cookie)
        return await self.oidc.finish(Callback(**answer), cookie, HERE, signed_in=signed_in)

    async def whole(self, identity: Identity | None = None) -> Finished:
        return await self.come_back(await self.oidc.begin(return_to="/chats"), identity)

    async def refused(self, begun: Begun | None = None, **bent: Any) -> str:
        users = await self.users()
        with pytest.raises(OidcRefused) as refused:
            await self.come_back(begun or await self.oidc.begin(), **bent)
        assert await self.users() == users, "who is refused gets no account"
        assert CLIENT_SECRET not in f"{refused.value} {refused.value.detail}"
        return refused.value.reason

    async def users(self) -> int:
        return await self.realm.pool.fetchval("select count(*) from users")


@asynccontextmanager
async def a_login(realm: Realm, admin: Principal, **options: Any) -> AsyncGenerator[Login]:
    async with (
        running_provider(lambda: realm.clock.now().timestamp()) as served,
        open_fetching() as fetching,
    ):
        provider = Provider(
            fetching,
            ProviderOptions(
                issuer=served.issuer,
                client_id=CLIENT_ID,
                client_secret=CLIENT_SECRET,
                redirect_uri=REDIRECT,
                http_on_loopback=True,
                keys_every_s=0.0,
            ),
        )
        first = FirstLogin(
            org_id=admin.org_id, email_domains=frozenset({"acme.example"}), **options
        )
        oidc = OidcLogin(provider, realm.links, realm.sign_ins, realm.clock, realm.chance, first)
        yield Login(realm, admin, served, oidc)


@pytest.fixture
async def login(realm: Realm, admin: Principal) -> AsyncGenerator[Login]:
    async with a_login(realm, admin) as login:
        yield login


async def test_a_first_login_makes_an_account_and_the_next_one_finds_it(login: Login) -> None:
    first = await login.whole()
    assert first.opened is not None
    assert first.return_to == "/chats"
    user = first.opened.user
    assert (user.email, user.name, user.role) == ("grace@acme.example", "Grace", OrgRole.MEMBER)
    who = await login.realm.gate.authenticate_cookie(first.opened.token)
    assert who is not None
    assert who.user_id == user.user_id

    # The subject is who it is, whatever the address has become.
    again = await login.whole(Identity(email="new@elsewhere.example", email_verified=False))
    assert again.opened is not None
    assert again.opened.user.user_id == user.user_id
    assert (await login.realm.actions(login.admin.org_id))[-3:] == [
        "user.created",
        "session.opened",
        "session.opened",
    ]
    assert login.provider.requests.count("discovery") == 1, "kept"


async def test_the_url_names_what_the_standard_asks_for(login: Login) -> None:
    begun = await login.oidc.begin(return_to="//evil.example")
    parts = urlsplit(begun.url)
    asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
    assert asked["tenant"] == "1", "what the endpoint had of its own stays"
    assert asked["redirect_uri"] == REDIRECT
    assert len(asked["state"]) == len(begun.cookie) == 43
    assert begun.cookie not in begun.url
    kept = await login.realm.pool.fetchrow("select * from oidc_states")
    assert kept is not None
    assert kept["return_to"] == "/"
    said = str(dict(kept))
    assert asked["state"] not in said
    assert begun.cookie not in said
    assert begun.cookie not in repr(begun)


CLAIMS: dict[str, tuple[str, Any]] = {
    "a nonce of another login": ("token", {"nonce": "x"}),
    "no nonce": ("token", {"nonce": None}),
    "another audience": ("token", {"aud": "somebody else"}),
    "no audience": ("token", {"aud": None}),
    "an audience among others, issued to another": (
        "token",
        {"aud": [CLIENT_ID, "x"], "azp": "x"},
    ),
    "an audience among others, issued to nobody": ("token", {"aud": [CLIENT_ID, "x"]}),
    "another issuer": ("issuer", {"iss": "https://evil.example"}),
    "no expiry": ("token", {"exp": None}),
    "an expiry that is no number": ("token", {"exp": True}),
    "no time of issue": ("token", {"iat": None}),
    "no subject": ("token", {"sub": None}),
    "an empty subject": ("token", {"sub": ""}),
    "a subject without end": ("token", {"sub": "s" * 300}),
    "an address that is not verified": ("email", {"email_verified": False}),
    "no word about verification": ("email", {"email_verified": None}),
    "no address": ("email", {"email": None}),
    "an address of another domain": ("email", {"email": "grace@evil.example"}),
    "an address of a subdomain": ("email", {"email": "grace@x.acme.example"}),
    "an address that ends like ours": ("email", {"email": "grace@notacme.example"}),
    "an address that is two": ("email", {"email": "a@evil.example@acme.example"}),
    "somebody else's address": ("email", {"email": "ADA@acme.example"}),
}


async def test_a_token_that_claims_wrongly_is_refused(login: Login) -> None:
    for sentence, (reason, changed) in CLAIMS.items():

        def bend(claims: dict[str, Any], changed: dict[str, Any] = changed) -> None:
            claims.update(changed)
            for name in [name for name, value in changed.items() if value is None]:
                del claims[name]

        login.provider.claims = bend
        assert await login.refused() == reason, sentence
    login.provider.claims = None
    assert (await login.whole()).opened is not None, "the same login, unbent, is let in"


async def test_a_token_out_of_its_time_is_refused(login: Login) -> None:
    now = login.realm.clock.now().timestamp()
    for sentence, changed in {
        "expired": {"exp": now - 120},
        "from the future": {"iat": now + 600},
        "not yet": {"nbf": now + 600},
        "issued long ago": {"iat": now - 86_400},
    }.items():
        login.provider.claims = lambda claims, changed=changed: claims.update(changed)
        assert await login.refused() == "token", sentence


BENT_TOKENS: list[Callable[[str], str]] = [
    lambda token: token[:-4] + "AAAA",
    lambda token: token.rsplit(".", 1)[0] + ".",
    lambda token: token + ".x.y",
    lambda _: "",
    lambda _: "x" * 40_000 + "..",
    lambda _: "é.é.é",
]


async def test_a_token_that_is_not_signed_by_the_issuer_is_refused(login: Login) -> None:
    provider = login.provider

    provider.header = lambda header: header.update(alg="none")
    assert await login.refused() == "token", "alg none"

    # The public key taken for a shared secret.
    provider.header = lambda header: header.update(alg="HS256")
    provider.sign_with = provider.key.as_pem(private=False)
    assert await login.refused() == "token", "HS256 with the public key"

    provider.header = None
    provider.sign_with = OTHER_KEY
    assert await login.refused() == "token", "another key under the same id"

    provider.sign_with = None
    provider.header = lambda header: header.update(kid="k2")
    assert await login.refused() == "token", "a key that is not listed"

    provider.header = lambda header: header.update(alg="RS512")
    assert await login.refused() == "token", "an algorithm that is not on our list"

    provider.header = None
    for bent in BENT_TOKENS:
        provider.whole = bent
        assert await login.refused() == "token"
    provider.whole = None
    assert (await login.whole()).opened is not None


async def test_keys_that_may_not_sign_are_no_keys(login: Login) -> None:
    public = {**login.provider.key.as_dict(private=False)}
    for listed in (
        [],
        [{**public, "use": "enc"}],
        [{**public, "kty": "oct", "k": "AAAA"}],
        [{**public, "n": "!"}],
        ["not a key"],
    ):
        login.provider.listed = listed  # pyright: ignore[reportAttributeAccessIssue]
        assert await login.refused() == "token"


async def test_a_key_that_is_new_is_asked_for_once_more(login: Login) -> None:
    await login.whole()
    login.provider.key = RSAKey.generate_key(2048, {"kid": "k2"})
    login.provider.header = lambda header: header.update(kid="k2")
    assert (await login.whole()).opened is not None
    assert login.provider.requests.count("keys") == 2


async def test_a_state_is_good_once_in_one_browser_and_for_a_while(login: Login) -> None:
    begun, other = await login.oidc.begin(), await login.oidc.begin()
    assert await login.refused(begun, state="x" * 43) == "state"
    assert await login.refused(begun, state=None) == "state"
    assert await login.refused(begun, cookie=None) == "state"
    assert await login.refused(begun, cookie="short") == "state"
    assert await login.refused(begun, cookie=other.cookie) == "state"
    assert await login.refused(begun) == "state", "spent by the browser that it was not for"

    answer = login.provider.authorize(other.url)
    assert (await login.oidc.finish(Callback(**answer), other.cookie, HERE)).opened is not None
    with pytest.raises(OidcRefused):
        await login.oidc.finish(Callback(**answer), other.cookie, HERE)

    late = await login.oidc.begin()
    await login.realm.pool.execute("update oidc_states set expires_at = now() - interval '1 s'")
    assert await login.refused(late) == "state"


async def test_of_two_that_come_back_at_once_one_is_let_in(login: Login) -> None:
    begun = await login.oidc.begin()
    answer = Callback(**login.provider.authorize(begun.url))
    done = await asyncio.gather(
        *(login.oidc.finish(answer, begun.cookie, HERE) for _ in range(4)), return_exceptions=True
    )
    assert sum(isinstance(each, Finished) for each in done) == 1


async def test_a_code_of_another_login_is_worth_nothing(login: Login) -> None:
    stolen = login.provider.authorize((await login.oidc.begin()).url)["code"]
    assert await login.refused(code=stolen) == "provider", "the verifier is another"


async def test_an_answer_that_is_none_is_refused(login: Login) -> None:
    assert await login.refused(error="access_denied<script>") == "provider"
    assert await login.refused(code=None) == "provider"
    assert await login.refused(code="x" * 5000) == "provider"
    assert await login.refused(iss="https://evil.example") == "issuer"
    assert await login.refused(iss=None) == "issuer", "it said that it would say so"
    login.provider.token_answer = lambda answer: answer.pop("id_token")
    assert await login.refused() == "provider"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"issuer": "https://evil.example"}, "issuer"),
        ({"token_endpoint": "http://evil.example/token"}, "provider"),
        ({"token_endpoint": "https://user:word@evil.example/token"}, "provider"),
        ({"jwks_uri": None}, "provider"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "provider"),
        ({"code_challenge_methods_supported": ["plain"]}, "provider"),
    ],
)
async def test_a_discovery_document_that_leads_astray_is_refused(
    login: Login, changed: dict[str, Any], reason: str
) -> None:
    login.provider.document = lambda document: document.update(changed)
    with pytest.raises(OidcRefused) as refused:
        await login.oidc.begin()
    assert refused.value.reason == reason


async def test_an_account_is_never_opened_by_its_address(login: Login) -> None:
    """Whoever can set an address at the provider must not own the account of that address here."""
    assert await login.refused(identity=Identity(email="ada@acme.example")) == "email"

    begun = await login.oidc.begin(link_to=login.admin)
    linked = await login.come_back(begun, signed_in=login.admin)
    assert linked.opened is None
    opened = (await login.whole()).opened
    assert opened is not None
    assert opened.user.user_id == login.admin.user_id
    assert "oidc.linked" in await login.realm.actions(login.admin.org_id)


async def test_a_link_is_made_only_by_whoever_began_it(login: Login) -> None:
    _, bob = await login.realm.add(login.admin, "Bob")
    begun = await login.oidc.begin(link_to=login.admin)
    assert await login.refused(begun, signed_in=bob) == "state"
    begun = await login.oidc.begin(link_to=login.admin)
    assert await login.refused(begun, signed_in=None) == "state"

    await login.come_back(await login.oidc.begin(link_to=login.admin), signed_in=login.admin)
    again = await login.oidc.begin(link_to=login.admin)
    assert (await login.come_back(again, signed_in=login.admin)).opened is None, "twice is once"
    begun = await login.oidc.begin(link_to=bob)
    assert await login.refused(begun, signed_in=bob) == "linked"


async def test_a_disabled_account_stays_out(login: Login) -> None:
    opened = (await login.whole()).opened
    assert opened is not None
    await login.realm.accounts.update(login.admin, opened.user.user_id, disabled=True)
    assert await login.refused() == "disabled"


async def test_first_logins_of_one_person_at_once_make_one_account(login: Login) -> None:
    begun = [await login.oidc.begin() for _ in range(4)]
    done = await asyncio.gather(*(login.come_back(each) for each in begun))
    assert len({each.opened.user.user_id for each in done if each.opened}) == 1
    assert await login.users() == 2


async def test_one_subject_under_two_addresses_at_once_makes_one_account(login: Login) -> None:
    begun = [await login.oidc.begin() for _ in range(4)]
    done = await asyncio.gather(
        *(
            login.come_back(each, Identity(email=f"g{number}@acme.example"))
            for number, each in enumerate(begun)
        )
    )
    assert len({each.opened.user.user_id for each in done if each.opened}) == 1
    assert await login.users() == 2


async def test_a_provider_that_is_away_is_away(realm: Realm, admin: Principal) -> None:
    async with a_login(realm, admin) as login:
        begun = await login.oidc.begin()
        answer = login.provider.authorize(begun.url)
        login.provider.document = None
    with pytest.raises((Unavailable, OidcRefused, RuntimeError)):
        await login.oidc.finish(Callback(**answer), begun.cookie, HERE)


async def test_nobody_gets_an_account_unless_a_domain_is_let_in(
    realm: Realm, admin: Principal
) -> None:
    async with a_login(realm, admin, role=OrgRole.ADMIN) as login:
        closed = FirstLogin(org_id=admin.org_id)
        oidc = OidcLogin(
            login.oidc._provider,  # pyright: ignore[reportPrivateUsage]
            realm.links,
            realm.sign_ins,
            realm.clock,
            realm.chance,
            closed,
        )
        assert await Login(realm, admin, login.provider, oidc).refused() == "email"
        opened = (await login.whole()).opened
        assert opened is not None
        assert opened.user.role is OrgRole.ADMIN, "as the operator wants it"


async def test_logins_that_never_came_back_are_forgotten(login: Login) -> None:
    await login.oidc.begin()
    await login.realm.pool.execute("update oidc_states set expires_at = now() - interval '1 s'")
    assert await login.realm.credentials.forget_expired(window=ONE_DAY) == 1
