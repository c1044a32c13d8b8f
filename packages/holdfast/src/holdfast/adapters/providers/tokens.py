"""Credentials that end: a source gives a token and its end, `RenewingAuth` holds the current one.

A token is renewed 5 minutes before its end. One request renews it, and the others wait for the same
result or go on with a token that is still good. After a 401 the transport renews once and repeats.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeAlias

from holdfast.adapters.providers.endpoints import AwsKeys
from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.types import FixedAuth, secrets_of
from holdfast.domain.chat import ErrorKind

RENEW_BEFORE: Final = timedelta(minutes=5)
TRY_AGAIN: Final = timedelta(seconds=15)
"""Between two failed renewals, as long as the old token is good."""
_LOG: Final = logging.getLogger(__name__)

Secret: TypeAlias = str | AwsKeys
Token: TypeAlias = tuple[Secret, datetime | None]
"""A credential and its end. None: unknown; the token is kept until the provider refuses it."""


class TokenFailed(Exception):
    """A source has no token. `passing`: another attempt may succeed without any change."""

    def __init__(self, detail: str, *, passing: bool = False) -> None:
        super().__init__(detail)
        self.passing = passing


class TokenSource(Protocol):
    async def token(self, now: datetime) -> Token:
        """A new token; raises `TokenFailed`."""
        ...


@dataclass(frozen=True, slots=True)
class _Held:
    auth: FixedAuth
    renew_at: datetime | None
    ends_at: datetime | None


class RenewingAuth:
    """The current token of a source. `shape` says how a request carries it."""

    def __init__(
        self, source: TokenSource, shape: Callable[[Secret], FixedAuth], name: str
    ) -> None:
        self._source = source
        self._shape = shape
        self._name = name
        self._held: _Held | None = None
        self._failed: TokenFailed | None = None
        self._try_again_at: datetime | None = None
        self._renewals = 0  # ended ones, failed or not
        self._lock = asyncio.Lock()

    @property
    def secrets(self) -> tuple[str, ...]:
        return () if self._held is None else secrets_of(self._held.auth)

    async def current(self, now: datetime) -> FixedAuth:
        held = self._held
        if held is None or (held.ends_at is not None and now >= held.ends_at):
            return await self._renew(now)
        if held.renew_at is None or now < held.renew_at or self._is_tried(now):
            return held.auth
        try:
            return await self._renew(now)
        except ProviderError as error:
            _LOG.warning(
                "provider: token not renewed, the old one is still good",
                extra={"provider": self._name, "error": error.detail},
            )
            return held.auth

    async def renewed(self, refused: FixedAuth, now: datetime) -> FixedAuth:
        held = self._held
        if held is not None and held.auth != refused:
            return held.auth  # another request renewed it meanwhile
        return await self._renew(now)

    def _is_tried(self, now: datetime) -> bool:
        waits = self._try_again_at is not None and now < self._try_again_at
        return waits or self._lock.locked()

    async def _renew(self, now: datetime) -> FixedAuth:
        before = self._renewals
        async with self._lock:
            # A renewal that ended while this request waited answers for it, failed or not.
            if self._renewals == before:
                await self._ask(now)
            if self._failed is not None:
                raise ProviderError(
                    ErrorKind.AUTH,
                    f"the token source failed: {self._failed}",
                    retryable=self._failed.passing,
                )
            assert self._held is not None
            return self._held.auth

    async def _ask(self, now: datetime) -> None:
        try:
            secret, ends_at = await self._source.token(now)
        except TokenFailed as error:
            self._failed, self._try_again_at = error, now + TRY_AGAIN
        else:
            self._failed = self._try_again_at = None
            self._held = _Held(self._shape(secret), _renew_at(now, ends_at), ends_at)
            _LOG.info("provider: token renewed", extra={"provider": self._name, "until": ends_at})
        self._renewals += 1


def _renew_at(now: datetime, ends_at: datetime | None) -> datetime | None:
    """5 minutes before the end; a token that lives for less than 10 is renewed at half its life."""
    return None if ends_at is None else ends_at - min(RENEW_BEFORE, (ends_at - now) / 2)
