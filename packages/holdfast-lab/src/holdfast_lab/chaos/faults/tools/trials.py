"""Commands of a real workspace while servers and agents die around them.

A chat has a workspace with an agent process of its own. Each trial is a turn in it: the model runs
one command that leaves a line for every step it does, a process is struck at a boundary, and then
the file and the history are compared with what the command should have done.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import orjson

from holdfast.adapters.postgres.pool import Pool, PoolOptions, open_pool
from holdfast.adapters.postgres.verify import verify
from holdfast.bootstrap import Server, open_server
from holdfast.chats.create import create
from holdfast.chats.send import send
from holdfast.domain.events import message_json
from holdfast.domain.ids import ChatId
from holdfast.domain.messages import Message
from holdfast.domain.parts import Synthetic, ToolResult
from holdfast.settings import Settings
from holdfast_lab.chaos.faults.workers.trials import BusKind, settings_for
from holdfast_lab.chaos.faults.workers.watching import Watching, folded, watching
from holdfast_lab.chaos.harness.asking import whole
from holdfast_lab.chaos.harness.cluster import Actor, Theatre
from holdfast_lab.chaos.harness.folders import running_in, short_folder
from holdfast_lab.chaos.harness.people import ACTOR, ORG, OWNER, add_user, user

Blow = Literal["kill", "term", "agent"]
"""SIGKILL of the server; SIGTERM of it; SIGKILL of the workspace's agent."""
SETTLE_S = 90.0
STEPS = 6
QUICK = {"lease_ttl_s": 4.0, "heartbeat_every_s": 1.0, "drain_s": 10.0}
Wall = Literal["external", "bubblewrap"]
TEMPLATE: dict[str, Any] = {
    "name": "local",
    "kind": "local",
    "start_s": 120.0,
    "arguments": ["--disk-free-mib-min", "0"],
}


@dataclass
class Verdict:
    blow: Blow
    boundary: int
    name: str = "never reached"
    unknown: bool = False
    wrong: list[str] = field(default_factory=list[str])


@dataclass
class Place:
    """A chat with a workspace, a client that sends and watches, and a worker that waits to take
    over."""

    theatre: Theatre
    settings: dict[str, Any]
    server: Server
    pool: Pool
    successor: Actor
    folder: Path
    chat_id: ChatId
    mutant: str | None = None

    @property
    def files(self) -> Path:
        (found,) = self.folder.glob("*/files")
        return found

    async def victim(self) -> Actor:
        return await self.theatre.engage("victim", self.settings, mutant=self.mutant, hands=True)

    async def say(self, command: str, **more: Any) -> None:
        """As a person whose model runs this command."""
        arguments = orjson.dumps({"command": command, **more}).decode()
        asked = f'{uuid4().hex} [[sim: call execute {arguments} | then | say "Done."]]'
        await send(self.server.ledger, ACTOR, self.chat_id, user(asked))

    async def history(self) -> list[Message]:
        return await whole(self.server.adapters.history, self.chat_id)

    async def last_result(self) -> ToolResult:
        parts = [part for message in await self.history() for part in message.body.parts]
        return [part for part in parts if isinstance(part, ToolResult)][-1]

    def agents(self) -> list[int]:
        return [pid for pid in running_in(self.folder) if b"holdfast_agent" in _cmdline(pid)]

    def kill_agents(self) -> None:
        agents = self.agents()
        assert agents, "there is no agent to kill"
        for pid in agents:
            os.kill(pid, signal.SIGKILL)


