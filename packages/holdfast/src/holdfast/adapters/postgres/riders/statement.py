"""How a kind of rider is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString


@dataclass(frozen=True, slots=True, kw_only=True)
class RiderStatement:
    """`block`: common table expressions, each with a comma before it, that write the riders of one
    kind. They select `from moved`, which has one row (`id`, `epoch`, `version` of the chat) if the
    commit succeeds and none if it is refused. Where riders are sets of rows, they come through
    `unnest`.

    `parameters`: the values of the block for all riders of the kind; with none, the block writes
    nothing. Their names begin with that of the kind: a name belongs to one block.

    `alone`: the block holds a lock for which commits of other chats wait, so this commit shares no
    transaction with them.
    """

    block: LiteralString
    parameters: Callable[[Sequence[Any]], dict[str, Any]]
    alone: bool = False
