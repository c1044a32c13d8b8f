"""Accounts: the first admin, users, roles, passwords."""

from collections.abc import Collection, Sequence
from typing import Final

from holdfast.domain.accounts import ChangedUser, User, clean_email, clean_name
from holdfast.domain.audit import AuditAction, AuditEntry
from holdfast.domain.denials import (
    EmailTaken,
    LastAdmin,
    NotAllowed,
    NotFound,
    PasswordRefused,
    WrongCredentials,
)
from holdfast.domain.errors import ChangedMeanwhile, KeyReused
from holdfast.domain.ids import OrgId, SignInId, UserId
from holdfast.domain.policy import Action, Filter, OrgRole, Principal, TargetKind, rule_for
from holdfast.identity.gate import Gate
from holdfast.identity.passwords import Passwords
from holdfast.identity.recording import entry_by
from holdfast.identity.throttle import Throttle
from holdfast.ports.chance import Chance
from holdfast.ports.clock import Clock
from holdfast.ports.identity import NewUser, Users
from holdfast.ports.store import IdempotencyKey

PAGE_MAX: Final = 200


class Accounts:
    def __init__(
        self,
        users: Users,
        passwords: Passwords,
        throttle: Throttle,
        gate: Gate,
        clock: Clock,
        chance: Chance,
    ) -> None:
        self._users = users
        self._passwords = passwords
        self._throttle = throttle
        self._gate = gate
        self._clock = clock
        self._chance = chance

    async def create_first_admin(
        self, *, org_name: str, name: str, email: str, password: str
    ) -> User | None:
        """The first organisation and its admin; None if there is any user already.

        Needs no principal: only the operator can call it on an empty server. Of several concurrent
        calls one succeeds.
        """
        user = await self._new_user(
            OrgId(self._chance.new_id()), name, email, OrgRole.ADMIN, password
        )
        audit = AuditEntry(
            org_id=user.org_id,
            at=self._clock.now(),
            action=AuditAction.ORG_FOUNDED,
            actor_id=user.user_id,
            target_kind=TargetKind.USER,
            target_id=user.user_id,
        )
        return await self._users.found(clean_name(org_name, "org_name"), user, audit)

    async def create(
        self,
        who: Principal,
        *,
        name: str,
        email: str,
        role: OrgRole = OrgRole.MEMBER,
        password: str | None = None,
        keyed: IdempotencyKey | None = None,
    ) -> tuple[User, bool]:
        """The user, and whether an earlier request with the same key created it.

        Without a password: an account that signs in through a provider, or after a reset.
        """
        rule_for(who, Action.CREATE, TargetKind.USER)
        user = await self._new_user(who.org_id, name, email, role, password)
        audit = self._entry(who, AuditAction.USER_CREATED, user.user_id, role=role.value)
        created = await self._users.create(user, audit, keyed)
        if created is None and keyed is not None:
            created = await self._made_before(who, keyed)
        if created is None:
            raise EmailTaken
        return created, created.user_id != user.user_id

    async def _made_before(self, who: Principal, keyed: IdempotencyKey) -> User | None:
        """By a request with the same key; None if that one was refused."""
        receipt = await self._users.receipt(who.user_id, keyed.key)
        if receipt is None:
            return None
        if receipt.digest != keyed.digest:
            raise KeyReused(keyed.key)
        may = rule_for(who, Action.READ, TargetKind.USER)
        return await self._users.find(may, UserId(receipt.made_id))

    async def _new_user(
        self, org_id: OrgId, name: str, email: str, role: OrgRole, password: str | None
    ) -> NewUser:
        return NewUser(
            user_id=UserId(self._chance.new_id()),
            org_id=org_id,
            name=clean_name(name),
            email=clean_email(email),
            role=role,
            password_hash=None if password is None else await self._passwords.hash(password),
        )

    async def find(self, who: Principal, user_id: UserId) -> User:
        return await self._find(rule_for(who, Action.READ, TargetKind.USER), user_id)

    async def page(
        self,
        who: Principal,
        *,
        limit: int = 50,
        after: tuple[str, UserId] | None = None,
        search: str | None = None,
    ) -> Sequence[User]:
        """The users of the organisation, by name. `search`: words, each of them in the name or the
        e-mail."""
        assert 1 <= limit <= PAGE_MAX + 1, "one more tells whether there is another page"
        may = rule_for(who, Action.READ, TargetKind.USER)
        words = (search or "").split()
        return await self._users.page(may, limit=limit, after=after, words=words)

    async def update(
        self,
        who: Principal,
        user_id: UserId,
        *,
        role: OrgRole | None = None,
        disabled: bool | None = None,
        keep_keys: bool = False,
        expected: Collection[int] | None = None,
    ) -> ChangedUser:
        """What is None stays. Every credential of a disabled user is revoked for good, and what the
        user's chats do is stopped; chats and history stay. `keep_keys`: API keys are refused only
        while the user is disabled. `expected`, here and below: `ChangedMeanwhile` if the version is
        none of these."""
        may = rule_for(who, Action.ADMINISTER, TargetKind.USER)
        given: dict[str, str | bool] = {} if role is None else {"role": role.value}
        given |= {} if disabled is None else {"disabled": disabled}
        assert given, "something is to be changed"
        given |= {"keep_api_keys": True} if disabled and keep_keys else {}
        audit = self._entry(who, _update_action(role, disabled), user_id, **given)
        changed = await self._users.update(
            may,
            user_id,
            audit,
            role=role,
            disabled=disabled,
            revoke_keys=not keep_keys,
            expected=expected,
        )
        return await self._administered(may, user_id, changed, expected)

    async def _administered(
        self,
        may: Filter,
        user_id: UserId,
        changed: ChangedUser | None,
        expected: Collection[int] | None,
    ) -> ChangedUser:
        self._gate.forget(user_id=user_id)
        if changed is None:
            _check_seen(await self._find(may, user_id), expected)
            raise LastAdmin
        return changed

    async def reset_password(
        self,
        who: Principal,
        user_id: UserId,
        password: str,
        *,
        keep_keys: bool = False,
        expected: Collection[int] | None = None,
    ) -> ChangedUser:
        """By an admin; ends every sign-in of the user's, and every API key unless they are kept:
        who knew the password may have made one."""
        may = rule_for(who, Action.ADMINISTER, TargetKind.USER)
        hashed = await self._passwords.hash(password)
        detail = {"keep_api_keys": True} if keep_keys else {}
        audit = self._entry(who, AuditAction.PASSWORD_RESET, user_id, **detail)
        changed = await self._users.set_password(
            may, user_id, hashed, audit, revoke_keys=not keep_keys, expected=expected
        )
        self._gate.forget(user_id=user_id)
        if changed is None:
            _check_seen(await self._find(may, user_id), expected)
            raise ChangedMeanwhile
        return changed

    async def change_password(
        self,
        who: Principal,
        *,
        current: str,
        new: str,
        address: str | None = None,
        browser: str | None = None,
    ) -> User:
        """One's own, in a browser that is signed in: that one stays, every other sign-in ends. API
        keys stay."""
        may = rule_for(who, Action.CHANGE, TargetKind.USER)
        if who.credential.kind != "session":
            raise NotAllowed("a password is changed in a signed-in session, not with an API key")
        user = await self._find(may, who.user_id)
        attempt = await self._throttle.count(user.email or "", user.org_id, address, browser)
        stored = await self._users.password_hash(may, who.user_id)
        if not (await self._passwords.check(current, stored, known=attempt.known)).right:
            raise WrongCredentials
        if new == current:
            raise PasswordRefused("the new password is the old one")
        audit = self._entry(who, AuditAction.PASSWORD_CHANGED, who.user_id)
        keep = SignInId(who.credential.id)
        hashed = await self._passwords.hash(new)
        changed = await self._users.set_password(
            may, who.user_id, hashed, audit, revoke_keys=False, keep=keep
        )
        self._gate.forget(user_id=who.user_id)
        if changed is None:
            raise NotFound(TargetKind.USER, who.user_id)
        return changed

    async def _find(self, may: Filter, user_id: UserId) -> User:
        user = await self._users.find(may, user_id)
        if user is None:
            raise NotFound(TargetKind.USER, user_id)
        return user

    def _entry(
        self, who: Principal, action: AuditAction, user_id: UserId, **detail: str | bool
    ) -> AuditEntry:
        return entry_by(who, self._clock, action, (TargetKind.USER, user_id), detail)


def _update_action(role: OrgRole | None, disabled: bool | None) -> AuditAction:  # noqa: FBT001
    if role is not None:
        return AuditAction.USER_ROLE_SET if disabled is None else AuditAction.USER_UPDATED
    return AuditAction.USER_DISABLED if disabled else AuditAction.USER_ENABLED


def _check_seen(user: User, expected: Collection[int] | None) -> None:
    if expected is not None and user.version not in expected:
        raise ChangedMeanwhile
