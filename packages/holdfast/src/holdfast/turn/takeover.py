"""What an attempt had said whose worker is gone, read from the bus by the worker that comes next.

An interrupt keeps all of it. A reply that is to go on keeps only what the next attempt can go on
from: text, with its beginning. A call is left out: none of it was run, and the attempt that goes on
from the text makes it again.
"""

import asyncio
import logging
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import CallId
from holdfast.domain.parts import Part, ToolCall
from holdfast.ports.bus import Bus, Episode, LivePart
from holdfast.ports.clock import Clock
from holdfast.turn.assemble import assemble
from holdfast.turn.attempt import unique_calls
from holdfast.turn.counters import TurnCounters
from holdfast.turn.options import TurnOptions
from holdfast.turn.prompt import speaks
from holdfast.turn.shown_output import shown_in
from holdfast.turn.turn import Turn, UncommittedReply

log: Final = logging.getLogger(__name__)

CUTS_MAX: Final = 2
"""Replies in a row that may break off before a step is made anew. Each one starts the count of
attempts from zero, so without a bound a chat that kills its workers would do so for ever (P3)."""


class TakeoverReader:
    def __init__(
        self, bus: Bus, clock: Clock, options: TurnOptions, counters: TurnCounters
    ) -> None:
        self._bus = bus
        self._clock = clock
        self._options = options
        self._counters = counters

    async def said(self, turn: Turn, episode: Episode) -> UncommittedReply | None:
        """All that the bus still has of an episode; None if the bus does not answer."""
        live = await self._read(turn, (episode,))
        if live is None:
            return None
        return UncommittedReply(episode, unique_calls(assemble(live, self._clock.now()), turn))

    async def outputs(self, turn: Turn) -> dict[CallId, str]:
        """What calls wrote that a lost worker had started; nothing if the bus does not answer."""
        inherited = () if turn.inherited is None else (turn.inherited,)
        live = await self._read(turn, (*inherited, *turn.left))
        return shown_in(live or ())

    async def text(self, turn: Turn) -> UncommittedReply | None:
        """What readers were shown of the attempt that died, if it can be gone on from."""
        if turn.left:
            # The hint of our acquiring was published before, and is sent within this pause. From
            # then on readers are shown nothing more of that attempt: also if its worker was only
            # frozen, and wakes, what follows holds all that they were shown.
            await asyncio.sleep(self._options.pause_s)
        live = await self._read(turn, turn.left)
        if not live:
            return None
        # Readers are shown nothing behind a hole (L58).
        shown = [part for _, part in takewhile(_in_order, enumerate(live, start=1))]
        parts = [part for part in assemble(shown, self._clock.now()) if _goes_on(part)]
        return UncommittedReply(live[0].episode, tuple(parts)) if any(map(speaks, parts)) else None

    async def _read(self, turn: Turn, episodes: Sequence[Episode]) -> Sequence[LivePart] | None:
        """The parts of the first of these that has some; None if the bus does not answer."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + self._options.partial_s
        while True:
            try:
                return await self._first_said(turn, episodes)
            except Unavailable:
                if loop.time() >= ends_s:
                    log.warning(
                        "turn: partial reply of chat %s could not be read from the bus",
                        turn.chat.chat_id,
                    )
                    self._counters.partials_missed += 1
                    return None
            await asyncio.sleep(self._options.pause_s)

    async def _first_said(self, turn: Turn, episodes: Sequence[Episode]) -> Sequence[LivePart]:
        for episode in episodes:
            if live := await self._bus.read_live(turn.chat.chat_id, episode):
                return live
        return ()


def _in_order(numbered: tuple[int, LivePart]) -> bool:
    number, part = numbered
    return part.seq == number


def _goes_on(part: Part) -> bool:
    return not isinstance(part, ToolCall)
