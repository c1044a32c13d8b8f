"""What admins do about users: invite, help after a lost password, end sessions.

    admin ──▶ link with a token ──▶ the user opens it, sets a password and is signed in

The token is made here, shown once to the admin, and stored as a hash. A user has one link at most;
it ends when it is used, when another one is made, when a password is set another way, and by time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from holdfast.domain.accounts import User
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.denials import LinkNotValid, NotFound
from holdfast.domain.ids import SignInId, UserId
from holdfast.domain.policy import Action, Principal, TargetKind, rule_for
from holdfast.identity.gate import Gate
from holdfast.identity.passwords import Passwords
from holdfast.identity.recording import entry_by
from holdfast.identity.sign_in import OpenedSignIn, SignIns, Visitor
from holdfast.identity.tokens import hashed, is_token, token_of
from holdfast.ports.chance import Chance
from holdfast.ports.clock import Clock
from holdfast.ports.people import PeopleStore, Person, ServerLoad

LINK_LIFETIME: Final = timedelta(days=7)
_ASK: Final = "Ask an administrator for another link."


@dataclass(frozen=True, slots=True)
class IssuedLink:
    """`token`: shown once."""

    user: User
    expires_at: datetime
    token: str = field(repr=False)


class People:
    def __init__(
        self,
        store: PeopleStore,
        passwords: Passwords,
        sign_ins: SignIns,
        gate: Gate,
        clock: Clock,
        chance: Chance,
    ) -> None:
        self._store = store
        self._passwords = passwords
        self._sign_ins = sign_ins
        self._gate = gate
        self._clock = clock
        self._chance = chance

    async def page(
        self,
        who: Principal,
        *,
        limit: int = 50,
        after: tuple[str, UserId] | None = None,
        search: str | None = None,
    ) -> Sequence[Person]:
        """By name. `search`: words, each of them in the name or the e-mail."""
        may = rule_for(who, Action.ADMINISTER, TargetKind.USER)
        words = (search or "").split()
        return await self._store.page(may, limit=limit, after=after, words=words)

    async def names(self, who: Principal, user_ids: Collection[UUID]) -> Mapping[UUID, str]:
        rule_for(who, Action.READ, TargetKind.USER)
        return await self._store.names(who.org_id, user_ids)

    async def load(self, who: Principal) -> ServerLoad:
        """What the server does now, in the organisation of the admin."""
        rule_for(who, Action.READ, TargetKind.SETTINGS)
        return await self._store.load(who.org_id)

    async def create_link(self, who: Principal, user: User) -> IssuedLink:
        """For a user who is not disabled; the user's earlier link ends."""
        may = rule_for(who, Action.ADMINISTER, TargetKind.USER)
        token = token_of(self._chance.secret())
        target = (TargetKind.USER, user.user_id)
        entry = entry_by(who, self._clock, AuditAction.USER_LINK_CREATED, target)
        expires_at = await self._store.create_link(
            may, user.user_id, hashed(token), LINK_LIFETIME, entry
        )
        if expires_at is None:
            raise NotFound(TargetKind.USER, user.user_id)
        return IssuedLink(user, expires_at, token)

    async def use_link(self, token: str, password: str, visitor: Visitor) -> OpenedSignIn:
        """Set the password of the link's user, end the user's other sessions and API keys, and sign
        in.
        `LinkNotValid` says the same whether the link is unknown, used or expired. A password that
        is refused leaves the link valid."""
        digest = hashed(token)
        user = await self._store.user_of_link(digest) if is_token(token) else None
        if user is None:
            raise LinkNotValid(_ASK)
        password_hash = await self._passwords.hash(password)
        entry = AuditEntry(
            org_id=user.org_id,
            at=self._clock.now(),
            action=AuditAction.PASSWORD_SET_BY_LINK,
            actor_id=user.user_id,
            target_kind=TargetKind.USER,
            target_id=user.user_id,
            address=visitor.address,
        )
        changed = await self._store.use_link(digest, password_hash, entry)
        self._gate.forget(user_id=user.user_id)
        opened = None if changed is None else await self._sign_ins.open(changed, "link", visitor)
        if opened is None:
            raise LinkNotValid(_ASK)
        return opened

    async def end_sessions(self, who: Principal, user: User) -> int:
        """All sessions of the user, but the one of the request. API keys stay valid."""
        may = rule_for(who, Action.ADMINISTER, TargetKind.USER)
        target = (TargetKind.USER, user.user_id)
        entry = entry_by(who, self._clock, AuditAction.SESSIONS_REVOKED, target)
        own = who.credential.id if who.credential.kind == "session" else None
        keep = None if own is None else SignInId(own)
        ended = await self._store.end_sessions(may, user.user_id, entry, keep=keep)
        self._gate.forget(user_id=user.user_id)
        return ended
