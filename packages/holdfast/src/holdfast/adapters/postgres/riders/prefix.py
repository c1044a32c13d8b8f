"""The prefix of a prompt, as a rider of the commit that first names it.

A row that is there already is updated, not left alone: the update locks the row, so that a deletion
of rows that no message names (`postgres.prefixes`) waits for this commit and then finds the row in
use again. The deletion may also be first: then the insert waits for it, and stores the row anew.
"""

from collections.abc import Sequence
from typing import Any, Final

from holdfast.adapters.postgres.codec import escape
from holdfast.adapters.postgres.riders.statement import RiderStatement
from holdfast.domain.prefix import PromptPrefix

_BLOCK: Final = """
, prefix_kept as (
    insert into prompt_prefixes (digest, content)
    select p.digest, p.content
    from moved, unnest(:prefix_digests::text[], :prefix_contents::text[]) as p (digest, content)
    on conflict (digest) do update set unnamed_since = null
)
"""


def _parameters(prefixes: Sequence[PromptPrefix]) -> dict[str, Any]:
    return {
        "prefix_digests": [each.digest for each in prefixes],
        "prefix_contents": [escape(each.content) for each in prefixes],
    }


PREFIX: Final = RiderStatement(
    block=_BLOCK,
    parameters=_parameters,
    alone=True,  # another commit that stores the same row waits for this one
)
