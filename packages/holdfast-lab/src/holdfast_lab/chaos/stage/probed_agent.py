"""Failpoints around what a server says to the agent of a workspace."""

from collections.abc import Awaitable, Callable
from typing import Any

from holdfast.workspace.client import AgentClient
from holdfast_lab.chaos.stage.probes import Probes


def probe_agent(probes: Probes) -> None:
    """Boundaries around what is said to the agent, in the process that says it."""
    for name in ("start", "look", "stop"):
        setattr(AgentClient, name, _around(probes, f"agent {name}", getattr(AgentClient, name)))


def _around(probes: Probes, name: str, verb: Any) -> Callable[..., Awaitable[Any]]:
    async def probed(*args: Any, **more: Any) -> Any:
        async with probes.around(name):
            return await verb(*args, **more)

    return probed
