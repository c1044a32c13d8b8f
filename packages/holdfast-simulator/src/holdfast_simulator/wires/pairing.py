"""Item ids of the Responses wire that know which reasoning item they need.

The real API remembers stored responses and refuses an item whose reasoning item is missing. We
remember nothing: the id of an item that follows reasoning carries the mark of that reasoning item,
and a check that tells our own ids from ids of others.
"""

import hashlib
import re
from typing import Final

from holdfast_simulator.chance import HEX, Chance

MARK_CHARS: Final = 16
FILLER_CHARS: Final = 26
CHECK_CHARS: Final = 8
FOLLOWER: Final = re.compile(r"[a-z]+_([0-9a-f]{16})([0-9a-f]{26})([0-9a-f]{8})")


def plain_id(prefix: str, chance: Chance) -> str:
    return f"{prefix}_{chance.word(MARK_CHARS + FILLER_CHARS + CHECK_CHARS, HEX)}"


def follower_id(prefix: str, reasoning_id: str, chance: Chance) -> str:
    mark = mark_of(reasoning_id)
    filler = chance.word(FILLER_CHARS, HEX)
    return f"{prefix}_{mark}{filler}{_check(mark, filler)}"


def mark_of(reasoning_id: str) -> str:
    return reasoning_id.removeprefix("rs_")[:MARK_CHARS]


def needed_mark(item_id: str) -> str | None:
    """The mark of the reasoning item that this id needs, or None."""
    found = FOLLOWER.fullmatch(item_id)
    if found is None or found[3] != _check(found[1], found[2]):
        return None
    return found[1]


def _check(mark: str, filler: str) -> str:
    return hashlib.blake2b(f"{mark}{filler}".encode()).hexdigest()[:CHECK_CHARS]
