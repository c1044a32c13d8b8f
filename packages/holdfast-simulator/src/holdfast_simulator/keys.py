"""Keys that end: `sim-until-1767225600` is refused from that second of the epoch on.

The key itself says its end, so that a test can play a token source without telling the simulator.
"""

import re
from dataclasses import replace
from typing import Final

from holdfast_simulator.asked import WireName
from holdfast_simulator.clock import Clock
from holdfast_simulator.wires.base import Call, Rejection, Trouble, Wire

_ENDING: Final = re.compile(r"sim-until-(\d{1,11})")
_GOOGLE: Final = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or"
    " other valid authentication credential."
)


def ended(wire: Wire, call: Call, clock: Clock) -> Rejection | None:
    """The refusal of a key whose end has come, in the API's words."""
    ending = _ENDING.fullmatch(wire.account(call))
    if ending is None or clock.wall_s() < int(ending[1]):
        return None
    refusal = wire.troubles[Trouble.UNAUTHORIZED]
    if wire.name is not WireName.GEMINI:
        return refusal
    return replace(refusal, status=401, kind="UNAUTHENTICATED", message=_GOOGLE, details=[])
