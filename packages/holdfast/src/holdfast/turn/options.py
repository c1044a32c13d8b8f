"""What may be set about driving turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.chats.outputs import OUTPUT_BYTES_MAX, OUTPUT_SHARE
from holdfast.domain.approvals import ALLOW_ALL, Policy, RuleAction
from holdfast.domain.parts import Need
from holdfast.turn.retry import RetryPolicy

DAY_S: Final = 24 * 3600.0


AWAIT_S: Final[dict[Need, float | None]] = {
    Need.APPROVAL: 7 * DAY_S,
    Need.LOGIN: 7 * DAY_S,
    Need.RESULT: 3600.0,
    Need.ANSWER: None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOptions:
    """How deltas become live parts: the first at once, then at most so often, or so much."""

    every_s: float = 0.03
    bytes_max: int = 2048

    def __post_init__(self) -> None:
        assert self.every_s > 0
        assert self.bytes_max > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOptions:
    parallel_max: int = 8
    stop_s: float = 5.0
    """How long a cancelled run may take to be gone (X2)."""
    handover_s: float = 20.0
    """How long a run that must not happen twice may go on when the worker stops."""
    output_bytes_max: int = OUTPUT_BYTES_MAX
    output_share: float = OUTPUT_SHARE
    emitted_bytes_max: int = 256 * 1024
    """Of one run, shown live."""

    def __post_init__(self) -> None:
        assert self.parallel_max > 0
        assert 0 < self.stop_s <= 5.0, "X2 promises five seconds"
        assert self.handover_s >= 0
        assert self.output_bytes_max >= 1024
        assert 0 < self.output_share <= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOptions:
    system: tuple[str, ...] = ()
    """The sections of the system prompt."""
    system_by_wire: Mapping[str, str] = field(default_factory=dict[str, str])
    """A further section for the models on one wire."""
    replies_max: int = 250
    """Replies of a model since a person last spoke, before the turn pauses; as many again after
    each retry."""
    page_messages_max: int = 500
    """Messages per read of history."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    live: LiveOptions = field(default_factory=LiveOptions)
    tools: ToolOptions = field(default_factory=ToolOptions)
    approvals: Policy = ALLOW_ALL
    """The server's own rules; an organisation's come on top."""
    foreign_text: RuleAction = RuleAction.ALLOW
    """The verdict on a call that may send data out, once the chat has read foreign text."""
    await_s: Mapping[Need, float | None] = field(default_factory=AWAIT_S.copy)
    """How long a chat waits for a person or a client, by what it needs; None: for ever."""
    lease_s: float | None = None
    """How long a worker's lease lasts from its last sign; None: not known."""
    partial_s: float = 5.0
    """How long to ask the bus for what a dead worker's model had said."""
    patience_s: float = 120.0
    """How long to wait for a database that does not answer. The lease ends before that."""
    pause_s: float = 0.1
    pause_s_max: float = 2.0

    def __post_init__(self) -> None:
        assert self.replies_max > 0
        assert self.page_messages_max > 0
        assert 0 < self.pause_s <= self.pause_s_max
        assert self.partial_s >= 0
