"""Kills the server and the workspace agent of a run, between its steps and during them.

A step is one reply of the model and the tool calls in it. Each new message of the chat is one of
two moments: a reply with calls (they run now: during a step), and a result (the next reply begins
now: between steps). Each run gets each of the four kinds of kills once. A kill that found no
process takes place at the next moment of its kind.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from holdfast_client.models import Message, ToolCallPart
from holdfast_lab.eval.server import Place

Moment: TypeAlias = Literal["during", "between"]
DURING_S: Final = 0.4
"""A call of this age has begun."""
SERVER: Final = "server"
AGENT: Final = "agent"
ORDER: Final[dict[Moment, tuple[str, ...]]] = {
    "during": (SERVER, AGENT),
    "between": (AGENT, SERVER),
}


@dataclass(kw_only=True)
class Killer:
    place: Place
    workspace_id: str
    kills: Counter[str] = field(default_factory=Counter[str])
    """By kind, such as `server_during`."""

    async def after(self, message: Message) -> None:
        """Kill what is due now: one process at most."""
        if any(isinstance(part, ToolCallPart) for part in message.parts):
            await self._kill("during")
        elif message.role == "tool":
            await self._kill("between")

    async def _kill(self, moment: Moment) -> None:
        due = [each for each in ORDER[moment] if not self.kills[f"{each}_{moment}"]]
        if not due:
            return
        if moment == "during":
            await asyncio.sleep(DURING_S)
        killed = True
        if due[0] == SERVER:
            assert self.place.server is not None, "only a server of our own is killed"
            await self.place.server.kill()
        else:
            killed = self.place.kill_agent(self.workspace_id)
        self.kills[f"{due[0]}_{moment}"] += killed
