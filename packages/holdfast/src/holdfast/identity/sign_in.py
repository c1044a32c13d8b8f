"""Browsers sign in and out."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from holdfast.domain.accounts import SignIn, User, clean_email
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.denials import FieldRefused, NotAllowed, NotFound, WrongCredentials
from holdfast.domain.ids import OrgId, SignInId, UserId
from holdfast.domain.policy import Action, Credential, Principal, TargetKind, rule_for
from holdfast.identity.gate import Gate
from holdfast.identity.passwords import Passwords
from holdfast.identity.recording import entry_by
from holdfast.identity.throttle import Throttle
from holdfast.identity.tokens import hashed, is_token, token_of
from holdfast.ports.chance import Chance
from holdfast.ports.clock import Clock
from holdfast.ports.identity import AuditLog, Candidate, Credentials, NewSignIn

AGENT_CHARS_MAX: Final = 200
LIST_MAX: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInOptions:
    """`failure_s`: no refusal comes sooner, so that its time does not tell why."""

    lifetime: timedelta = timedelta(days=30)
    browser_lifetime: timedelta = timedelta(days=90)
    failure_s: float = 0.5


@dataclass(frozen=True, slots=True)
class Visitor:
    """Where a request comes from; `token`: the sign-in cookie that it brought, if any; `browser`:
    the cookie by which accounts know the browser."""

    address: str | None = None
    agent: str | None = None
    token: str | None = field(default=None, repr=False)
    browser: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class OpenedSignIn:
    """A new sign-in, and the tokens for the browser's cookies, which are nowhere else. `browser`:
    the one by which the account knows the browser after the sign-in has ended."""

    sign_in_id: SignInId
    user: User
    token: str = field(repr=False)
    browser: str = field(repr=False)


class SignIns:
    def __init__(
        self,
        credentials: Credentials,
        audit: AuditLog,
        gate: Gate,
        clock: Clock,
        chance: Chance,
        options: SignInOptions | None = None,
    ) -> None:
        self._credentials = credentials
        self._audit = audit
        self._gate = gate
        self._clock = clock
        self._chance = chance
        self.options = options or SignInOptions()

    async def open(
        self,
        user: User,
        method: Literal["password", "oidc", "link"],
        visitor: Visitor,
        *,
        candidate: Candidate | None = None,
        rehashed: str | None = None,
        counted: tuple[bytes, ...] = (),
    ) -> OpenedSignIn | None:
        """Sign in an identified user. Always a new token: one that was planted in the browser
        before the sign-in stays worthless. None if the account is closed meanwhile. `counted`:
        the buckets of the throttle that counted this attempt."""
        token, browser = token_of(self._chance.secret()), token_of(self._chance.secret())
        sign_in_id = SignInId(self._chance.new_id())
        new = NewSignIn(
            sign_in_id=sign_in_id,
            user_id=user.user_id,
            token_hash=hashed(token),
            method=method,
            lifetime=self.options.lifetime,
            address=visitor.address,
            agent=None if visitor.agent is None else visitor.agent[:AGENT_CHARS_MAX],
            verified_hash=None if candidate is None else candidate.password_hash,
            rehashed=rehashed,
            replaces=_hash_of(visitor.token),
            throttle_keys=counted,
            browser_hash=hashed(browser),
            browser_lifetime=self.options.browser_lifetime,
            replaces_browser=_hash_of(visitor.browser),
        )
        credential = Credential("session", sign_in_id)
        entry = self._entry(user, AuditAction.SIGNED_IN, visitor, credential, method)
        if not await self._credentials.open_sign_in(new, entry):
            return None
        return OpenedSignIn(sign_in_id, user, token, browser)

    async def record_failure(self, user: User, visitor: Visitor) -> None:
        await self._audit.append(
            self._entry(user, AuditAction.SIGN_IN_FAILED, visitor, None, "password")
        )

    def _entry(
        self,
        user: User,
        action: AuditAction,
        visitor: Visitor,
        credential: Credential | None,
        method: str,
    ) -> AuditEntry:
        return AuditEntry(
            org_id=user.org_id,
            at=self._clock.now(),
            action=action,
            actor_id=None if credential is None else user.user_id,
            credential=credential,
            target_kind=TargetKind.USER,
            target_id=user.user_id,
            address=visitor.address,
            detail={"method": method},
        )

    async def close(self, who: Principal) -> None:
        """Sign out. Signed out already is signed out."""
        if who.credential.kind != "session":
            raise NotAllowed("a key does not sign out; it is revoked")
        may = rule_for(who, Action.CHANGE, TargetKind.SIGN_IN)
        target = SignInId(who.credential.id)
        entry = entry_by(who, self._clock, AuditAction.SIGNED_OUT, (TargetKind.SIGN_IN, target))
        await self._credentials.revoke_sign_in(may, target, entry)
        self._gate.forget(credential=who.credential)

    async def revoke(self, who: Principal, sign_in_id: SignInId) -> None:
        may = rule_for(who, Action.CHANGE, TargetKind.SIGN_IN)
        entry = entry_by(
            who, self._clock, AuditAction.SIGN_IN_REVOKED, (TargetKind.SIGN_IN, sign_in_id)
        )
        revoked = await self._credentials.revoke_sign_in(may, sign_in_id, entry)
        self._gate.forget(credential=Credential("session", sign_in_id))
        if revoked is None:
            raise NotFound(TargetKind.SIGN_IN, sign_in_id)

    async def list(
        self,
        who: Principal,
        user_id: UserId | None = None,
        *,
        limit: int = LIST_MAX,
        after: tuple[datetime, UUID] | None = None,
    ) -> Sequence[SignIn]:
        """Valid ones, newest first. `user_id` None: all that the caller may see. `after`: the
        creation time and id of the last one of the page before."""
        may = rule_for(who, Action.READ, TargetKind.SIGN_IN)
        return await self._credentials.sign_ins(may, user_id, limit=limit, after=after)


class PasswordLogin:
    """By e-mail and password."""

    def __init__(self, sign_ins: SignIns, passwords: Passwords, throttle: Throttle) -> None:
        self._sign_ins = sign_ins
        self._passwords = passwords
        self._throttle = throttle

    async def sign_in(
        self, email: str, password: str, visitor: Visitor, *, org_id: OrgId | None = None
    ) -> OpenedSignIn:
        """`org_id` is needed only for a user with accounts in several organisations.

        `WrongCredentials` takes as long and says the same whether the account is unknown, has no
        password, is disabled, or the password is wrong.
        """
        started = asyncio.get_running_loop().time()
        try:
            email = clean_email(email)
        except FieldRefused:
            email = ""  # of no account; checked like any other, in the same time
        attempt = await self._throttle.count(email, org_id, visitor.address, visitor.browser)
        candidate = attempt.candidates[0] if len(attempt.candidates) == 1 else None
        stored = None if candidate is None else candidate.password_hash
        checked = await self._passwords.check(password, stored, known=attempt.known)
        if candidate is not None and checked.right and candidate.user.disabled_at is None:
            opened = await self._sign_ins.open(
                candidate.user,
                "password",
                visitor,
                candidate=candidate,
                rehashed=checked.rehashed,
                counted=attempt.keys,
            )
            if opened is not None:
                return opened
        if candidate is not None:
            await self._sign_ins.record_failure(candidate.user, visitor)
        elapsed = asyncio.get_running_loop().time() - started
        await asyncio.sleep(max(0.0, self._sign_ins.options.failure_s - elapsed))
        raise WrongCredentials


def _hash_of(token: str | None) -> bytes | None:
    return None if token is None or not is_token(token) else hashed(token)
