"""The gate: from what a request shows to who it is, and whether that still holds.

One statement per credential and `cache_s`, whatever the number of requests; one statement per
`recheck_s` for all the streams that this process holds open. Together they stay under the 30 s in
which a revoked credential must stop working everywhere (A3).

There is no background task: the caller that needs a fresh answer fetches it, and if that caller is
cancelled, the next one in line does (L130).
"""

import asyncio
import hashlib
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import UserId
from holdfast.domain.policy import Credential, Principal
from holdfast.identity.tokens import is_api_key, is_token
from holdfast.ports.identity import Credentials

REVOKED_EVERYWHERE_S: Final = 30.0
UNASKED_S: Final = 60.0
RECHECKS_MAX: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    idle: timedelta = timedelta(days=7)
    cache_s: float = 10.0
    cached_max: int = 10_000
    recheck_s: float = 10.0
    unsure_max_s: float = 25.0
    """How long an open stream goes on while the database does not answer."""

    def __post_init__(self) -> None:
        assert self.cache_s >= 0
        assert self.cache_s + self.recheck_s < REVOKED_EVERYWHERE_S
        assert self.recheck_s <= self.unsure_max_s < REVOKED_EVERYWHERE_S


@dataclass(slots=True)
class GateCounters:
    hits: int = 0
    lookups: int = 0
    refused: int = 0
    rechecks: int = 0


@dataclass(slots=True)
class _OpenCredential:
    """A credential under which streams are open: as whom, how long that answer is fresh, when it
    was last certain, and when it was last asked for."""

    principal: Principal | None
    fresh_until: float
    sure_at: float
    asked_at: float


class Gate:
    def __init__(self, credentials: Credentials, options: GateOptions | None = None) -> None:
        self._credentials = credentials
        self._options = options or GateOptions()
        self._cache: OrderedDict[bytes, tuple[Principal, float]] = OrderedDict()
        self._forgotten = 0
        self._watched: dict[Credential, _OpenCredential] = {}
        self._checking = asyncio.Lock()
        self.counters = GateCounters()

    async def authenticate(self, presented: str) -> Principal | None:
        """By API key. A key that cannot be one costs no statement."""
        if not is_api_key(presented):
            self.counters.refused += 1
            return None
        return await self._known(presented, self._credentials.by_key)

    async def authenticate_cookie(self, token: str) -> Principal | None:
        """By the token in a browser's cookie."""
        if not is_token(token):
            self.counters.refused += 1
            return None

        async def look_up(token_hash: bytes) -> Principal | None:
            return await self._credentials.by_token(token_hash, idle=self._options.idle)

        return await self._known(token, look_up)

    def remembers(self, presented: str) -> bool:
        """Whether this was let in here before, and not refused since. No promise that it still is:
        only that it is no guess."""
        return hashlib.sha256(presented.encode("utf-8", "replace")).digest() in self._cache

    async def _known(
        self, presented: str, look_up: Callable[[bytes], Awaitable[Principal | None]]
    ) -> Principal | None:
        digest = hashlib.sha256(presented.encode()).digest()
        now = asyncio.get_running_loop().time()
        cached = self._cache.get(digest)
        if cached is not None and now < cached[1]:
            self.counters.hits += 1
            return cached[0]
        before = self._forgotten
        self.counters.lookups += 1
        principal = await look_up(digest)
        if principal is None:
            self._cache.pop(digest, None)
            self.counters.refused += 1
        elif before == self._forgotten:  # else it was revoked while we looked it up (L130)
            self._cache[digest] = principal, now + self._options.cache_s
            self._cache.move_to_end(digest)
            while len(self._cache) > self._options.cached_max:
                self._cache.popitem(last=False)
        return principal

    def forget(
        self, *, credential: Credential | None = None, user_id: UserId | None = None
    ) -> None:
        """Revoked, or changed: here at once, on the other replicas when their time is up."""
        self._forgotten += 1
        gone = [
            digest
            for digest, (principal, _) in self._cache.items()
            if principal.credential == credential or principal.user_id == user_id
        ]
        for digest in gone:
            del self._cache[digest]
        for watched in self._watched.values():
            watched.fresh_until = -math.inf

    async def still_valid(self, principal: Principal) -> bool:
        """Whether a stream that was opened as this principal may go on.

        False also if its role or scopes have changed: the client reconnects and gets the new ones.
        Ask every few seconds per stream: it is a statement once per `recheck_s` for all of them.
        `Unavailable` after `unsure_max_s` without an answer of the database.
        """
        for _ in range(RECHECKS_MAX):
            watched = self._watch(principal)
            if asyncio.get_running_loop().time() < watched.fresh_until:
                return watched.principal == principal
            if await self._recheck(watched):
                return watched.principal == principal
        return False  # revoked twice while we asked: a client with a valid credential reconnects

    def _watch(self, principal: Principal) -> _OpenCredential:
        now = asyncio.get_running_loop().time()
        watched = self._watched.get(principal.credential)
        if watched is None:
            watched = _OpenCredential(principal, -math.inf, now, now)
            self._watched[principal.credential] = watched
        watched.asked_at = now
        return watched

    async def _recheck(self, wanted: _OpenCredential) -> bool:
        """Ask about all that are watched, at once. False if the answer was overtaken (L130)."""
        async with self._checking:
            now = asyncio.get_running_loop().time()
            if now < wanted.fresh_until:
                return True  # a caller before us in the line has fetched it for all
            self._drop_unasked(now)
            asked, before = dict(self._watched), self._forgotten
            self.counters.rechecks += 1
            try:
                valid = await self._credentials.valid(list(asked), idle=self._options.idle)
            except Unavailable:
                if now - wanted.sure_at >= self._options.unsure_max_s:
                    raise
                return True
            if before != self._forgotten:
                return False
            by_credential = {principal.credential: principal for principal in valid}
            for credential, watched in asked.items():
                watched.principal = by_credential.get(credential)
                watched.fresh_until = now + self._options.recheck_s
                watched.sure_at = now
            return True

    def _drop_unasked(self, now: float) -> None:
        """Streams that have ended are not asked about any more."""
        oldest = now - UNASKED_S
        for credential in [c for c, w in self._watched.items() if w.asked_at < oldest]:
            del self._watched[credential]
