"""Accounts, credentials and the audit log, as they are kept.

Every method is one statement. What changes something takes the entry that the audit log gets with
it: both happen or neither does. What was not there to be changed is not logged.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol
from uuid import UUID

from holdfast.domain.accounts import ApiKey, ChangedUser, SignIn, User
from holdfast.domain.audit import AuditEntry, AuditHead, AuditRow
from holdfast.domain.ids import ApiKeyId, ClientKey, OrgId, SignInId, UserId
from holdfast.domain.policy import Credential, Filter, OrgRole, Principal, Scope
from holdfast.ports.store import IdempotencyKey


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUser:
    user_id: UserId
    org_id: OrgId
    name: str
    email: str
    role: OrgRole
    password_hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSignIn:
    """`verified_hash`: the password hash that was checked; if it is no longer the account's, there
    is no sign-in. `replaces`: the token hash of the sign-in that this one follows on."""

    sign_in_id: SignInId
    user_id: UserId
    token_hash: bytes
    method: Literal["password", "oidc", "link"]
    lifetime: timedelta
    address: str | None = None
    agent: str | None = None
    verified_hash: str | None = None
    rehashed: str | None = None
    replaces: bytes | None = None
    throttle_keys: tuple[bytes, ...] = ()
    """Buckets that counted this attempt; the first begins anew."""
    browser_hash: bytes
    """Of the cookie by which the account knows this browser from now on, for `browser_lifetime`."""
    browser_lifetime: timedelta
    replaces_browser: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    key_id: ApiKeyId
    org_id: OrgId
    user_id: UserId
    name: str
    prefix: str
    secret_hash: bytes
    scopes: frozenset[Scope]
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """An account that an e-mail address may mean."""

    user: User
    password_hash: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleKeys:
    """Buckets that may count an attempt. `browser_hash`: of the cookie that the browser showed."""

    account: bytes
    network: bytes
    browser: bytes
    browser_hash: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt to sign in, counted: how many there were in each bucket that counted it. `keys`:
    those buckets. `known`: the account knows the browser."""

    by_account: int
    by_network: int
    by_browser: int
    retry_after_s: float
    known: bool
    keys: tuple[bytes, ...]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class AccountReceipt:
    """What a request with a key made, or would have made."""

    digest: bytes
    made_id: UUID


class Users(Protocol):
    async def found(self, org_name: str, user: NewUser, audit: AuditEntry) -> User | None:
        """The first organisation with its first admin; None if there is any user already."""
        ...

    async def create(
        self, user: NewUser, audit: AuditEntry, keyed: IdempotencyKey | None = None
    ) -> User | None:
        """None if the organisation has an account with this e-mail, or if the caller has used
        the key before: see `receipt`."""
        ...

    async def receipt(self, actor_id: UserId, key: ClientKey) -> AccountReceipt | None: ...

    async def find(self, may: Filter, user_id: UserId) -> User | None: ...

    async def page(
        self,
        may: Filter,
        *,
        limit: int,
        after: tuple[str, UserId] | None = None,
        words: Sequence[str] = (),
    ) -> Sequence[User]:
        """By name, then id. `words`: each of them is in the name or the e-mail, in any case."""
        ...

    async def password_hash(self, may: Filter, user_id: UserId) -> str | None: ...

    async def set_password(
        self,
        may: Filter,
        user_id: UserId,
        password_hash: str,
        audit: AuditEntry,
        *,
        revoke_keys: bool,
        keep: SignInId | None = None,
        expected: Collection[int] | None = None,
    ) -> ChangedUser | None:
        """And end every sign-in of the user's but the one to keep. `expected`, here and below: only
        if the account's version is one of these."""
        ...

    async def update(
        self,
        may: Filter,
        user_id: UserId,
        audit: AuditEntry,
        *,
        role: OrgRole | None = None,
        disabled: bool | None = None,
        revoke_keys: bool = True,
        expected: Collection[int] | None = None,
    ) -> ChangedUser | None:
        """`revoke_keys`: of a user who is disabled by this. None also if the organisation would be
        left without an admin. What is None stays."""
        ...


