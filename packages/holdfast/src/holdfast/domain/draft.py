"""An outcome in the making: the small moves that commands are composed of.

Every move keeps the rules that hold across commands: a user message enters history only after every
open call has a result; whatever changes history starts the count of attempts anew.

The first move copies the chat into a `ChatDraft`, which is mutable; `outcome` freezes that object.
`Draft.set` has the parameters of `ChatState`, so that pyright checks the name and the type of every
fact and the facts are listed once; a mutable class for pyright would have to list them again.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, assert_never

from holdfast.domain.advice import calls_counted, calls_past, limit_reached, uses_returned
from holdfast.domain.chat import (
    NOT_LISTED,
    QUEUE_BYTES_MAX,
    QUEUE_LENGTH_MAX,
    Chat,
    ChatState,
    Facts,
    ListedFacts,
    OpenCall,
    Past,
    QueuedMessage,
    Status,
)
from holdfast.domain.commands import CommitStep, FinishInterrupt
from holdfast.domain.compaction import Compaction, counted_tokens, prompt_tokens_after
from holdfast.domain.errors import (
    CallNotOpen,
    CallsUnanswered,
    CommandRefused,
    QueuedNotFound,
    QueueFull,
)
from holdfast.domain.heads import awaited_arguments, head_of, stored_bytes
from holdfast.domain.ids import NO_EPOCH, CallId, Epoch, QueuedId, Seq, Version
from holdfast.domain.messages import Ending, MessageBody, Role
from holdfast.domain.outcome import (
    Answer,
    Appended,
    Enqueued,
    Fate,
    ForkedHistory,
    Outcome,
    QueueMove,
    QueueRemoval,
)
from holdfast.domain.parts import Need, Synthetic, ToolResult
from holdfast.domain.plan_mode import ends_turn
from holdfast.domain.synthetic import synthetic_result

if TYPE_CHECKING:
    from holdfast.domain.commands import Command


_P = ParamSpec("_P")


class ChatDraft(Chat):
    """A chat whose facts can be set."""

    __slots__ = ()
    __setattr__ = object.__setattr__


_FACTS: Final = tuple(field.name for field in fields(Chat))
_values_of: Final = attrgetter(*_FACTS)
_MADE_BY_ATTEMPTS: Final = frozenset({Role.ASSISTANT, Role.TOOL})


def _takes(
    _state: Callable[_P, ChatState],
) -> "Callable[[Callable[..., None]], Callable[Concatenate[Draft, _P], None]]":
    """Give a method of `Draft` the parameters of `_state`."""

    def typed(method: Callable[..., None]) -> Callable[..., None]:
        return method

    return typed


class Draft:
    """Collects what a bundle of commands changes; all of it carries one new version."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.chat: Chat = facts.chat
        self.command: Command | None = None
        self.version = Version(facts.chat.version + 1)
        self._appended: list[Appended] = []
        self._hidden_from: Seq | None = None
        self._restored = False
        self._forked: ForkedHistory | None = None
        self._queued: dict[QueuedId, Enqueued] = {}
        self._left: list[QueueRemoval] = []
        self._moved: dict[QueuedId, QueueMove] = {}
        self._releases = False
        self._attempt: int | None = None
        self._answer_turn_seq: Seq | None = None
        self._answer_seq: Seq | None = None
        self._answer_queued_id: QueuedId | None = None
        self.listed: ListedFacts = NOT_LISTED

    def outcome(self) -> Outcome:
        before = self.facts.chat
        chat = self.chat
        if chat is not before:
            chat.__class__ = Chat  # freezes it: another copy would cost as much as all moves
        return Outcome(
            before=before,
            chat=chat,
            answer=Answer(
                version=chat.version,
                turn_seq=self._answer_turn_seq,
                seq=self._answer_seq,
                queued_id=self._answer_queued_id,
            ),
            changed=chat is not before,
            appended=tuple(self._appended),
            hidden_from=self._hidden_from,
            restored=self.facts.past if self._restored else None,
            forked=self._forked,
            queued=tuple(self._queued.values()),
            left=tuple(self._left),
            moved=tuple(self._moved.values()),
            releases=self._releases,
            listed=self.listed,
        )

    def begin(self, command: "Command") -> None:
        """Go on with the next command of the bundle."""
        self.command = command
        match command:
            case CommitStep(attempt=attempt) | FinishInterrupt(attempt=attempt):
                # The first message of a bundle ends its step, and with it the count of attempts.
                present = self.chat.attempt or self._attempt
                assert attempt is None or attempt <= (present or 0), "of an attempt to come"
                self._attempt = attempt or present
            case _:
                self._attempt = None

    def answer_with_turn(self, turn_seq: Seq | None) -> None:
        """Answer that the command was about this turn, and not where a message landed."""
        self._answer_turn_seq = turn_seq
        self._answer_seq = self._answer_queued_id = None

    def refuse(self, error: type[CommandRefused], reason: str) -> CommandRefused:
        chat = self.chat
        return error(chat.chat_id, chat.standing, type(self.command).__name__, reason)

    @_takes(ChatState)
    def set(self, **facts: object) -> None:
        chat = self.chat
        if chat is self.facts.chat:
            # One copy for all moves: one for each would be most of what a decision costs.
            copied = dict(zip(_FACTS, _values_of(chat), strict=True))
            copied["version"] = self.version
            self.chat = chat = ChatDraft(**copied)
        for name, value in facts.items():
            setattr(chat, name, value)

    # Status.

    def run(self) -> None:
        """Enter `running` from wherever the chat stands, and leave nothing of that behind."""
        self.set(status=Status.RUNNING, error=None, awaiting=None)

    def resume(self) -> None:
        """Leave `awaiting`. No call that is still open has been started: gates go before runs.

        The next acquisition is the one that may start them, so they are stamped with its epoch;
        under their old one its runner would have to take them for started and of unknown outcome.
        """
        epoch = Epoch(self.chat.epoch + 1)
        calls = tuple(replace(call, epoch=epoch) for call in self.chat.open_calls)
        self.set(open_calls=calls, owes_reply=True)
        self.run()

    def release(self, status: Status) -> None:
        """Enter a status that has no owner."""
        self.set(
            status=status,
            worker_id=None,
            backoff=None,
            lost=None,
            compaction_requested=False,
        )
        self._releases = True

    # History.

    def append(
        self, body: MessageBody, *, promoted: QueuedId | None = None, more_bytes: int = 0
    ) -> Seq:
        seq = Seq(self.chat.last_seq + 1)
        turn_seq = seq if body.role is Role.USER else self.chat.turn_seq
        attempt = self._attempt if body.role in _MADE_BY_ATTEMPTS else None
        self._appended.append(Appended(seq, body, promoted, turn_seq, attempt))
        self.set(
            last_seq=seq,
            turn_seq=turn_seq,
            prompt_tokens=prompt_tokens_after(self.chat.prompt_tokens, body, more_bytes),
            history_version=self.version,
            attempt=0,
            attempts_forgiven=0,
            backoff=None,
            lost=None,
        )
        return seq

    def append_user(
        self,
        body: MessageBody,
        *,
        closing: Synthetic = Synthetic.SUPERSEDED,
        promoted: QueuedId | None = None,
        more_bytes: int = 0,
    ) -> None:
        assert body.role is Role.USER, f"a {body.role} message where a user message belongs"
        self.close_calls(closing)
        seq = self.append(body, promoted=promoted, more_bytes=more_bytes)
        self._answer_seq = self._answer_turn_seq = seq
        self.set(
            owes_reply=True,
            compactable=True,
            compaction=None,
            steps=0,
            advised=0,
            model=body.model or self.chat.model,
            effort=body.effort or self.chat.effort,
            web=self.chat.web if body.web is None else body.web,
            plan_mode=self.chat.plan_mode if body.plan_mode is None else body.plan_mode,
        )
        self._answer_queued_id = None

    def say(self, body: MessageBody) -> None:
        """Append a message of any role, each by the rules of its own."""
        match body.role:
            case Role.USER:
                self.append_user(body)
            case Role.ASSISTANT:
                self.append_reply(body)
            case Role.TOOL:
                results = [part for part in body.parts if isinstance(part, ToolResult)]
                assert len(results) == len(body.parts), "a tool message holds nothing but results"
                self.append_results(results, body)
            case Role.BOUNDARY:
                if self.chat.open_calls:
                    raise self.refuse(CallsUnanswered, "a boundary may not part calls from results")
                self.append(body)
                self.set(compactable=False)
                self.end_compaction()
            case Role.SYSTEM:
                self.append(body)
            case _:
                assert_never(body.role)

    def append_reply(self, body: MessageBody) -> None:
        if self.chat.open_calls:
            raise self.refuse(CallsUnanswered, "a reply may not follow unanswered calls")
        place = self.command.place if isinstance(self.command, CommitStep) else None
        shown = awaited_arguments(body.calls)
        calls = tuple(
            OpenCall(
                call_id=call.call_id,
                tool=call.tool,
                seq=Seq(self.chat.last_seq + 1),
                epoch=self.chat.epoch,
                needs=call.needs,
                digest=call.digest,
                then=call.then,
                place=place,
                arguments=shown.get(call.call_id),
            )
            for call in body.calls
        )
        assert len({call.call_id for call in calls}) == len(calls), "call ids repeat in a reply"
        owes_reply = bool(calls) or body.ending.is_cut or body.ending is Ending.PAUSED
        self.append(body)
        self.set(
            owes_reply=owes_reply,
            compactable=True,
            compaction=self._compaction_after(body),
            steps=self.chat.steps + 1,
            advised=calls_counted(self.chat.advised, [call.tool for call in calls]),
            open_calls=calls,
        )
        if body.ending.is_cut or body.ending is Ending.INTERRUPTED:
            # A reply that did not end may hold half of what it wanted: its calls are never run.
            self.close_calls(Synthetic.CUT_OFF)

    def append_results(self, results: Sequence[ToolResult], template: MessageBody) -> None:
        """Answer open calls, in the order in which they were asked (L115)."""
        open_ids = [call.call_id for call in self.chat.open_calls]
        answered = {result.call_id: result for result in results}
        unknown = [call_id for call_id in answered if call_id not in open_ids]
        if unknown or len(answered) != len(results) or not results:
            raise self.refuse(CallNotOpen, f"no open calls to answer: {unknown or 'none named'}")
        ordered = tuple(answered[call_id] for call_id in open_ids if call_id in answered)
        remaining = tuple(call for call in self.chat.open_calls if call.call_id not in answered)
        self.append(replace(template, parts=ordered))
        ends = not remaining and any(map(ends_turn, ordered))
        self.set(
            open_calls=remaining,
            owes_reply=not ends,
            compactable=True,
            advised=uses_returned(self.chat.advised, ordered),
        )

    def _compaction_after(self, reply: MessageBody) -> Compaction | None:
        """Forgotten with the first reply whose prompt was short again."""
        compaction = self.chat.compaction
        if compaction is None or self.chat.compaction_requested:
            return compaction
        return None if compaction.is_answered_by(counted_tokens(reply)) else compaction

    def end_compaction(self, *, dropped: bool = False) -> None:
        """After a summary, or without one. Those that no person asked for are counted (L17)."""
        decided = self.chat.compaction
        if decided is not None and decided.is_automatic:
            decided = replace(decided, in_a_row=decided.in_a_row + 1, dropped=dropped)
        self.set(compaction_requested=False, compaction=decided)

    def close_calls(self, reason: Synthetic, only: Sequence[CallId] | None = None) -> None:
        """Write a synthetic result for each open call (or those named), where there are any.

        A call that may have been started has an unknown outcome, whatever the reason is: a model
        that reads "cancelled" asks for the same effect a second time (X1).
        """
        results = tuple(
            synthetic_result(call, self._verdict(call, reason))
            for call in self.chat.open_calls
            if only is None or call.call_id in only
        )
        if results:
            self.append_results(results, MessageBody(role=Role.TOOL, parts=()))

    def refuse_advice(self, uses_max: int) -> None:
        """Answer the calls of the advisor beyond the cap. No worker ever finds one open, as with a
        call that a rule denies."""
        past = calls_past(uses_max, self.chat.advised, self.chat.open_calls)
        if past:
            results = [limit_reached(call, uses_max) for call in past]
            self.append_results(results, MessageBody(role=Role.TOOL, parts=()))

    def _verdict(self, call: OpenCall, reason: Synthetic) -> Synthetic:
        chat = self.chat
        if call.needs is not Need.NOTHING or chat.status is Status.AWAITING:
            return reason  # gates go before runs: no worker has started it
        # The present owner has answered every call that it started itself, or stopped it.
        driven = chat.status in {Status.RUNNING, Status.INTERRUPTING}
        started_by = Epoch(chat.epoch - 1) if driven else chat.epoch
        may_have_started = NO_EPOCH < call.epoch <= started_by
        return Synthetic.UNKNOWN_OUTCOME if may_have_started else reason

    def hide_from(self, seq: Seq) -> None:
        """Hide the messages at and after `seq`, and forget what hung on them."""
        self._hidden_from = seq
        self.set(
            history_version=self.version,
            open_calls=(),
            attempt=0,
            attempts_forgiven=0,
            backoff=None,
            lost=None,
            compaction_requested=False,
            compaction=None,
            prompt_tokens=None,
        )

    def restore(self, past: Past) -> None:
        self._restored = True
        last_seq, turn_seq = self.chat.last_seq, past.turn_seq
        if past.turn_copied:
            turn_seq = Seq(last_seq + past.turn_copied)
        self.set(last_seq=Seq(last_seq + past.copied), turn_seq=turn_seq)

    def fork(self, taken: ForkedHistory, messages: int, turn_seq: Seq | None) -> None:
        self._forked = taken
        if messages:
            self.set(last_seq=Seq(messages), turn_seq=turn_seq, history_version=self.version)

    def ungate(self, call_id: CallId) -> None:
        calls = tuple(
            replace(call, needs=call.then, then=Need.NOTHING) if call.call_id == call_id else call
            for call in self.chat.open_calls
        )
        self.set(open_calls=calls)

    # Queue.

    def enqueue(self, body: MessageBody, *, urgent: bool) -> None:
        queue = self.chat.queue
        if len(queue) >= QUEUE_LENGTH_MAX:
            raise self.refuse(QueueFull, f"{QUEUE_LENGTH_MAX} messages are waiting already")
        size = stored_bytes(body.parts)
        waiting = sum(queued.bytes for queued in queue)
        if waiting + size > QUEUE_BYTES_MAX:
            reason = f"{waiting} bytes are waiting; with this message more than {QUEUE_BYTES_MAX}"
            raise self.refuse(QueueFull, reason)
        queued_id = QueuedId(self.chat.last_queued_id + 1)
        head, cut = head_of(body)
        entry = QueuedMessage(
            queued_id=queued_id,
            position=queue[-1].position + 1 if queue else 1,
            urgent=urgent,
            head=head,
            bytes=size,
            cut=cut,
        )
        self._queued[queued_id] = Enqueued(entry, body)
        self.set(
            last_queued_id=queued_id,
            queue=(*queue, entry),
            queue_paused=self.chat.queue_paused and bool(queue),
            queue_version=self.version,
        )
        if urgent:
            # Urgent ones go first, among themselves in the order in which they came.
            index = sum(1 for queued in queue if queued.urgent)
            self.set_queue([*queue[:index], entry, *queue[index:]])
        self._answer_seq = self._answer_turn_seq = None
        self._answer_queued_id = queued_id

    def find_queued(self, queued_id: QueuedId) -> QueuedMessage:
        for queued in self.chat.queue:
            if queued.queued_id == queued_id:
                return queued
        raise self.refuse(QueuedNotFound, f"message {queued_id} is not in the queue")

    def leave_queue(self, queued_id: QueuedId, fate: Fate) -> QueuedMessage:
        queued = self.find_queued(queued_id)
        # A promoted message is appended right after, behind what closes the open calls.
        closing = 1 if fate is Fate.PROMOTED and self.chat.open_calls else 0
        seq = Seq(self.chat.last_seq + 1 + closing) if fate is Fate.PROMOTED else None
        assert queued_id not in self._queued, "queued and taken out again in one bundle"
        self._moved.pop(queued_id, None)
        self._left.append(QueueRemoval(queued_id, fate, seq))
        rest = tuple(other for other in self.chat.queue if other is not queued)
        self.set(
            queue=rest,
            queue_paused=self.chat.queue_paused and bool(rest),
            queue_version=self.version,
        )
        self._answer_queued_id = queued_id
        return queued

    def promote(self, queued_id: QueuedId, *, closing: Synthetic = Synthetic.SUPERSEDED) -> None:
        """Move a queued message into history."""
        queued = self.leave_queue(queued_id, Fate.PROMOTED)
        body = replace(queued.head, parts=())
        self.append_user(body, closing=closing, promoted=queued_id, more_bytes=queued.bytes)

    def clear_queue(self) -> None:
        for queued in self.chat.queue:
            self.leave_queue(queued.queued_id, Fate.CLEARED)

    def set_queue(self, order: Sequence[QueuedMessage]) -> None:
        """Give the queue this order; only entries whose place changed are written."""
        placed = tuple(replace(q, position=index) for index, q in enumerate(order, start=1))
        known = {queued.queued_id: queued for queued in self.facts.chat.queue}
        for queued in placed:
            if queued.queued_id in self._queued:
                body = self._queued[queued.queued_id].body
                self._queued[queued.queued_id] = Enqueued(queued, body)
            elif queued != known[queued.queued_id]:
                self._moved[queued.queued_id] = QueueMove(
                    queued.queued_id, queued.position, queued.urgent
                )
        self.set(queue=placed, queue_version=self.version)

    def pause_queue(self) -> None:
        """Let no message begin that waits now, not even one that was to be sent at once."""
        queue = self.chat.queue
        if queue and (not self.chat.queue_paused or any(queued.urgent for queued in queue)):
            self.set_queue([replace(queued, urgent=False) for queued in queue])
            self.set(queue_paused=True)

    # The end of a turn.

    def end_turn(self) -> None:
        """Go on with the queue head, keeping the owner; or go idle and have none."""
        queue = self.chat.queue
        if queue and (queue[0].urgent or not self.chat.queue_paused):
            self.set(compaction_requested=False)
            self.run()
            self.promote(self.chat.queue[0].queued_id)
        else:
            self.release(Status.IDLE)
