"""Compaction as facts: why a chat is to be compacted, how long its prompt is, and when to stop.

A summary takes the place of the earlier history in the prompt. The decision is committed before the
model is asked for the summary, with the numbers that it was made of: no successor decides again.

`Compaction.in_a_row` bounds it (L17): summaries that were made one after another without a reply
whose prompt was short again. After `COMPACTIONS_MAX` of them the turn ends with one error.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from holdfast.domain.messages import MessageBody, Role
from holdfast.domain.parts import Text, ToolResult

COMPACTIONS_MAX: Final = 3
"""Summaries in a row that did not make the prompt short enough."""
KEEP_CHARS_MAX: Final = 4_000
"""Of what a person asks a summary to keep."""
TOKEN_BYTES: Final = 3
"""Bytes that count as a token where no provider has counted: rather too many than too few."""
NEVER_PERCENT: Final = 100
"""A chat with this threshold is compacted only if a person asks."""
TOKENS_MAX: Final = 2_000_000_000
"""What the column holds."""


class CompactionReason(StrEnum):
    REQUESTED = "requested"  # a person asked
    THRESHOLD = "threshold"  # the prompt takes too large a share of the context window
    OVERFLOW = "overflow"  # the prompt does not fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """The newest decision to compact, with what it was made of.

    `used_tokens`: of the prompt; None: not known. `limit_tokens`: of the context window; None: not
    known. `percent`: from which share on a chat is compacted. `keep`: what a person asked to keep.
    `dropped`: the summary failed, and the turn went on without.
    """

    reason: CompactionReason
    used_tokens: int | None = None
    limit_tokens: int | None = None
    percent: int | None = None
    keep: str | None = None
    in_a_row: int = 0
    dropped: bool = False

    @property
    def is_automatic(self) -> bool:
        return self.reason is not CompactionReason.REQUESTED

    @property
    def threshold_tokens(self) -> int | None:
        """A prompt of so many tokens is compacted; None: not known."""
        if self.limit_tokens is None or self.percent is None:
            return None
        return threshold_of(self.limit_tokens, self.percent)

    def is_answered_by(self, prompt_tokens: int | None) -> bool:
        """Whether a reply whose prompt was so long shows that the summary helped. A reply of
        unknown size does: its prompt fitted."""
        threshold = self.threshold_tokens
        return prompt_tokens is None or threshold is None or prompt_tokens < threshold


def threshold_of(limit_tokens: int, percent: int) -> int:
    return limit_tokens * percent // 100


def prompt_tokens_after(before: int | None, body: MessageBody, more_bytes: int = 0) -> int | None:
    """How long the prompt is with this message at its end, as far as it is known: as the provider
    counted it with a reply, and an estimate of what came since. `more_bytes`: of a promoted
    message, whose parts no decision knows."""
    if body.role is Role.BOUNDARY:
        return None  # until the next reply: what stands before the summary was never counted alone
    counted = counted_tokens(body)
    if counted is not None:
        return min(counted, TOKENS_MAX)
    if before is None:
        return None
    return min(before + estimated_tokens(body) + more_bytes // TOKEN_BYTES, TOKENS_MAX)


def counted_tokens(body: MessageBody) -> int | None:
    """Of the prompt of a reply with the reply itself; None: the provider has not told."""
    if body.role is not Role.ASSISTANT or body.usage is None or not body.usage.get("input"):
        return None
    return body.usage["input"] + body.usage.get("output", 0)


def estimated_tokens(body: MessageBody) -> int:
    """How long a message is, by its bytes."""
    return sum(map(_bytes_of, body.parts)) // TOKEN_BYTES


def _bytes_of(part: object) -> int:
    match part:
        case Text(text) | ToolResult(output=str(text)):
            return len(text.encode(errors="surrogatepass"))
        case _:
            return len(repr(part))
