"""Makes titles, turn labels and summaries of chats beside their turns.

    a turn ──► queue (bounded) ──► one of a few tasks: claim, read, ask a model, compare and set

A turn only puts a job into the queue, in memory: it waits for nothing here and pays no statement.
A full queue leaves the job out, and the chat keeps the first words of its first message. A model
that hangs holds the few tasks of this module, each for a bounded time, and no turn. A chat whose
process died is offered again when another worker acquires it, and with the turns after that; the
tries are counted in its row.
"""

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self

from holdfast.chats.hints import hint_of_listing
from holdfast.domain.chat import Chat
from holdfast.domain.errors import HoldfastError
from holdfast.domain.ids import ChatId, Seq, UserId
from holdfast.domain.messages import Message, MessageBody, Role
from holdfast.domain.parts import Text
from holdfast.domain.titles import TitleSource, first_words
from holdfast.ports.bus import Hints
from holdfast.ports.chat_texts import ChatTexts, TextsKnown
from holdfast.ports.history import History
from holdfast.ports.models import Ask, ModelFailed, Models, TextDelta
from holdfast.tasks import Crew
from holdfast.turn.reading import TurnReader
from holdfast.turn.texts.choice import ModelFor
from holdfast.turn.texts.excerpts import (
    TURNS_BETWEEN_SUMMARIES,
    first_user_message,
    label_excerpt,
    summary_excerpt,
    title_excerpt,
    turns_since,
)
from holdfast.turn.texts.kinds import FINISHED, RULES, TextKind

log: Final = logging.getLogger(__name__)

EFFORT: Final = "none"
"""A model that cannot answer without thinking thinks as little as it can."""
FIRST_TURNS: Final = 3
"""Up to this message a turn offers its chat for a title."""
TRIES_MAX: Final = 2
"""Times that a model is asked for the title of a chat."""
MESSAGES_MAX: Final = 50
READ_BYTES_MAX: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTextOptions:
    """`titles`: made at all; `labels`: turn labels and summaries, too. `at_once`: calls of models.
    `waiting_max`: jobs in the queue of this process."""

    titles: bool = False
    labels: bool = False
    model: str | None = None
    at_once: int = 8
    waiting_max: int = 1_000


OUTCOMES: Final = ("made", "rejected", "failed", "late")


@dataclass(slots=True)
class ChatTextCounters:
    texts: Counter[tuple[str, str]] = field(
        default_factory=lambda: Counter(
            {(kind.value, outcome): 0 for kind in TextKind for outcome in OUTCOMES}
        )
    )
    """By kind and by what became of them."""
    dropped: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


class TurnObserver(Protocol):
    """Told of turns by the driver. Neither method waits or raises."""

    def begun(self, chat: Chat) -> None:
        """A worker begins to drive the chat."""

    def finished(self, chat: Chat) -> None:
        """A turn came to its end by itself, and the chat is at rest."""


class NotObserved:
    def begun(self, chat: Chat) -> None:
        pass

    def finished(self, chat: Chat) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Job:
    chat: Chat
    finished: bool