class Credentials(Protocol):
    async def attempt(
        self, email: str, org_id: OrgId | None, keys: ThrottleKeys, window: timedelta
    ) -> Attempt:
        """Count an attempt before anything is checked, for an account that may not exist."""
        ...

    async def open_sign_in(self, sign_in: NewSignIn, audit: AuditEntry) -> bool:
        """False if the account was disabled or its password changed meanwhile."""
        ...

    async def by_token(self, token_hash: bytes, *, idle: timedelta) -> Principal | None: ...

    async def by_key(self, secret_hash: bytes) -> Principal | None: ...

    async def valid(
        self, credentials: Sequence[Credential], *, idle: timedelta
    ) -> Sequence[Principal]:
        """Of those credentials that still hold: as whom."""
        ...

    async def sign_ins(
        self,
        may: Filter,
        user_id: UserId | None,
        *,
        limit: int,
        after: tuple[datetime, UUID] | None = None,
    ) -> Sequence[SignIn]:
        """Newest first. `user_id` None: of every user. `after`: the last of the page before."""
        ...

    async def revoke_sign_in(
        self, may: Filter, sign_in_id: SignInId, audit: AuditEntry
    ) -> SignInId | None: ...

    async def create_key(
        self, key: NewKey, audit: AuditEntry, keyed: IdempotencyKey | None = None
    ) -> ApiKey | None:
        """None if the user is disabled, or has used the idempotency key before."""
        ...

    async def receipt(self, actor_id: UserId, key: ClientKey) -> AccountReceipt | None: ...

    async def keys(
        self,
        may: Filter,
        user_id: UserId | None,
        *,
        limit: int,
        after: tuple[datetime, UUID] | None = None,
    ) -> Sequence[ApiKey]:
        """As `sign_ins`."""
        ...

    async def revoke_key(
        self, may: Filter, key_id: ApiKeyId, audit: AuditEntry
    ) -> ApiKeyId | None: ...

    async def forget_expired(self, *, window: timedelta, limit: int = 1_000) -> int:
        """Remove what has expired: sign-ins, throttles, logins that never came back; say how much
        it was, and call again while it is at the limit."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcState:
    link_user_id: UserId | None
    return_to: str


class OidcLinks(Protocol):
    async def begin(
        self, state_hash: bytes, cookie_hash: bytes, state: OidcState, lifetime: timedelta
    ) -> None: ...

    async def consume(self, state_hash: bytes, cookie_hash: bytes) -> OidcState | None:
        """Once: the second to ask gets nothing, and so does another browser."""
        ...

    async def linked(self, issuer: str, subject: str) -> User | None: ...

    async def only_org(self) -> OrgId | None:
        """The organisation, if there is exactly one."""
        ...

    async def link(
        self, issuer: str, subject: str, user: UserId, org: OrgId, audit: AuditEntry
    ) -> bool:
        """False if this identity is linked already."""
        ...

    async def create_linked(
        self, issuer: str, subject: str, user: NewUser, audit: AuditEntry
    ) -> User | None:
        """A new account and its link; None if the e-mail or the identity is taken."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries are wanted. `action`: such as `user.created`, or the part before the point for
    all of its actions. `until`: without this moment."""

    actor_id: UUID | None = None
    action: str | None = None
    target_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return self == AuditFilter()


class AuditLog(Protocol):
    async def append(self, entry: AuditEntry) -> None:
        """Something that changed nothing else."""
        ...

    async def rows(self, org_id: OrgId, *, after_seq: int, limit: int) -> Sequence[AuditRow]:
        """From the oldest on."""
        ...

    async def newest(
        self,
        may: Filter,
        wanted: AuditFilter,
        *,
        limit: int,
        before_seq: int | None = None,
        from_seq: int = 0,
    ) -> Sequence[AuditRow]:
        """Of the entries from `from_seq` on, and before `before_seq`."""
        ...

    async def head(self, org_id: OrgId) -> AuditHead: ...
