"""One trial: a turn with tools, its worker struck at a boundary, and what must hold afterwards."""

import asyncio
import signal
import time
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from uuid import uuid4

import orjson

from holdfast.adapters.postgres.pool import Pool, PoolOptions, open_pool
from holdfast.adapters.postgres.verify import verify
from holdfast.bootstrap import Server, open_server
from holdfast.chats.create import create
from holdfast.chats.send import send
from holdfast.domain.events import is_shown, message_json
from holdfast.domain.ids import ChatId, ClientKey
from holdfast.domain.messages import Message
from holdfast.domain.parts import Synthetic, ToolCall, ToolResult
from holdfast.ports.store import IdempotencyKey
from holdfast.settings import Settings
from holdfast_lab.chaos.faults.workers.watching import Watching, folded, watching
from holdfast_lab.chaos.harness.cluster import Actor, Heard, Theatre
from holdfast_lab.chaos.harness.people import ACTOR, ORG, OWNER, add_user, user

BusKind = Literal["postgres", "redis"]
Blow = Literal["kill", "freeze", "term", "cut"]
"""SIGKILL; SIGSTOP, woken in the middle of the successor's turn; SIGTERM; its link to the database
taken down, and mended in the middle of the successor's turn."""
SETTLE_S = 120.0
PATIENT = PoolOptions(
    connections_min=1, connections_max=2, connect_timeout_s=60.0, command_timeout_s=60.0
)
"""For our own checks: a busy test machine breaks no promise."""
ACTS: Final[Mapping[Blow, str]] = {"term": "tell", "cut": "hold"}
"""What a worker does at its boundary, where it is not what becomes of it."""
ZOMBIE_S: Final[Mapping[Blow, float]] = {"freeze": 0.5, "cut": 1.5}
"""A worker that was cut off must reconnect first."""
TOOLS = ("record_once", "record_keyed", "record_repeatable")


def words(prefix: str, count: int) -> str:
    return " ".join(f"{prefix}{number}" for number in range(1, count + 1))


FIRST, SECOND, THIRD = words("a", 40), words("b", 40), words("c", 20)
CALLS = " | ".join(f'call {tool} {{"note": "x"}}' for tool in TOOLS)
ASKED = f'Go {{token}}. [[sim: say "{FIRST}" | {CALLS} | then | say "{SECOND}" | rate=400]]'
FOLLOW_UP = f'And? [[sim: say "{THIRD}" | rate=400]]'
ROLES = ["user", "assistant", "tool", "assistant", "user", "assistant"]


@dataclass
class Verdict:
    """What became of a trial; `wrong` is empty if every promise was kept."""

    boundary: int
    name: str = "never reached"
    takeover_s: float | None = None
    unknown_outcomes: int = 0
    wrong: list[str] = field(default_factory=list[str])
    zombie_commits: int = 0
    once_repeated: int = 0
    continued: int = 0
    """Replies that a successor went on with."""


@dataclass(frozen=True)
class Elsewhere:
    """Where a victim lives whose link can be cut: the world as it is seen from there."""

    settings: dict[str, Any]
    part: dict[str, Any]
    cut: Callable[[], Awaitable[None]]
    mend: Callable[[], Awaitable[None]]
    back: Callable[[], Awaitable[list[str]]]
    """Until the victim is at work again; what is wrong, if it is not."""


