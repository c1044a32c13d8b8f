"""Thinking that the provider refuses to take back: what to send instead.

Newer Claude models bind a thinking block to the system prompt, the tools and the messages before
it. The prompt of a chat keeps these as they were; where it could not (an older version wrote the
chat, a tool was added), the provider answers 400, and would do so for as long as the chat goes on.
Then the same call is repeated once or twice with less thinking in it, and the chat remembers how
much its provider accepts.
"""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.adapters.providers.errors import ProviderError
from holdfast.adapters.providers.history import Entry, ModelEntry, UserEntry
from holdfast.adapters.providers.types import Call, Endpoint, ThinkingReplay, ThinkingStyle
from holdfast.domain.parts import Part, Reasoning
from holdfast.ports.models import Ask

_LOG: Final = logging.getLogger(__name__)

BETA: Final = "thinking-binding-controls-2026-08-01"
BLOCK_BINDING: Final = {"prefix_mismatch_behavior": "drop_block"}
CHATS_MAX: Final = 10_000
"""Chats whose providers refused thinking: the oldest are forgotten, at the cost of a refusal."""

_BOUND: Final = "bound to a different conversation"
_INVALID: Final = ("invalid `signature` in `thinking`", "invalid `data` in `redacted_thinking`")
_NO_CONTROLS: Final = "block_binding"
_WITHOUT_CONTROLS: Final = frozenset({"azure-anthropic"})
"""Vendors that have not published `block_binding`."""
_BLOCKS: Final = frozenset({"thinking", "redacted_thinking"})


class AcceptedThinking:
    """How much thinking the providers of chats accept, as far as this process has found out."""

    def __init__(self) -> None:
        self._chats: OrderedDict[str, tuple[ThinkingReplay, int]] = OrderedDict()

    def apply(self, call: Call, ask: Ask) -> Call:
        found = self._chats.get(str(ask.chat_id))
        if found is None:
            return call
        replay, length = found
        if len(ask.history) < length:  # a boundary came: what was refused is gone
            del self._chats[str(ask.chat_id)]
            return call
        return replace(call, thinking_replay=replay)

    def less(self, call: Call, ask: Ask, endpoint: Endpoint, error: ProviderError) -> "Call | None":
        """The call to repeat after this refusal; None: the refusal is about something else."""
        replay = _less(call, endpoint, error)
        if replay is None:
            return None
        _LOG.warning(
            "providers: thinking of an earlier reply was refused; it is left out",
            extra={
                "chat_id": str(ask.chat_id),
                "model": call.model.model,
                "provider": endpoint.vendor,
                "thinking": replay.value,
                "request_id": error.request_id,
                "detail": error.detail,
            },
        )
        self._chats[str(ask.chat_id)] = replay, len(ask.history)
        self._chats.move_to_end(str(ask.chat_id))
        if len(self._chats) > CHATS_MAX:
            self._chats.popitem(last=False)
        return replace(call, thinking_replay=replay)


def _less(call: Call, endpoint: Endpoint, error: ProviderError) -> ThinkingReplay | None:
    if endpoint.wire != "anthropic" or error.status != 400:
        return None
    said, before = error.detail.lower(), call.thinking_replay
    refused = any(words in said for words in _INVALID)
    match before:
        case ThinkingReplay.ALL if refused and _BOUND in said and _has_controls(call, endpoint):
            return ThinkingReplay.DROP_STALE
        case ThinkingReplay.DROP_STALE if refused or _NO_CONTROLS in said:
            return ThinkingReplay.LAST_TURN
        case ThinkingReplay.ALL if refused:
            return ThinkingReplay.LAST_TURN
        case ThinkingReplay.LAST_TURN if refused:
            return ThinkingReplay.NONE
        case _:
            return None


def _has_controls(call: Call, endpoint: Endpoint) -> bool:
    budgeted = call.model.thinking is ThinkingStyle.BUDGET  # controls need adaptive thinking
    return not budgeted and endpoint.vendor not in _WITHOUT_CONTROLS


# For the Anthropic wire.


def accepted(entries: list[Entry], replay: ThinkingReplay) -> list[Entry]:
    """The entries without the thinking that is not to be sent."""
    if replay in {ThinkingReplay.ALL, ThinkingReplay.DROP_STALE}:
        return entries
    last = len(entries)
    if replay is ThinkingReplay.LAST_TURN:
        last = max((at for at, entry in enumerate(entries) if type(entry) is UserEntry), default=0)
    kept: list[Entry] = []
    for at, entry in enumerate(entries):
        if at >= last or type(entry) is not ModelEntry:
            kept.append(entry)
            continue
        parts = [part for part in entry.parts if not _is_thinking(part)]
        if parts:
            kept.append(ModelEntry(parts, entry.paused))
    return kept


def _is_thinking(part: Part) -> bool:
    return (
        type(part) is Reasoning
        and part.native is not None
        and part.native.block.get("type") in _BLOCKS
    )


def dropping(thinking: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The `thinking` of a request that lets the provider drop what does not fit; None: it cannot
    ask for that. Models that bind think adaptively unless a request says otherwise."""
    if thinking is not None and thinking.get("type") != "adaptive":
        return None
    return {"type": "adaptive", **(thinking or {}), "block_binding": BLOCK_BINDING}