class ChatTextMaker:
    """One per process, entered with `async with`."""

    def __init__(
        self,
        texts: ChatTexts,
        history: History,
        reading: TurnReader,
        models: Models,
        hints: Hints,
        model_for: ModelFor,
        options: ChatTextOptions,
    ) -> None:
        self._texts = texts
        self._history = history
        self._reading = reading
        self._models = models
        self._hints = hints
        self._model_for = model_for
        self._options = options
        self.counters = ChatTextCounters()
        self._queue: asyncio.Queue[_Job | ChatId] = asyncio.Queue(options.waiting_max)
        self._naming: set[ChatId] = set()
        """Chats whose title is being made here: a turn that ends meanwhile does not spend a try."""
        self._crew = Crew()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._crew.__aenter__()
        for _ in range(self._options.at_once):
            self._tasks.append(self._crew.keep_up(self._work, name="chat texts"))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await self._crew.__aexit__(kind, error, traceback)

    # Told by turns, and by people.

    def begun(self, chat: Chat) -> None:
        if self._options.titles and _is_young(chat):
            self._put(_Job(chat, finished=False))

    def finished(self, chat: Chat) -> None:
        if self._options.labels or (self._options.titles and _is_young(chat)):
            self._put(_Job(chat, finished=True))

    def seek_title(self, chat_id: ChatId) -> None:
        """A user took the title away: find another one."""
        self._put(chat_id)

    def _put(self, job: "_Job | ChatId") -> None:
        try:
            self._queue.put_nowait(job)
        except asyncio.QueueFull:
            self.counters.dropped += 1

    # The work.

    async def _work(self) -> None:
        while True:
            job = await self._queue.get()
            try:
                await (self._do(job) if isinstance(job, _Job) else self._seek(job))
            except HoldfastError as error:  # the database is away: offered again with a later turn
                said = "turn: texts of a chat could not be made: %s"
                log.warning(said, error, extra={"seldom": said})

    async def _do(self, job: "_Job") -> None:
        chat = job.chat
        if not job.finished or not self._options.labels:
            await self._title(chat)
            return
        known = await self._texts.known(chat.chat_id)
        if known is None or (known.version, known.stamp) != (chat.version, chat.stamp):
            return  # it moved on: its next turn says more
        page = await self._history.page(
            chat.chat_id, limit=MESSAGES_MAX, as_of=chat.version, bytes_max=READ_BYTES_MAX
        )
        await self._label(chat, page.messages)
        await self._summarise(chat, page.messages, known)
        if _is_untitled(known):
            await self._title(chat)

    async def _seek(self, chat_id: ChatId) -> None:
        chat = await self._reading.chat(chat_id)
        message = None if chat is None else await self._first_message(chat_id)
        if chat is None or message is None:
            return
        words = first_words(message.body)
        if words is not None:
            await self._set_title(chat_id, words, TitleSource.FIRST_WORDS, message.seq)
        if self._options.titles:
            await self._title(chat)

    async def _title(self, chat: Chat) -> None:
        if chat.chat_id in self._naming:
            return
        self._naming.add(chat.chat_id)
        try:
            await self._name(chat)
        finally:
            self._naming.discard(chat.chat_id)

    async def _name(self, chat: Chat) -> None:
        if not await self._texts.claim_title(chat.chat_id, tries_max=TRIES_MAX):
            return
        message = await self._first_message(chat.chat_id)
        excerpt = None if message is None else title_excerpt(message)
        title = await self._written(TextKind.TITLE, chat, excerpt)
        if message is not None and title is not None:
            written = await self._set_title(chat.chat_id, title, TitleSource.MODEL, message.seq)
            self._count(TextKind.TITLE, "made" if written else "late")

    async def _first_message(self, chat_id: ChatId) -> Message | None:
        messages = await self._history.page_after(
            chat_id, Seq(0), limit=MESSAGES_MAX, bytes_max=READ_BYTES_MAX
        )
        return first_user_message(messages)

    async def _set_title(
        self, chat_id: ChatId, title: str, source: TitleSource, made_of: Seq
    ) -> bool:
        owner_id = await self._texts.set_title(chat_id, title, source, made_of=made_of)
        return await self._tell(chat_id, owner_id)

    async def _label(self, chat: Chat, messages: tuple[Message, ...]) -> None:
        label = await self._written(TextKind.TURN_LABEL, chat, label_excerpt(messages))
        owner_id = await self._texts.set_turn_label(
            chat.chat_id, label or FINISHED, version=chat.version, stamp=chat.stamp
        )
        written = await self._tell(chat.chat_id, owner_id)
        if label is not None:
            self._count(TextKind.TURN_LABEL, "made" if written else "late")

    async def _summarise(
        self, chat: Chat, messages: tuple[Message, ...], known: TextsKnown
    ) -> None:
        seen = known.summary_seq
        if seen is not None and turns_since(messages, seen) < TURNS_BETWEEN_SUMMARIES:
            return
        excerpt = summary_excerpt(messages)
        summary = None if excerpt is None else await self._written(TextKind.SUMMARY, chat, excerpt)
        if summary is None:
            return
        owner_id = await self._texts.set_summary(
            chat.chat_id, summary, seq=chat.last_seq, history=chat.history
        )
        written = await self._tell(chat.chat_id, owner_id)
        self._count(TextKind.SUMMARY, "made" if written else "late")

    async def _tell(self, chat_id: ChatId, owner_id: UserId | None) -> bool:
        """Whether anything was written; then the owner's lists hear of it at once."""
        if owner_id is None:
            return False
        await self._hints.publish((hint_of_listing(chat_id, owner_id),))
        return True

    # The model.

    async def _written(self, kind: TextKind, chat: Chat, excerpt: str | None) -> str | None:
        """What the model says, if it keeps the rules; a failure is no one's but ours."""
        model = self._model_for(chat)
        if model is None or excerpt is None:
            return None
        rules = RULES[kind]
        ask = Ask(
            chat_id=chat.chat_id,
            model=model,
            effort=EFFORT,
            history=[MessageBody(role=Role.USER, parts=(Text(excerpt),))],
            system=(rules.instruction,),
            output_max=rules.output_max,
            temperature=0.0,
        )
        try:
            async with asyncio.timeout(rules.within_s):
                answer = await self._answer(ask, rules.read_max)
        except (ModelFailed, TimeoutError) as error:
            # Not the answer of the provider: it may quote the chat.
            kind_of = error.kind.value if isinstance(error, ModelFailed) else "too slow"
            log.info("turn: no %s: the model failed", kind.value, extra={"error": kind_of})
            self._count(kind, "failed")
            return None
        text = rules.accepted(answer)
        if text is None:
            log.info("turn: a %s was rejected", kind.value, extra={"chars": len(answer)})
            self._count(kind, "rejected")
        return text

    async def _answer(self, ask: Ask, read_max: int) -> str:
        said: list[str] = []
        read = 0
        async with self._models.stream(ask) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    said.append(event.text)
                    read += len(event.text)
                if read > read_max:
                    break
            usage = stream.usage
            whole = stream.final is not None
        if usage is not None:
            self.counters.input_tokens += usage.input
            self.counters.output_tokens += usage.output
        return "".join(said) if whole else ""

    def _count(self, kind: TextKind, outcome: str) -> None:
        self.counters.texts[kind.value, outcome] += 1


def _is_young(chat: Chat) -> bool:
    return chat.turn_seq is not None and chat.turn_seq <= FIRST_TURNS


def _is_untitled(known: TextsKnown) -> bool:
    waits = known.title_source in {None, TitleSource.FIRST_WORDS}
    return waits and known.title_tries < TRIES_MAX
