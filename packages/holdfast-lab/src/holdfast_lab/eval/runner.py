"""Runs a task once, as a user's program would: through the SDK of the public API.

Create a chat and its workspace, fill the folder, send the instruction, follow the chat to its end
or to a limit, stop it, judge the folder, record, delete. Only the files are touched directly: the
runner fills and judges the folder of the workspace on this machine.
"""

import asyncio
import tempfile
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from holdfast.domain.errors import HoldfastError as OwnError
from holdfast_client import AsyncChat, AsyncClient
from holdfast_client.errors import ConflictError, HoldfastError
from holdfast_client.events import ChatState, Event, MessageCreated
from holdfast_client.models import Message
from holdfast_lab.eval.kills import Killer
from holdfast_lab.eval.record import Activity, EvalRun, activity_of, last_text
from holdfast_lab.eval.server import Place
from holdfast_lab.eval.tasks import EvalTask
from holdfast_lab.eval.transcript import transcript_of
from holdfast_lab.eval.verifier import Judgement, RunFolders, Sandbox, judge, set_up

STOP_S: Final = 120.0
START_S: Final = 180.0
CALL_S: Final = 180.0
"""A call of the API waits as long as a killed server needs to start again."""
ENDINGS: Final = {"idle": "done", "awaiting": "awaiting"}
KILLED_FACTOR: Final = 3.0
"""Of the time limit of a run with kills: each kill costs seconds that are not the model's."""
LIMITS: Final = frozenset({"step_limit", "usage_limit"})
"""The kinds of error of a turn that reached a limit: of replies, or of the provider."""


class BudgetSpent(Exception):
    """The runs together have cost as much as they may."""


