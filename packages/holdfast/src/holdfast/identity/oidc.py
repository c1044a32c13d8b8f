"""Login through an identity provider: authorization code with PKCE, state and nonce.

    begin   state → URL and database (hashed)     secret → cookie; its hash → database
    finish  state and cookie must meet in one row, which is gone after the first look

Nonce and PKCE verifier are derived from the cookie's secret: the database holds nothing with which
a login could be finished, and a code that was caught is worth nothing in another browser.

An account is found by (issuer, subject) alone. An e-mail address only decides who may have a new
account; it never opens an old one: a user who can set an address at the provider would then own
the account of that address here. To join both, sign in first and link.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlencode, urlsplit, urlunsplit

from holdfast.domain.accounts import User, clean_email, clean_name
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.denials import FieldRefused, OidcRefused
from holdfast.domain.ids import OrgId, UserId
from holdfast.domain.policy import OrgRole, Principal, TargetKind
from holdfast.identity.browser import safe_path
from holdfast.identity.id_token import Claims, ExpectedClaims, check_id_token
from holdfast.identity.provider import Provider
from holdfast.identity.recording import entry_by
from holdfast.identity.sign_in import OpenedSignIn, SignIns, Visitor
from holdfast.identity.tokens import hashed, is_token, token_of
from holdfast.ports.chance import Chance
from holdfast.ports.clock import Clock
from holdfast.ports.identity import NewUser, OidcLinks, OidcState
from holdfast.ports.org_settings import Current, Fixed

CODE_CHARS_MAX = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLogin:
    """Which users get an account at their first login. No domains: none."""

    org_id: OrgId | None = None
    """None: the only organisation that there is."""
    email_domains: frozenset[str] = frozenset()
    role: OrgRole = OrgRole.MEMBER
    state_lifetime: timedelta = timedelta(minutes=10)
    sign_up: Current[bool] = field(default_factory=lambda: Fixed(value=True))
    """Whether the organisation's admins want new accounts at all."""

    def __post_init__(self) -> None:
        assert all(domain == domain.casefold() for domain in self.email_domains)


@dataclass(frozen=True, slots=True)
class Begun:
    """Where to send the browser, and the value of its `OIDC_COOKIE` until it is back."""

    url: str
    cookie: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """The parameters with which the browser came back, as they were."""

    state: str | None = None
    code: str | None = field(default=None, repr=False)
    iss: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """`opened` is None if a login was only linked to the account that is signed in."""

    opened: OpenedSignIn | None
    return_to: str