def _cmdline(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@asynccontextmanager
async def place(
    theatre: Theatre, bus: BusKind, mutant: str | None = None, wall: Wall = "external"
) -> AsyncGenerator[Place]:
    url = await theatre.new_database()
    with short_folder() as folder:
        templates = [{**TEMPLATE, "sandbox": wall}]
        more = {"templates": templates, "workspaces_folder": str(folder / "w"), **QUICK}
        settings = settings_for(theatre, url, bus, **more)
        watcher = Settings.model_validate({**settings, "role": "api"})
        async with (
            open_pool(url, PoolOptions(connections_min=1, connections_max=2)) as pool,
            open_server(watcher) as server,
        ):
            await add_user(pool, ORG, OWNER)
            done = await create(server.ledger, server.adapters.ids, ACTOR, [])
            assert server.adapters.workspaces is not None
            await server.adapters.workspaces.create(done.chat)
            successor = await theatre.engage(
                "successor", settings, may_acquire=False, mutant=mutant, hands=True
            )
            made = Place(
                theatre, settings, server, pool, successor, folder / "w", done.chat.chat_id, mutant
            )
            try:
                yield made
            finally:
                theatre.dismiss(successor)


def lines_of(token: str) -> list[str]:
    return [f"{token}-{number}" for number in range(1, STEPS + 1)]


def command_of(token: str, step_s: float) -> str:
    """Each step says a line and does a thing; doing it twice would leave it twice."""
    numbers = " ".join(str(number) for number in range(1, STEPS + 1))
    return (
        f"for i in {numbers}; do echo {token}-$i; echo {token}-$i >> done.txt; sleep {step_s};"
        f" done; echo {token} ends"
    )


async def play(
    scene: Place, blow: Blow, boundary: int, *, step_s: float = 0.1, name: str = ""
) -> Verdict:
    """Strike at a boundary while a command runs; check what it did and what is known of it."""
    verdict, token = Verdict(blow, boundary), uuid4().hex[:8]
    successor = scene.successor
    successor.tell(do="close")
    victim = await scene.victim()
    victim.tell(do="arm", at=boundary, act="kill" if blow == "kill" else "tell", name=name)
    assert scene.server.hub is not None
    before = len(await scene.history())
    try:
        async with watching(scene.server.hub, scene.chat_id) as seen:
            await scene.say(command_of(token, step_s))
            struck = await _strike(victim, seen, before, verdict)
            successor.tell(do="open")
            if struck and blow == "term":
                victim.signal(signal.SIGTERM)
            if struck and blow == "agent":
                scene.kill_agents()
            await seen.until(lambda: _is_answered(seen, before), SETTLE_S)
            verdict.wrong += seen.wrong
        await _check(scene, token, before, verdict)
    except* TimeoutError:
        verdict.wrong.append(f"stuck after {verdict.name}: {successor.heard[-3:]}")
    finally:
        scene.theatre.dismiss(victim)
    return verdict


def _is_answered(seen: Watching, before: int) -> bool:
    known = sorted(seen.messages.items())
    return seen.is_idle and len(known) >= before + 4 and known[-1][1]["role"] == "assistant"


async def _strike(victim: Actor, seen: Watching, before: int, verdict: Verdict) -> bool:
    async with asyncio.TaskGroup() as tasks:
        reached = tasks.create_task(victim.says("reached"))
        ended = tasks.create_task(seen.until(lambda: _is_answered(seen, before), SETTLE_S))
        done, _ = await asyncio.wait({reached, ended}, return_when=asyncio.FIRST_COMPLETED)
        for task in (reached, ended):
            task.cancel()
        if reached in done:
            verdict.name = reached.result().what["name"]
    return verdict.name != "never reached"


async def _check(scene: Place, token: str, before: int, verdict: Verdict) -> None:
    verdict.wrong += [f"{v.rule} ({v.detail})" for v in await verify(scene.pool, [scene.chat_id])]
    history = await scene.history()
    roles = [m["role"] for m in folded(map(message_json, history[before:]))]
    if roles != ["user", "assistant", "tool", "assistant"]:
        verdict.wrong.append(f"history is {roles}")
        return
    result, wanted = await scene.last_result(), lines_of(token)
    verdict.unknown = result.synthetic is Synthetic.UNKNOWN_OUTCOME
    _check_effect(done_in(scene, token), wanted, verdict)
    if verdict.unknown:
        if "unknown" not in str(result.output):
            verdict.wrong.append(f"the model is told {result.output!r}")
    elif str(result.output).split("\n")[2:] != [*wanted, f"{token} ends", ""]:
        verdict.wrong.append(f"the output is not whole: {result.output!r}")
    elif not str(result.output).startswith("exit code 0"):
        verdict.wrong.append(f"it ended as {result.output!r}")


def _check_effect(done: list[str], wanted: list[str], verdict: Verdict) -> None:
    if len(done) != len(set(done)):
        verdict.wrong.append(f"done twice: {done}")
    elif verdict.blow == "agent" and verdict.unknown:
        if done != wanted[: len(done)]:
            verdict.wrong.append(f"done out of order: {done}")
    elif verdict.unknown:
        verdict.wrong.append("the outcome of a command is unknown although its agent lived")
    elif done != wanted:
        verdict.wrong.append(f"not done to its end: {done}")


def done_in(scene: Place, token: str) -> list[str]:
    path = scene.files / "done.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if line.startswith(token)]
