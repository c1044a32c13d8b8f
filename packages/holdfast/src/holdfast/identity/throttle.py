"""Bounds on password guesses, counted in the database for all replicas together, and counted before
the guess is looked at.

    a browser that the account knows     its own bucket, and no other
    anything else                        the bucket of the account, and that of the network

An account knows a browser by a cookie that every sign-in sets (OWASP calls it a device cookie).
Guesses of strangers then lock strangers out, and not the owner of the account.
"""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from holdfast.domain.denials import Throttled
from holdfast.domain.ids import OrgId
from holdfast.identity.networks import network_of
from holdfast.identity.tokens import hashed, is_token
from holdfast.ports.identity import Attempt, Credentials, ThrottleKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleOptions:
    """An account and a known browser admit few guesses, a network (a whole office behind one
    address) more."""

    window: timedelta = timedelta(minutes=15)
    by_account_max: int = 10
    by_browser_max: int = 10
    by_network_max: int = 100

    def __post_init__(self) -> None:
        assert 0 < self.by_account_max <= self.by_network_max
        assert self.by_browser_max > 0


class Throttle:
    def __init__(self, credentials: Credentials, options: ThrottleOptions | None = None) -> None:
        self._credentials = credentials
        self.options = options or ThrottleOptions()

    async def count(
        self, email: str, org_id: OrgId | None, address: str | None, browser: str | None = None
    ) -> Attempt:
        """Count an attempt and say whom it may be about; raises `Throttled` if it is one too many.

        By e-mail, not by account: an address without an account is counted all the same, so that
        the answer does not reveal which accounts exist.
        """
        attempt = await self._credentials.attempt(
            email, org_id, throttle_keys(email, address, browser), self.options.window
        )
        if (
            attempt.by_account > self.options.by_account_max
            or attempt.by_network > self.options.by_network_max
            or attempt.by_browser > self.options.by_browser_max
        ):
            raise Throttled(attempt.retry_after_s)
        return attempt


def throttle_keys(email: str, address: str | None, browser: str | None = None) -> ThrottleKeys:
    """`browser`: the cookie of a browser, which the account may know."""
    known = None if browser is None or not is_token(browser) else hashed(browser)
    return ThrottleKeys(
        account=_key("account", email),
        network=_key("address", network_of(address)),
        browser=_key("browser", f"{'' if known is None else known.hex()}\n{email}"),
        browser_hash=known,
    )


def _key(kind: str, whose: str) -> bytes:
    return hashlib.sha256(f"{kind}\n{whose}".encode("utf-8", "replace")).digest()