class OidcLogin:
    def __init__(
        self,
        provider: Provider,
        links: OidcLinks,
        sign_ins: SignIns,
        clock: Clock,
        chance: Chance,
        first: FirstLogin,
    ) -> None:
        self._provider = provider
        self._links = links
        self._sign_ins = sign_ins
        self._clock = clock
        self._chance = chance
        self._first = first

    async def begin(
        self, *, return_to: str | None = None, link_to: Principal | None = None
    ) -> Begun:
        """`link_to`: the signed-in user who links this login to the account."""
        metadata = await self._provider.metadata()
        state, cookie = token_of(self._chance.secret()), token_of(self._chance.secret())
        await self._links.begin(
            hashed(state),
            self._bound(cookie),
            OidcState(
                link_user_id=None if link_to is None else link_to.user_id,
                return_to=safe_path(return_to),
            ),
            self._first.state_lifetime,
        )
        options = self._provider.options
        query = urlencode(
            {
                "response_type": "code",
                "client_id": options.client_id,
                "redirect_uri": options.redirect_uri,
                "scope": " ".join(options.scopes),
                "state": state,
                "nonce": _derived(cookie, "nonce"),
                "code_challenge": _challenge(_derived(cookie, "verifier")),
                "code_challenge_method": "S256",
            }
        )
        parts = urlsplit(metadata.authorization_endpoint)
        joined = f"{parts.query}&{query}" if parts.query else query
        return Begun(urlunsplit(parts._replace(query=joined, fragment="")), cookie)

    async def finish(
        self,
        callback: Callback,
        cookie: str | None,
        visitor: Visitor,
        *,
        signed_in: Principal | None = None,
    ) -> Finished:
        """The browser is back. Raises `OidcRefused`; the state is spent in any case."""
        if cookie is None or callback.state is None or not is_token(cookie):
            raise OidcRefused("state", "no state or no cookie")
        state = await self._links.consume(hashed(callback.state), self._bound(cookie))
        if state is None:
            raise OidcRefused("state", "unknown, used, expired, or of another browser")
        if state.link_user_id is not None and (
            signed_in is None or signed_in.user_id != state.link_user_id
        ):
            raise OidcRefused("state", "started by another user than the one who is signed in")
        claims = await self._claims(callback, cookie)
        if state.link_user_id is not None and signed_in is not None:
            await self._link(claims, signed_in)
            return Finished(None, state.return_to)
        user = await self._user(claims)
        opened = (
            None
            if user.disabled_at is not None
            else await self._sign_ins.open(user, "oidc", visitor)
        )
        if opened is None:
            raise OidcRefused("disabled", f"user {user.user_id}")
        return Finished(opened, state.return_to)

    def _bound(self, cookie: str) -> bytes:
        """The cookie and whom it was sent to: what was begun at one provider is not finished at
        another, which would get the code of the first (mix-up)."""
        return hashed(f"{self._provider.options.issuer} {cookie}")

    async def _claims(self, callback: Callback, cookie: str) -> Claims:
        options = self._provider.options
        metadata = await self._provider.metadata()
        if callback.iss != options.issuer and (callback.iss is not None or metadata.names_itself):
            raise OidcRefused("issuer", "the answer is from another issuer")
        if callback.error is not None:
            raise OidcRefused("provider", f"it refused: {callback.error[:100]!r}")
        if not callback.code or len(callback.code) > CODE_CHARS_MAX:
            raise OidcRefused("provider", "no code")
        token = await self._provider.exchange(callback.code, _derived(cookie, "verifier"))
        expected = ExpectedClaims(
            issuer=options.issuer,
            client_id=options.client_id,
            nonce=_derived(cookie, "nonce"),
            algorithms=options.algorithms,
        )
        return check_id_token(
            token, await self._provider.key_for(token), expected, self._clock.now()
        )

    async def _link(self, claims: Claims, who: Principal) -> None:
        issuer = self._provider.options.issuer
        target = (TargetKind.USER, who.user_id)
        detail = {"issuer": issuer}
        entry = entry_by(who, self._clock, AuditAction.OIDC_LINKED, target, detail)
        if await self._links.link(issuer, claims.subject, who.user_id, who.org_id, entry):
            return
        linked = await self._links.linked(issuer, claims.subject)
        if linked is None or linked.user_id != who.user_id:
            raise OidcRefused("linked", "to another account")

    async def _user(self, claims: Claims) -> User:
        issuer = self._provider.options.issuer
        user = await self._links.linked(issuer, claims.subject)
        if user is not None:
            return user
        new = self._new_user(claims, await self._home())
        entry = AuditEntry(
            org_id=new.org_id,
            at=self._clock.now(),
            action=AuditAction.USER_CREATED,
            actor_id=new.user_id,
            target_kind=TargetKind.USER,
            target_id=new.user_id,
            detail={"issuer": issuer, "role": new.role.value},
        )
        created = await self._links.create_linked(issuer, claims.subject, new, entry)
        # None: another account has the address, or two logins of one user ran at once.
        user = created or await self._links.linked(issuer, claims.subject)
        if user is None:
            raise OidcRefused("email", "another account has this address; sign in there and link")
        return user

    async def _home(self) -> OrgId:
        """Where new accounts belong."""
        org_id = self._first.org_id or await self._links.only_org()
        if org_id is None:
            raise OidcRefused("closed", "not one organisation, and the settings name none")
        if not self._first.sign_up.of(org_id):
            raise OidcRefused("closed", "the organisation takes no new accounts")
        return org_id

    def _new_user(self, claims: Claims, org_id: OrgId) -> NewUser:
        if claims.email is None or not claims.email_verified:
            raise OidcRefused("email", "not verified by the provider")
        try:
            email = clean_email(claims.email)
        except FieldRefused as error:
            raise OidcRefused("email", "not an address") from error
        if email.rpartition("@")[2] not in self._first.email_domains:
            raise OidcRefused("email", "of a domain that is not let in")
        try:
            name = clean_name(claims.name or email)
        except FieldRefused:
            name = email[:200]
        return NewUser(
            user_id=UserId(self._chance.new_id()),
            org_id=org_id,
            name=name,
            email=email,
            role=self._first.role,
            password_hash=None,
        )


def _derived(cookie: str, purpose: str) -> str:
    digest = hmac.digest(cookie.encode(), f"holdfast oidc {purpose}".encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
