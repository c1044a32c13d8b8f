"""Sign in once by a link that this process has printed: for `holdfast dev`, on this machine only.

    http://127.0.0.1:8080/#once=TOKEN      a fragment is not sent: no log and no proxy sees it

The page sends the token in the body of a request and forgets it. The token is kept as a hash, in
memory: another process does not know it, and a restart ends it. It is taken out before anything is
awaited, so two requests at once cannot both use it. Only a loopback address may use it.
"""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from holdfast.domain.accounts import User
from holdfast.domain.denials import LinkNotValid
from holdfast.identity.sign_in import OpenedSignIn, SignIns, Visitor
from holdfast.identity.tokens import hashed, token_of
from holdfast.ports.chance import Chance
from holdfast.ports.clock import Clock

LIFETIME: Final = timedelta(minutes=15)
LINKS_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class _Issued:
    user: User
    expires_at: datetime


class OneTimeLinks:
    def __init__(self, sign_ins: SignIns, clock: Clock, chance: Chance) -> None:
        self._sign_ins = sign_ins
        self._clock = clock
        self._chance = chance
        self._issued: dict[bytes, _Issued] = {}

    def issue(self, user: User) -> str:
        """The token. Of too many, the oldest ends."""
        if len(self._issued) >= LINKS_MAX:
            del self._issued[next(iter(self._issued))]
        token = token_of(self._chance.secret())
        self._issued[hashed(token)] = _Issued(user, self._clock.now() + LIFETIME)
        return token

    async def sign_in(self, token: str, visitor: Visitor) -> OpenedSignIn:
        """`LinkNotValid` says the same whether the token is unknown, used or expired, or comes from
        another machine. A refused token from another machine stays valid here."""
        if not _is_loopback(visitor.address):
            raise LinkNotValid
        issued = self._issued.pop(hashed(token), None)
        if issued is None or issued.expires_at <= self._clock.now():
            raise LinkNotValid
        opened = await self._sign_ins.open(issued.user, "link", visitor)
        if opened is None:
            raise LinkNotValid
        return opened


def _is_loopback(address: str | None) -> bool:
    try:
        known = ipaddress.ip_address(address or "")
    except ValueError:
        return False
    mapped = known.ipv4_mapped if isinstance(known, ipaddress.IPv6Address) else None
    return (mapped or known).is_loopback