@dataclass
class Scene:
    """A database of its own, a client that sends and watches, and a worker that waits to take
    over."""

    theatre: Theatre
    settings: dict[str, Any]
    server: Server
    pool: Pool
    successor: Actor
    mutant: str | None = None
    elsewhere: Elsewhere | None = None

    async def engage_victim(self) -> Actor:
        settings, part = self.settings, dict[str, Any]()
        if self.elsewhere is not None:
            settings, part = self.elsewhere.settings, self.elsewhere.part
        return await self.theatre.engage("victim", settings, mutant=self.mutant, **part)

    async def begin(self) -> ChatId:
        key = IdempotencyKey(ClientKey(uuid4().hex), b"begin")
        # The simulator derives call ids from the prompt; they must differ from trial to trial.
        asked = user(ASKED.replace("{token}", uuid4().hex))
        done = await create(self.server.ledger, self.server.adapters.ids, ACTOR, [asked], keyed=key)
        return done.chat.chat_id

    async def follow_up(self, chat_id: ChatId) -> None:
        """Sent twice with one key, as a client does whose answer got lost."""
        key = IdempotencyKey(ClientKey("follow-up"), b"follow-up")
        for _ in range(2):
            await send(self.server.ledger, ACTOR, chat_id, user(FOLLOW_UP), keyed=key)

    async def history(self, chat_id: ChatId) -> tuple[Message, ...]:
        page = await self.server.adapters.history.page(chat_id, limit=100)
        return page.messages


def settings_for(theatre: Theatre, url: str, bus: BusKind, **more: Any) -> dict[str, Any]:
    model = {
        "name": "sim",
        "vendor": "simulator-anthropic",
        "model": "claude-sonnet-5",
        "base_url": theatre.simulator,
        "api_key": "any",
    }
    found: dict[str, Any] = {
        "database_url": url,
        "database_connections_max": 4,
        "models": [model],
        "default_model": "sim",
        "foreign_text": "allow",  # no person is there who could be asked
        "role": "worker",
        "finish_replies_s": 0.0,  # so that they are handed over wherever they are
        **more,
    }
    if bus == "redis":
        found |= {"bus_url": theatre.redis, "bus_prefix": f"fault-{uuid4().hex}"}
    return found


@asynccontextmanager
async def scene(
    theatre: Theatre, bus: BusKind, mutant: str | None = None, **more: Any
) -> AsyncGenerator[Scene]:
    url = await theatre.new_database()
    settings = settings_for(theatre, url, bus, **more)
    watcher = Settings.model_validate({**settings, "role": "api"})
    async with (
        open_pool(url, PATIENT) as pool,
        open_server(watcher) as server,
    ):
        await add_user(pool, ORG, OWNER)
        engaging = theatre.engage("successor", settings, may_acquire=False, mutant=mutant)
        successor = await engaging
        try:
            yield Scene(theatre, settings, server, pool, successor, mutant)
        finally:
            theatre.dismiss(successor)


async def play(
    scene: Scene, blow: Blow, boundary: int, *, wake_at: int = 1, name: str = ""
) -> Verdict:
    """Strike the first worker at a boundary; the successor goes on; check everything.

    A frozen worker wakes, and a link is mended, when its successor has reached boundary `wake_at`,
    in mid-turn. `name`: only boundaries that are called so are counted.
    """
    verdict = Verdict(boundary)
    successor = scene.successor
    successor.tell(do="close")
    victim = await scene.engage_victim()
    victim.tell(do="arm", at=boundary, act=ACTS.get(blow, blow), name=name)
    # Armed anew for every trial: what an earlier one did not reach must not hold this one up.
    successor.tell(do="arm", at=wake_at if blow in ("freeze", "cut") else 0, act="hold")
    mark = len(successor.heard)
    seen_last: list[str] = []
    try:
        chat_id = await scene.begin()
        assert scene.server.hub is not None
        strict = Watching(keeps_words=True)
        async with watching(scene.server.hub, chat_id, strict) as seen:
            seen_last = seen.kinds
            await scene.follow_up(chat_id)
            struck = await _strike(victim, seen, verdict)
            successor.tell(do="open")
            if struck is not None and blow == "term":
                struck = Heard(struck.what, time.monotonic())
                victim.signal(signal.SIGTERM)
            if struck is not None and scene.elsewhere is not None:
                await scene.elsewhere.cut()
                victim.tell(do="go_on")
            if struck is not None:
                await _take_over(scene, victim, chat_id, seen, blow, struck, verdict, mark)
            await seen.until(lambda: _is_answered(seen), SETTLE_S)
            await _check(scene, chat_id, seen, verdict, handed_over=blow == "term")
            _check_zombie(chat_id, victim, successor.heard[mark:], verdict)
            if struck is not None and scene.elsewhere is not None and not verdict.wrong:
                verdict.wrong += await scene.elsewhere.back()
    except* TimeoutError as late:
        where = f"{_waits_of(late)}, {await _where(scene)}"
        verdict.wrong.append(f"stuck after {verdict.name}: {where}; a reader saw {seen_last[-20:]}")
    finally:
        scene.theatre.dismiss(victim)
    return verdict