@dataclass
class Budget:
    """What all runs together may cost, and have cost so far. Replies without a price count 0."""

    usd_max: float = float("inf")
    usd: float = 0.0
    unpriced: int = 0
    """Replies of a model whose price is not known."""

    def add(self, message: Message) -> None:
        """Raises `BudgetSpent`."""
        if message.role == "assistant":
            self.unpriced += message.cost_micro_usd is None
            self.usd += (message.cost_micro_usd or 0) / 1_000_000
        self.check()

    def check(self) -> None:
        """Raises `BudgetSpent`."""
        if self.usd >= self.usd_max:
            raise BudgetSpent(f"The runs have cost ${self.usd:.2f} of ${self.usd_max:.2f}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalArm:
    """A way to run all tasks."""

    name: str
    place: Place
    model: str | None = None
    prompt_hash: str = ""
    commit: str = ""
    kills: bool = False


@dataclass(kw_only=True)
class Watched:
    """What following a chat has shown."""

    ending: str = "error"
    error: str = ""
    waiting_s: float = 0.0
    waiting_since: float | None = None
    seen: set[int] = field(default_factory=set[int])

    def note(self, event: ChatState) -> None:
        """Count the time during which the turn waits before another attempt."""
        now = time.monotonic()
        if self.waiting_since is not None:
            self.waiting_s += now - self.waiting_since
        self.waiting_since = None if event.data.retry is None else now


@dataclass(kw_only=True)
class Attempt:
    """A run while it takes place."""

    task: EvalTask
    arm: EvalArm
    budget: Budget
    sandbox: Sandbox
    watched: Watched = field(default_factory=Watched)
    killer: Killer | None = None
    chat_id: str = ""
    wall_s: float = 0.0
    messages: list[Message] = field(default_factory=list[Message])
    judged: Judgement = field(default_factory=lambda: Judgement(0.0, ""))

    async def run(self, client: AsyncClient, title: str) -> None:
        """Whatever fails is noted in `watched`, and the run ends with it."""
        try:
            chat = await client.chats.create(title=title, model=self.arm.model)
            self.chat_id = chat.id
            try:
                await self._within(chat)
            finally:
                await _removed(chat)
        except (HoldfastError, OwnError) as failed:
            self.watched.ending, self.watched.error = "error", str(failed)

    async def _within(self, chat: AsyncChat) -> None:
        place = self.arm.place
        made = await chat.workspace.create(place.template, timeout=START_S)
        root = place.files(made.id)
        await set_up(self.task, root)
        if self.arm.kills:
            self.killer = Killer(place=place, workspace_id=made.id)
        began = time.monotonic()
        try:
            await chat.send(self.task.instruction)
            await _to_the_end(chat, self.task, self.watched, self.budget, self.killer)
        finally:
            self.wall_s = time.monotonic() - began
        self.messages = [each async for each in chat.messages.list(order="asc")]
        await chat.workspace.stop(timeout=STOP_S)
        self.judged = await _judged(self.task, root, last_text(self.messages), self.sandbox)


async def run_task(
    task: EvalTask,
    arm: EvalArm,
    number: int,
    *,
    budget: Budget,
    sandbox: Sandbox = "bubblewrap",
) -> EvalRun:
    """One run, recorded; also if it fails. Raises `BudgetSpent` before it begins."""
    budget.check()
    found = Attempt(task=task, arm=arm, budget=budget, sandbox=sandbox)
    async with AsyncClient(arm.place.url, api_key=arm.place.key, timeout=CALL_S) as client:
        await found.run(client, f"{task.name} {number} ({arm.name})")
    return EvalRun(
        task=task.name,
        arm=arm.name,
        number=number,
        model=_model(found.messages) or arm.model or "",
        reward=found.judged.reward,
        ending=found.watched.ending,
        error=found.watched.error,
        wall_s=round(found.wall_s, 3),
        waiting_s=round(found.watched.waiting_s, 3),
        chat_id=found.chat_id,
        commit=arm.commit,
        prompt_hash=arm.prompt_hash,
        kills={} if found.killer is None else dict(found.killer.kills),
        activity=activity_of(found.messages) if found.messages else Activity(),
        verifier=found.judged.said,
        transcript=transcript_of(found.messages),
    )


async def _to_the_end(
    chat: AsyncChat, task: EvalTask, watched: Watched, budget: Budget, killer: Killer | None
) -> None:
    """Follow the chat until it has ended, or stop it at a limit."""
    limit_s = task.agent_s * (1.0 if killer is None else KILLED_FACTOR)
    try:
        async with asyncio.timeout(limit_s):
            await _follow(chat, watched, budget, killer)
    except TimeoutError:
        if killer is not None and killer.place.server is not None:
            await killer.place.server.revive()  # the limit may have come during a kill
        await _stopped(chat, watched, f"It did not end within {limit_s:g} s.")
        return
    except BudgetSpent as spent:
        await _stopped(chat, watched, str(spent))
        return
    info = await chat.refresh()
    watched.ending = ENDINGS.get(info.status, "error")
    if info.error is not None and info.status == "failed":
        watched.ending = "limit" if info.error.type in LIMITS else "error"
        watched.error = info.error.message


async def _follow(chat: AsyncChat, watched: Watched, budget: Budget, killer: Killer | None) -> None:
    events = chat.events(until="settled")
    async with aclosing(events):
        async for event in events:
            message = _new_message(event, watched)
            if isinstance(event, ChatState):
                watched.note(event)
            if message is None:
                continue
            budget.add(message)
            if killer is not None:
                await killer.after(message)


def _new_message(event: Event, watched: Watched) -> Message | None:
    """A snapshot after a reconnect shows messages again."""
    if not isinstance(event, MessageCreated) or event.data.seq in watched.seen:
        return None
    watched.seen.add(event.data.seq)
    return event.data


async def _stopped(chat: AsyncChat, watched: Watched, why: str) -> None:
    watched.ending, watched.error = "limit", why
    with suppress(ConflictError):  # it has just ended by itself
        await chat.interrupt()
    await chat.wait(timeout=STOP_S)


async def _judged(task: EvalTask, root: Path, message: str, sandbox: Sandbox) -> Judgement:
    with tempfile.TemporaryDirectory(prefix="holdfast-eval-logs-") as logs:
        return await judge(task, RunFolders(root, Path(logs)), message, sandbox)


async def _removed(chat: AsyncChat) -> None:
    """The workspace is deleted; the chat stays readable in the archive. A server that is gone does
    not delay the end of the command for long."""
    with suppress(HoldfastError, TimeoutError):
        async with asyncio.timeout(STOP_S / 2):
            await chat.workspace.delete()
            await chat.archive()


def _model(messages: list[Message]) -> str:
    return next((each.model for each in reversed(messages) if each.model), "")
