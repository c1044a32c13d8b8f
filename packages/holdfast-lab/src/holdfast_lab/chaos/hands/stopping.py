"""Interrupts while a command runs, with trees that do not want to end."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from holdfast.chats.rewrite import edit
from holdfast.chats.steer import interrupt
from holdfast_lab.chaos.hands.trials import SETTLE_S, Place, command_of, done_in
from holdfast_lab.chaos.stage.people import ACTOR, user
from holdfast_lab.chaos.turns.watching import Watching, watching

PROMISED_S = 5.0
AGAIN_S = 0.25
TREES = {
    "plain": "sleep {}",
    "a pipeline": "sleep {} | sleep {}",
    "a session of its own": "setsid sleep {} & wait",
    "forked twice": "(setsid sh -c 'sleep {} & sleep {}' &); sleep {}",
    "deaf to signals": "trap '' TERM INT HUP QUIT; while true; do sleep {}; done",
    "forked twice and deaf": "(setsid sh -c 'trap \"\" TERM INT HUP; sleep {}; sleep {}' &);"
    " trap '' TERM; sleep {}; sleep {}",
}
"""Every process of a tree has the trial's own number of seconds in its command line."""


@dataclass
class Stops:
    """How long after the acknowledgement anything of a call was alive."""

    times_s: list[float] = field(default_factory=list[float])
    survivors: int = 0
    wrong: list[str] = field(default_factory=list[str])


def survivors(token: str) -> list[int]:
    return [pid for pid, words in _command_lines() if token.encode() in b" ".join(words)]


def _bury(left: list[int]) -> None:
    """Counted as alive; they shall not outlive the trial."""
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _sleeps(token: str) -> bool:
    """The tree stands: something of it has begun to wait."""
    return any({b"sleep", token.encode()} <= set(words) for _, words in _command_lines())


def _command_lines() -> Iterator[tuple[int, list[bytes]]]:
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            with suppress(OSError):
                yield int(path.name), (path / "cmdline").read_bytes().split(b"\0")


async def interrupt_tree(scene: Place, tree: str, stops: Stops) -> None:
    """Start it, interrupt, and look whether anything of it is alive."""
    assert scene.server.hub is not None
    token = _token()
    before = len(await scene.history())
    async with watching(scene.server.hub, scene.chat_id) as seen:
        await scene.say(f"echo up {token}; {TREES[tree].replace('{}', token)}", wait_s=600)
        await seen.until(lambda: f"up {token}" in seen.tool_output, SETTLE_S)
        await _until(lambda: _sleeps(token), SETTLE_S)
        assert _sleeps(token), "else nothing is shown"
        await interrupt(scene.server.ledger, ACTOR, scene.chat_id)
        stops.times_s.append(await _until(lambda: not survivors(token), PROMISED_S))
        await asyncio.sleep(AGAIN_S)  # a child that was about to be born has been by now
        left = survivors(token)
        stops.survivors += len(left)
        if left:
            stops.wrong.append(f"{tree}: {len(left)} alive after {PROMISED_S} s")
        _bury(left)
        await seen.until(lambda: _is_over(seen, before), SETTLE_S)
        stops.wrong += seen.wrong
    result = await scene.last_result()
    if result.synthetic is None or not result.failed:
        stops.wrong.append(f"{tree}: the call ended as {result.output!r}")


async def edited_while_dead(scene: Place, tree: str) -> list[int]:
    """Kill the server whose command runs, edit the message that asked for it, and let a successor
    answer the new one. What is alive of the command then."""
    assert scene.server.hub is not None
    token = _token()
    scene.successor.tell(do="close")
    victim = await scene.victim()
    victim.tell(do="arm", at=1, act="kill", name="after agent start")
    async with watching(scene.server.hub, scene.chat_id) as seen:
        await scene.say(TREES[tree].replace("{}", token), wait_s=600)
        await victim.gone()
        await _until(lambda: _sleeps(token), SETTLE_S)
        assert _sleeps(token), "else nothing is shown"
        asked = (await scene.history())[-2]
        done = await edit(scene.server.ledger, ACTOR, scene.chat_id, asked.seq, user("Never mind."))
        scene.successor.tell(do="open")
        last = done.messages[-1].seq
        await seen.until(lambda: seen.is_idle and max(seen.messages, default=0) > last, SETTLE_S)
    scene.theatre.dismiss(victim)
    return survivors(token)


def _token() -> str:
    return f"{60 + int(uuid4().hex[:4], 16) / 1e3:.3f}{uuid4().int % 10**6:06d}"


async def _until(true: Callable[[], bool], within_s: float) -> float:
    """How long it took; at most as long as given."""
    began_s = time.monotonic()
    while True:
        passed_s = time.monotonic() - began_s
        if true() or passed_s >= within_s:
            return passed_s
        await asyncio.sleep(0.01)


def _is_over(seen: Watching, before: int) -> bool:
    return seen.is_idle and len(seen.messages) >= before + 3


async def frozen_before_the_start(scene: Place) -> list[str]:
    """Freeze the server that is about to start a command, interrupt, and wake it when its successor
    has finished: the command must never run. What it did, if anything."""
    assert scene.server.hub is not None
    token = uuid4().hex[:8]
    scene.successor.tell(do="close")
    victim = await scene.victim()
    victim.tell(do="arm", at=1, act="freeze", name="before agent start")
    before = len(await scene.history())
    async with watching(scene.server.hub, scene.chat_id) as seen:
        await scene.say(command_of(token, 0.01))
        await victim.says("reached")
        await interrupt(scene.server.ledger, ACTOR, scene.chat_id)
        scene.successor.tell(do="open")
        await seen.until(lambda: _is_over(seen, before), SETTLE_S)
    victim.signal(signal.SIGCONT)
    # Long enough for a zombie to try whatever it was about to do.
    await asyncio.sleep(1.5)
    scene.theatre.dismiss(victim)
    return done_in(scene, token)