def _is_answered(seen: Watching) -> bool:
    """Both messages of the user's are in the history, and the second has its reply."""
    roles = [message["role"] for _, message in sorted(seen.messages.items())]
    return seen.is_idle and roles.count("user") == 2 and roles[-1] == "assistant"


async def _strike(victim: Actor, seen: Watching, verdict: Verdict) -> Heard | None:
    """Wait for the blow; None if the turn ended without reaching the boundary."""
    async with asyncio.TaskGroup() as tasks:
        reached = tasks.create_task(victim.says("reached"))
        ended = tasks.create_task(seen.until(lambda: _is_answered(seen), SETTLE_S))
        done, _ = await asyncio.wait({reached, ended}, return_when=asyncio.FIRST_COMPLETED)
        if reached not in done:
            reached.cancel()
            return None
        ended.cancel()
    struck = reached.result()
    verdict.name = struck.what["name"]
    return struck


async def _take_over(
    scene: Scene,
    victim: Actor,
    chat_id: ChatId,
    seen: Watching,
    blow: Blow,
    struck: Heard,
    verdict: Verdict,
    mark: int,
) -> None:
    def acquired(what: dict[str, Any]) -> bool:
        return what.get("said") == "acquired" and what["chat"] == str(chat_id)

    def answered() -> Coroutine[Any, Any, None]:
        return seen.until(lambda: _is_answered(seen), SETTLE_S)

    over = victim.says("drained") if blow == "term" else answered()
    await _first_of(scene.successor.until(acquired, mark), over)
    if await _is_taken_over(scene, chat_id, victim):
        taken = await scene.successor.until(acquired, mark)
        verdict.takeover_s = taken.at - struck.at
        if blow in ("freeze", "cut"):  # to be woken in mid-turn, if it is long enough
            await _first_of(scene.successor.says("reached", mark), answered())
    if scene.elsewhere is not None:
        await scene.elsewhere.mend()
    if blow in ("freeze", "cut"):
        victim.signal(signal.SIGCONT)
        # Long enough for a zombie to try whatever it was about to do.
        await asyncio.sleep(ZOMBIE_S[blow])
        scene.successor.tell(do="go_on")


async def _is_taken_over(scene: Scene, chat_id: ChatId, victim: Actor) -> bool:
    """It was, or it will be. A worker that is struck after its last commit, or finishes before it
    goes, leaves nothing behind. The database knows: what the successor says may be heard too late.

    A follow-up that came when the first turn was over is a turn of its own, and the victim's, too.
    """
    own = [
        heard.what["epoch"]
        for heard in victim.heard
        if heard.what.get("said") == "acquired" and heard.what["chat"] == str(chat_id)
    ]
    row = await scene.pool.fetchrow("select epoch, status from chats where id = $1", chat_id)
    assert row is not None
    return row["epoch"] > max(own, default=0) or row["status"] != "idle"


def _waits_of(late: BaseExceptionGroup[TimeoutError]) -> list[str]:
    """Which of our waits came to nothing."""
    found: list[str] = []
    for error in late.exceptions:
        if isinstance(error, BaseExceptionGroup):
            found += _waits_of(error)
        else:
            frames = traceback.extract_tb(error.__traceback__)
            found.append(" > ".join(f"{frame.name}:{frame.lineno}" for frame in frames[-4:]))
    return found


async def _where(scene: Scene) -> str:
    """Where the youngest chat stands, for who has to find out why."""
    row = await scene.pool.fetchrow(
        "select status, version, history_version, attempt, epoch, worker_id, open_calls, backoff"
        " from chats order by id desc limit 1"
    )
    said = await scene.pool.fetch(
        "select seq, role, revision, left(parts::text, 60) as parts from messages"
        " where chat_id = (select id from chats order by id desc limit 1) order by seq"
    )
    return f"{dict(row or {})}, {[tuple(m) for m in said]}, successor {scene.successor.heard[-4:]}"


