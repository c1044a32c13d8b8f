"""Looking up from the work: what a nudge means, found out by reading the chat again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.domain.chat import Chat, Status
from holdfast.domain.errors import FenceStale, FormatUnknown, Unavailable
from holdfast.turn.reading import TurnReader
from holdfast.turn.turn import Turn


@dataclass(frozen=True, slots=True)
class Interruption:
    """Why a step is to end. `chat` as it now is (None: gone), unless the worker lets go.

    `unreadable`: a value, because the task group of a step would wrap what is raised in it.
    """

    chat: Chat | None = None
    leaving: bool = False
    unreadable: FormatUnknown | None = None


def apply(turn: Turn, nudged: Interruption) -> None:
    """Go on from what a nudge led to; raises `FenceStale` if that is no longer ours, and
    `FormatUnknown` if this version can no longer read it."""
    if nudged.unreadable is not None:
        raise nudged.unreadable
    if nudged.leaving:
        return
    if nudged.chat is None or not turn.holds(nudged.chat):
        raise FenceStale(f"chat {turn.chat.chat_id} is driven by another worker")
    turn.take(nudged.chat)


def is_overtaken(turn: Turn, loaded: Chat) -> bool:
    """Whether work on the present snapshot is void: an interrupt, an edit or another owner."""
    return (
        not turn.holds(loaded)
        or loaded.status is Status.INTERRUPTING
        or loaded.history != turn.chat.history
    )


def ends_step(turn: Turn, loaded: Chat) -> bool:
    """The same; and a step that waits out a backoff ends if a person does not want to wait."""
    return is_overtaken(turn, loaded) or loaded.backoff != turn.chat.backoff


async def attend(
    turn: Turn,
    reading: TurnReader,
    *,
    pause_s: float,
    ends: Callable[[Turn, Chat], bool] = ends_step,
) -> Interruption:
    """Until something happens that ends the present step: an interrupt, an edit, another owner,
    or a worker that stops. A rumour that turns out to be nothing is forgotten."""
    nudges = turn.nudges
    while True:
        await nudges.wait()
        if nudges.leaving:
            return Interruption(leaving=True)
        nudges.heed()
        try:
            loaded = await reading.chat(turn.chat.chat_id)
        except Unavailable:
            nudges.doubt()
            await asyncio.sleep(pause_s)
            continue
        except FormatUnknown as error:
            return Interruption(unreadable=error)
        except asyncio.CancelledError:
            nudges.doubt()  # what was heard has not been looked at: the next look must not miss it
            raise
        if loaded is None or ends(turn, loaded):
            return Interruption(loaded)
        if loaded.version > turn.chat.version:
            turn.take(loaded)  # a message was queued: the next commit need not lose to it
