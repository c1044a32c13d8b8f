"""API keys: for programs."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from holdfast.domain.accounts import ApiKey, clean_name
from holdfast.domain.audit import AuditAction
from holdfast.domain.denials import AlreadyMade, FieldRefused, NotAllowed, NotFound
from holdfast.domain.errors import KeyReused
from holdfast.domain.ids import ApiKeyId, UserId
from holdfast.domain.policy import Action, Credential, Principal, Scope, TargetKind, rule_for
from holdfast.identity.gate import Gate
from holdfast.identity.recording import entry_by
from holdfast.identity.tokens import PREFIX_CHARS_SHOWN, api_key_of, hashed
from holdfast.ports.chance import Chance
from holdfast.ports.clock import Clock
from holdfast.ports.identity import Credentials, NewKey
from holdfast.ports.org_settings import Current, Fixed
from holdfast.ports.store import IdempotencyKey

LIFETIME: Final = timedelta(days=90)
"""Of a key whose creator names no end."""
LIFETIME_MAX: Final = timedelta(days=3660)
DAYS_MAX: Final = 365
NEVER: Final = "never"
LIST_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class CreatedApiKey:
    """A new key and its secret: shown this once, and nowhere to be found again."""

    key: ApiKey
    secret: str = field(repr=False)


class ApiKeys:
    def __init__(
        self,
        credentials: Credentials,
        gate: Gate,
        clock: Clock,
        chance: Chance,
        days_max: Current[int] | None = None,
    ) -> None:
        """`days_max`: how long a new key may live at most; 0: no cap."""
        self._credentials = credentials
        self._gate = gate
        self._clock = clock
        self._chance = chance
        self._days_max: Current[int] = days_max or Fixed(DAYS_MAX)

    async def create(
        self,
        who: Principal,
        *,
        name: str,
        scopes: AbstractSet[Scope],
        expires_at: datetime | Literal["never"] | None = None,
        keyed: IdempotencyKey | None = None,
    ) -> CreatedApiKey:
        """For oneself, in a session, with no more than that is good for. A key makes no key,
        whatever its scopes: one that leaked would outlive its revocation in a successor.

        `expires_at` None: after `LIFETIME`, or sooner where the organisation allows less.

        A repeat under the same idempotency key is refused with `AlreadyMade`: the secret is not
        kept, so that the first answer cannot be given again.
        """
        rule_for(who, Action.CREATE, TargetKind.API_KEY)
        if who.credential.kind != "session":
            raise NotAllowed("a key is created in a signed-in session, not with an API key")
        if not scopes:
            raise FieldRefused("scopes", "at least one")
        if not scopes <= who.scopes:
            raise NotAllowed("a key cannot be good for more than what made it")
        ends_at = self._end_of(who, expires_at)
        secret = api_key_of(self._chance.secret())
        new = NewKey(
            key_id=ApiKeyId(self._chance.new_id()),
            org_id=who.org_id,
            user_id=who.user_id,
            name=clean_name(name),
            prefix=secret[:PREFIX_CHARS_SHOWN],
            secret_hash=hashed(secret),
            scopes=frozenset(scopes),
            expires_at=ends_at,
        )
        detail = {"prefix": new.prefix, "scopes": sorted(scope.value for scope in scopes)}
        target = (TargetKind.API_KEY, new.key_id)
        entry = entry_by(who, self._clock, AuditAction.API_KEY_CREATED, target, detail)
        key = await self._credentials.create_key(new, entry, keyed)
        if key is None:
            await self._check_new(who, keyed)
            raise NotFound(TargetKind.USER, who.user_id)  # disabled between two statements
        return CreatedApiKey(key, secret)

    def _end_of(
        self, who: Principal, wanted: datetime | Literal["never"] | None
    ) -> datetime | None:
        now, days = self._clock.now(), self._days_max.of(who.org_id)
        longest = LIFETIME_MAX if days == 0 else timedelta(days=days)
        if wanted is None:
            return now + min(LIFETIME, longest)
        if wanted == NEVER:
            if days:
                raise FieldRefused("expires_at", _within(days))
            return None
        # A minute more: the creator's clock counts the days, too, and not to the second.
        if not now < wanted <= now + longest + timedelta(minutes=1):
            raise FieldRefused("expires_at", _within(days))
        return wanted

    async def _check_new(self, who: Principal, keyed: IdempotencyKey | None) -> None:
        made = None if keyed is None else await self._credentials.receipt(who.user_id, keyed.key)
        if keyed is None or made is None:
            return
        if made.digest != keyed.digest:
            raise KeyReused(keyed.key)
        raise AlreadyMade(made.made_id)

    async def list(
        self,
        who: Principal,
        user_id: UserId | None = None,
        *,
        limit: int = LIST_MAX,
        after: tuple[datetime, UUID] | None = None,
    ) -> Sequence[ApiKey]:
        """Newest first. `user_id` None: all that the caller may see. `after`: the creation time and
        id of the last one of the page before."""
        may = rule_for(who, Action.READ, TargetKind.API_KEY)
        return await self._credentials.keys(may, user_id, limit=limit, after=after)

    async def revoke(self, who: Principal, key_id: ApiKeyId) -> None:
        may = rule_for(who, Action.CHANGE, TargetKind.API_KEY)
        entry = entry_by(
            who, self._clock, AuditAction.API_KEY_REVOKED, (TargetKind.API_KEY, key_id)
        )
        revoked = await self._credentials.revoke_key(may, key_id, entry)
        self._gate.forget(credential=Credential("api_key", key_id))
        if revoked is None:
            raise NotFound(TargetKind.API_KEY, key_id)


def _within(days: int) -> str:
    if days == 0:
        return "in the future, and within ten years"
    return f"in the future, and within {days} days: an administrator has set this cap"
