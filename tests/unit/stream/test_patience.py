"""How long readers wait for a bus that hangs."""

import asyncio
from collections.abc import Sequence

from holdfast.domain.commands import CommitStep, FinishTurn
from holdfast.domain.errors import Unavailable
from holdfast.domain.ids import ChatId
from holdfast.ports.bus import Episode, LivePart
from holdfast.stream.options import HubOptions
from tests.support.builders import reply, user
from tests.support.rough import RoughBus, Weather
from tests.support.streams import a_stage, recording
from tests.support.virtual import run_virtually


class Hanging(RoughBus):
    async def read_live(  # pyright: ignore[reportImplicitOverride]
        self, chat_id: ChatId, episode: Episode, after_seq: int = 0
    ) -> Sequence[LivePart]:
        await asyncio.sleep(60)
        raise Unavailable("at last")


def test_a_bus_that_hangs_does_not_hold_back_what_is_committed() -> None:
    options = HubOptions()

    async def story() -> float:
        now = asyncio.get_running_loop().time
        async with (
            a_stage("fake", "") as stage,
            stage.replica(options, around=lambda bus: Hanging(bus, Weather())) as replica,
        ):
            chat = await stage.create(user())
            chat = await stage.acquire(chat.chat_id)
            async with recording(replica.hub, chat.chat_id) as reader:
                await reader.until(lambda reader: reader.status == "running")
                began_s = now()
                await stage.drive(chat, CommitStep((reply(),)), FinishTurn())
                await reader.until(lambda reader: reader.status == "idle", within_s=100)
                return now() - began_s

    assert run_virtually(story()) <= options.poll_every_s + options.poll_grace_s
