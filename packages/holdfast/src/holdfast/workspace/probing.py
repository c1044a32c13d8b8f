"""Whether an agent answers at an address."""

import asyncio
from typing import Final

from holdfast.workspace.client import AgentClient, AgentGone, AgentRefused
from holdfast_agent.wire import About

ANSWER_S: Final = 5.0
LOOK_FIRST_S: Final = 0.02
LOOK_MAX_S: Final = 0.5


async def about(address: str, token: str | None) -> About | None:
    """What the agent says of itself; None if none answers there, or not as an agent would."""
    try:
        async with asyncio.timeout(ANSWER_S), AgentClient(address, token) as agent:
            return await agent.about()
    except (AgentGone, AgentRefused, TimeoutError):
        return None


async def until_answers(address: str, token: str | None) -> About:
    """For as long as the caller lets it."""
    pause_s = LOOK_FIRST_S
    while True:
        said = await about(address, token)
        if said is not None:
            return said
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, LOOK_MAX_S)
