# Made of holdfast_client/aio/turn.py by scripts/generate_sync.py. Do not edit.
"""One turn of a chat: its text as it comes, its result, and the approvals that it asks for."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import closing
from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar

from holdfast_client import models
from holdfast_client.errors import (
    ConflictError,
    NotFoundError,
    TurnFailedError,
    TurnRemovedError,
)
from holdfast_client.patience import Patience
from holdfast_client.progress import Chunk, TurnProgress, TurnText
from holdfast_client.reply import Reply, of_turn, reply_of
from holdfast_client.sync.chat_core import ANSWERED_BY_OTHERS, ChatCore
from holdfast_client.sync.ground import finish
from holdfast_client.tools import AnyTool

C = TypeVar("C", bound=ChatCore)


class ToolApproval:
    """A call that waits for an approval. Show its arguments with `holdfast_client.visible`: a model
    may have written invisible characters. `receipt`: of the decision; None before it."""

    def __init__(
        self, chat: ChatCore, call: models.ToolCallPart, expires_at: datetime | None = None
    ) -> None:
        self.chat = chat
        self.call = call
        self.expires_at = expires_at
        self.receipt: models.Receipt | None = None

    @property
    def call_id(self) -> str:
        return self.call.call_id

    @property
    def tool_name(self) -> str:
        return self.call.tool_name

    @property
    def arguments(self) -> dict[str, Any]:
        return self.call.arguments

    def approve(self, *, idempotency_key: str | None = None) -> models.Receipt:
        """Run exactly this call: `ConflictError` (`approval_mismatch`) if it is another one now."""
        self.receipt = self.chat.approve(self.call, idempotency_key=idempotency_key)
        return self.receipt

    def deny(self, reason: str = "", *, idempotency_key: str | None = None) -> models.Receipt:
        """`reason`: what the model is told."""
        self.receipt = self.chat.deny(self.call, reason, idempotency_key=idempotency_key)
        return self.receipt


OnApproval: TypeAlias = Callable[[ToolApproval], Awaitable[object] | object]


class Turn(Generic[C]):
    """What `send` began. `receipt`: what the server answered to it."""

    def __init__(self, chat: C, receipt: models.Receipt, tools: Mapping[str, AnyTool]) -> None:
        self.chat = chat
        self.receipt = receipt
        self._tools = tools
        self._progress = TurnProgress.from_receipt(receipt)
        self._asked: set[tuple[str, str]] = set()
        self._reply: Reply[C] | None = None

    @property
    def seq(self) -> int | None:
        """The `turn_seq` of its messages; None while its message is known to be queued only."""
        return self._progress.seq

    def text_stream(
        self, *, on_approval: OnApproval | None = None, timeout: float | None = None
    ) -> Generator[Chunk]:
        """The text of the answer as it comes, from the beginning on.

        Runs the tools that were given to `send`, and asks `on_approval` about each call that waits
        for an approval. Continues by itself after a lost connection. Ends when this turn is over,
        or waits for something that this call does not answer. Raises `WaitTimeoutError` after
        `timeout`, and `TurnRemovedError`.
        """
        text, patience = TurnText(), Patience(timeout)
        if not self._has_ended(on_approval):
            with closing(self.chat.follow(patience)) as events:
                for event in events:
                    self._progress.find(self.chat.view.raw.messages)
                    chunk = text.next(self.chat.view.raw, self.seq)
                    if chunk is not None:
                        yield chunk
                    if event.final and self._has_ended(on_approval):
                        break
        chunk = text.last((self._ended()).messages)
        if chunk is not None:
            yield chunk

    def result(
        self, *, on_approval: OnApproval | None = None, timeout: float | None = None
    ) -> Reply[C]:
        """Wait for the end of the turn; at once if it is over. Runs tools, and asks `on_approval`,
        as `text_stream` does. Raises `TurnFailedError`, `WaitTimeoutError` (the turn continues)
        and `TurnRemovedError`."""
        if self._reply is None and not self._has_ended(on_approval):
            with closing(self.chat.follow(Patience(timeout))) as events:
                for event in events:
                    if event.final and self._has_ended(on_approval):
                        break
        reply = self._ended()
        if reply.status == "failed":
            raise TurnFailedError(reply)
        return reply

    def interrupt(self) -> None:
        """Stop this turn and no other; the text so far is kept. A queued message is deleted. Does
        nothing if the turn is over."""
        if self.seq is None and self.receipt.queued_id is not None:
            try:
                self.chat.queue.delete(self.receipt.queued_id)
            except NotFoundError:
                self._search()
            else:
                return
        try:
            self.chat.interrupt(turn_seq=self.seq)
        except ConflictError as error:
            if error.code != "turn_changed":
                raise

    def _has_ended(self, on_approval: OnApproval | None) -> bool:
        """Look at the view, and answer what the turn waits for and this client can answer."""
        stage = self._progress.stage(self.chat.view.raw)
        if stage == "missing":
            self._search()
            return True
        if stage == "awaiting":
            return not self._answer(on_approval)
        return stage == "over"

    def _answer(self, on_approval: OnApproval | None) -> bool:
        """Whether anything was answered. What the chat says of the turn until then is old."""
        action = self.chat.view.action_required
        if action is None:
            return False
        calls = [each for each in action.calls if (action.type, each.call_id) not in self._asked]
        version: int | None = None
        if action.type == "result":
            calls = [each for each in calls if each.tool_name in self._tools]
            if calls:
                version = self.chat.run_calls(calls, self._tools)
        elif action.type == "approval" and on_approval is not None:
            for each in calls:
                version = self._ask(on_approval, each, action.expires_at) or version
        self._asked.update((action.type, each.call_id) for each in calls)
        if version is None:
            return False
        self._progress.version = version
        return True

    def _ask(
        self, on_approval: OnApproval, awaited: models.AwaitedCall, expires_at: datetime | None
    ) -> int | None:
        """The version of the chat after the decision; None if there was none."""
        approval = ToolApproval(self.chat, self.chat.call(awaited), expires_at)
        try:
            finish(on_approval(approval))
        except ConflictError as error:
            if error.code not in ANSWERED_BY_OTHERS:
                raise
            return (self.chat.refresh()).version
        return None if approval.receipt is None else approval.receipt.version

    def _ended(self) -> Reply[C]:
        """The reply of a turn that is over, or that waits."""
        if self._reply is not None:
            return self._reply
        assert self.seq is not None
        view = self.chat.view
        messages = of_turn(view.messages, self.seq)
        if not messages or messages[0].seq != self.seq:
            messages = self._history()
        state = view.state if view.state is not None and view.state.turn_seq == self.seq else None
        reply = reply_of(
            self.chat,
            self.chat.id,
            messages,
            turn_seq=self.seq,
            status="idle" if state is None else state.status,
            error=None if state is None else state.error,
            action_required=None if state is None else state.action_required,
        )
        if reply.status != "awaiting":
            self._reply = reply
        return reply

    def _search(self) -> None:
        """Find the message in the history before the view. Raises `TurnRemovedError`."""
        messages = self._history()
        if not messages:
            raise TurnRemovedError("The message is no longer in the chat.")
        self._progress.seq = messages[0].turn_seq

    def _history(self) -> list[models.Message]:
        """The messages of the turn, read from the server."""
        found: list[models.Message] = []
        with closing(self.chat.messages.list(order="desc")) as messages:
            for each in messages:
                if each.seq == self.seq or self._is_own(each):
                    return of_turn([each, *reversed(found)], each.seq)
                if self.seq is not None and each.seq < self.seq:
                    break
                found.append(each)
        return []

    def _is_own(self, message: models.Message) -> bool:
        return self.seq is None and message.queued_id == self.receipt.queued_id
