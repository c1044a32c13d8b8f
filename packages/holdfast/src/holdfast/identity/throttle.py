"""Bounds on password guesses: per account and per address, counted in the database for all
replicas together, and counted before the guess is looked at."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from holdfast.domain.denials import Throttled
from holdfast.domain.ids import OrgId
from holdfast.ports.identity import Attempt, Credentials


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleOptions:
    """An account admits few guesses, an address (a whole office behind one) more."""

    window: timedelta = timedelta(minutes=15)
    by_account_max: int = 10
    by_address_max: int = 100

    def __post_init__(self) -> None:
        assert 0 < self.by_account_max <= self.by_address_max


class Throttle:
    def __init__(self, credentials: Credentials, options: ThrottleOptions | None = None) -> None:
        self._credentials = credentials
        self.options = options or ThrottleOptions()

    async def count(self, email: str, org_id: OrgId | None, address: str | None) -> Attempt:
        """Count an attempt and say whom it may be about; raises `Throttled` if it is one too many.

        By e-mail, not by account: an address without an account is counted all the same, so that
        the answer does not reveal which accounts exist.
        """
        attempt = await self._credentials.attempt(
            email, org_id, throttle_keys(email, address), self.options.window
        )
        if (
            attempt.by_account > self.options.by_account_max
            or attempt.by_address > self.options.by_address_max
        ):
            raise Throttled(attempt.retry_after_s)
        return attempt


def throttle_keys(email: str, address: str | None) -> tuple[bytes, bytes]:
    return (
        hashlib.sha256(f"account\n{email}".encode("utf-8", "replace")).digest(),
        hashlib.sha256(f"address\n{address or ''}".encode("utf-8", "replace")).digest(),
    )