async def _first_of(*waits: Coroutine[Any, Any, object]) -> None:
    async with asyncio.TaskGroup() as tasks:
        all_ = {tasks.create_task(wait) for wait in waits}
        await asyncio.wait(all_, return_when=asyncio.FIRST_COMPLETED)
        for task in all_:
            task.cancel()


async def _check(
    scene: Scene, chat_id: ChatId, seen: Watching, verdict: Verdict, *, handed_over: bool
) -> None:
    history = await scene.history(chat_id)
    verdict.wrong += seen.wrong
    verdict.wrong += [f"{v.rule} ({v.detail})" for v in await verify(scene.pool, [chat_id])]
    told: dict[int, Any] = {
        m.seq: orjson.loads(orjson.dumps(message_json(m))) for m in history if is_shown(m.body)
    }
    # A reply that a worker could not end is one with what its successor went on with.
    whole = folded(told.values())
    roles = [message["role"] for message in whole]
    verdict.continued = len(told) - len(whole)
    if roles != ROLES and not handed_over:
        verdict.wrong.append(f"history is {roles}")
    if roles.count("user") != 2:
        verdict.wrong.append(f"{roles.count('user')} of 2 messages of the user's")
    if seen.messages != told:
        verdict.wrong.append("the reader's history is not the stored one")
    for place, text in ((1, FIRST), (3, SECOND), (5, THIRD)):
        if not handed_over and place < len(whole) and "".join(_texts(whole[place])) != text:
            verdict.wrong.append(f"message {whole[place]['seq']} says {_texts(whole[place])}")
    _check_effects(scene, history, verdict)


def _texts(message: Mapping[str, Any]) -> list[str]:
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def _check_effects(scene: Scene, history: tuple[Message, ...], verdict: Verdict) -> None:
    """`once` at most once, and never skipped in silence (X1)."""
    parts = [part for message in history for part in message.body.parts]
    results = {part.call_id: part for part in parts if isinstance(part, ToolResult)}
    effects = scene.theatre.recorder.effects
    for call in (part for part in parts if isinstance(part, ToolCall)):
        count, result = effects[call.call_id], results.get(call.call_id)
        unknown = result is not None and result.synthetic is Synthetic.UNKNOWN_OUTCOME
        verdict.unknown_outcomes += unknown
        if call.tool == "record_once" and count > 1:
            verdict.once_repeated += count - 1
            verdict.wrong.append(f"once ran {count} times")
        if call.tool == "record_keyed" and count > 1:
            verdict.wrong.append(f"keyed took effect {count} times")
        if count == 0 and (result is None or not result.failed):
            verdict.wrong.append(f"{call.tool} was skipped in silence")


def _check_zombie(chat_id: ChatId, victim: Actor, successor: list[Heard], verdict: Verdict) -> None:
    late = late_commits(chat_id, victim.heard, successor)
    verdict.zombie_commits += len(late)
    if late:
        verdict.wrong.append(f"a zombie wrote versions {late}")


def late_commits(chat_id: ChatId, victim: Sequence[Heard], successor: Sequence[Heard]) -> list[int]:
    """Versions that the victim wrote once its successor had taken over (S4). On a busy machine the
    successor may lose its lease, too, and the victim take the chat back: that epoch is its own."""

    def said(heard: Sequence[Heard], what: str) -> list[dict[str, Any]]:
        own = [h.what for h in heard if h.what.get("said") == what]
        return [each for each in own if each["chat"] == str(chat_id)]

    own = {each["epoch"] for each in said(victim, "acquired")}
    return [
        commit["version"]
        for commit in said(victim, "committed")
        if any(
            commit["version"] >= taken["version"]
            and (commit["epoch"] not in own or commit["epoch"] < taken["epoch"])
            for taken in said(successor, "acquired")
        )
    ]
