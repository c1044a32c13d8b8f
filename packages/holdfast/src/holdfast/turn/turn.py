"""What one runner holds while it drives a chat: the last snapshot, and what spares it a read."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from holdfast.chats.changes import Commit
from holdfast.domain.chat import ATTEMPTS_MAX, Chat, Status
from holdfast.domain.driving import RUNNABLE, begun_by_acquiring
from holdfast.domain.ids import Version, VersionStamp
from holdfast.domain.messages import Ending, InheritedCall, MessageBody, Role
from holdfast.domain.parts import Part
from holdfast.ports.bus import Episode
from holdfast.ports.models import Usage
from holdfast.ports.tools import Toolbox
from holdfast.turn.interrupts import Interrupts
from holdfast.turn.prefix import SentPrefix

if TYPE_CHECKING:
    from holdfast.domain.ids import WorkerId
    from holdfast.turn.prompt import Prompt

ATTEMPTS_BACK: Final = 3
"""Attempts of other workers that are looked at for words."""


@dataclass(frozen=True, slots=True)
class UncommittedReply:
    """What an attempt has said that became no message yet."""

    episode: Episode
    parts: tuple[Part, ...] = ()
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """The model for the attempts of one step, from a recorded retry on. `step` names that step,
    until a person asks to try again. `model`: None is the chat's own."""

    step: tuple[tuple[Version, VersionStamp], int]
    model: str | None


class Turn:
    """One per `drive`. Not shared: a chat has one runner."""

    def __init__(self, chat: Chat, nudges: Interrupts) -> None:
        assert chat.worker_id is not None, "only who owns a chat drives it"
        self.chat = chat
        self.nudges = nudges
        self.worker_id: WorkerId = chat.worker_id
        self.prompt: Prompt | None = None
        self.said: UncommittedReply | None = None
        begun = begun_by_acquiring(chat)
        self.inherited: Episode | None = None if begun else Episode.of(chat)
        """An episode of a worker before us: what it said, only the bus knows."""
        self.left = _left_behind(chat) if begun else ()
        """Attempts at this step whose workers are gone, newest first: what they said, only the bus
        knows. Empty once this worker has gone on from it, or begun anew."""
        self.inherited_calls: tuple[InheritedCall, ...] = ()
        self.keeps_words = False
        """What is told of lost workers (`lost.py`): what became of the calls that they left open,
        and whether the message holds what the model of one had said."""
        self.spent = self.inherited
        """The episode of an attempt that is over; the next one must be begun first."""
        self.wait_ends_s: float | None = None
        """When, by the loop's clock, the backoff ends that we recorded ourselves."""
        self.finished = False
        """Whether our last commit ended a turn that no user interrupted and no error ended."""
        self.let_go = False
        """The worker stops, and nothing is left that could be done for this chat here."""
        self.asked_model: str | None = chat.model
        """Whom we asked last; None: the server's default."""
        self.falls_back = False
        """Whether that is a fallback, and not the chat's own model."""
        self.planned: PlannedModel | None = None
        """What the last recorded retry said of the attempt behind it."""
        self.tools = OpenToolbox()
        self.sent: SentPrefix | None = None
        self._sent_in: Episode | None = None
        """What the prompt of our last attempt began with, and which attempt that was."""

    @property
    def episode(self) -> Episode:
        return Episode.of(self.chat)

    @property
    def step(self) -> tuple[tuple[Version, VersionStamp], int]:
        return self.chat.history, self.chat.attempts_forgiven

    @property
    def attempts_made(self) -> int:
        """At the present step, with the one under way; of all models together."""
        return self.chat.attempt - self.chat.attempts_forgiven

    @property
    def is_ours(self) -> bool:
        return self.chat.worker_id is not None and self.chat.status in RUNNABLE

    @property
    def is_begun(self) -> bool:
        """Whether the attempt of the present snapshot is ours to make."""
        return self.chat.attempt > 0 and self.episode != self.spent

    @property
    def over_budget(self) -> bool:
        """More attempts at this step than allowed, or no room for the one to be begun (P3)."""
        made = self.attempts_made
        return made > ATTEMPTS_MAX or (made == ATTEMPTS_MAX and not self.is_begun)

    @property
    def interrupting(self) -> bool:
        return self.chat.status is Status.INTERRUPTING

    def said_here(self) -> UncommittedReply | None:
        """What we heard in the episode of the present snapshot, if we are its voice."""
        return self.said if self.said is not None and self.said.episode == self.episode else None

    def sends(self, sent: SentPrefix) -> None:
        """The attempt of the present snapshot is made with this."""
        self.sent, self._sent_in = sent, self.episode

    def with_prefix(self, body: MessageBody, episode: Episode) -> tuple[MessageBody, ...]:
        """What an attempt of ours said, with what must be stored for it: later prompts repeat the
        one that the attempt was made with."""
        if self.sent is None or self._sent_in != episode:
            return (body,)
        row, news = self.sent.row, self.sent.news
        body = body if row is None else replace(body, prefix=row.digest)
        return (body,) if news is None else (news, body)

    def holds(self, chat: Chat) -> bool:
        """Whether a chat as loaded is still ours, by the same acquisition."""
        return (chat.worker_id, chat.epoch) == (self.worker_id, self.chat.epoch)

    def take(self, chat: Chat) -> None:
        """A newer snapshot."""
        if chat.history_version != self.chat.history_version:
            self.left = ()
        self.chat = chat
        self.nudges.settle(chat)

    def committed(self, commit: Commit) -> None:
        """Go on from our own commit."""
        if self.prompt is not None and self.prompt.fits(self.chat):
            after = commit.chat
            self.prompt.extend(commit.messages, after.history_version, after.history_stamp)
        self.take(commit.chat)


def begins_turn(commit: Commit) -> bool:
    """Whether another turn begins with a commit of a worker: only the next message of the queue is
    a user's."""
    return any(message.body.role is Role.USER for message in commit.messages)


def _left_behind(chat: Chat) -> tuple[Episode, ...]:
    """More than one, for a worker may die, or leave, before it has kept what the last one said. An
    attempt that a person asked to repeat has come to its end."""
    newest = chat.attempt - 1
    oldest = max(chat.attempts_forgiven, newest - ATTEMPTS_BACK)
    present = Episode.of(chat)
    return tuple(present._replace(attempt=number) for number in range(newest, oldest, -1))


@dataclass(slots=True)
class OpenToolbox:
    """The toolbox of the turn, once it was asked for, and who owns what it runs."""

    toolbox: Toolbox | None = None
    sections: tuple[str, ...] | None = None
    """What it tells the model of itself, once it was asked."""
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    group: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)


def partial_body(
    said: UncommittedReply,
    ending: Ending,
    *,
    model: str | None,
    effort: str | None,
    cost_micros: int | None,
) -> MessageBody:
    """What was said before an end that the model did not choose, as a message."""
    return MessageBody(
        role=Role.ASSISTANT,
        parts=said.parts,
        ending=ending,
        model=model,
        effort=effort,
        usage=None if said.usage is None else said.usage.counts(),
        cost_micros=cost_micros,
    )
