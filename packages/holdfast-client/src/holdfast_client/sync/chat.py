# Made of holdfast_client/aio/chat.py by scripts/generate_sync.py. Do not edit.
"""One chat: send a message, follow it, wait for it, steer it."""

from holdfast_client import models
from holdfast_client.content import Content, WhenBusy, given, message_json
from holdfast_client.goal import STATUSES, Goals
from holdfast_client.patience import Patience
from holdfast_client.reply import Reply, of_last_turn, reply_of
from holdfast_client.sync.chat_core import ChatCore, Tools
from holdfast_client.sync.turn import OnApproval, ToolApproval, Turn
from holdfast_client.tools import toolbox


class Chat(ChatCore):
    """A chat by its id. Having one asks the server nothing.

    `data` and `etag`: what the server said of it when it was read last (by `refresh`, `update`,
    `chats.retrieve`, and by a wait); None before that.
    """

    def send(
        self,
        content: Content,
        *,
        tools: Tools = (),
        when_busy: WhenBusy = "queue",
        model: str | None = None,
        effort: str | None = None,
        web: bool | None = None,
        plan_mode: bool | None = None,
        idempotency_key: str | None = None,
    ) -> "Turn[Chat]":
        """Send a message: text, or parts. It begins a turn, or waits in the queue if the chat is
        busy. `tools`: functions that the model may call from now on, and no others; the turn runs
        them here. `plan_mode`: whether the model only makes a plan, from this message on; None: as
        before."""
        own = toolbox(tools)
        if own:
            self.set_tools(own.values())
        said = message_json(content, model, effort, web=web, plan_mode=plan_mode)
        body = {**said, "when_busy": when_busy}
        receipt = self._commit("POST", "messages", body, idempotency_key)
        return Turn(self, receipt, own)

    def ask(
        self,
        content: Content,
        *,
        tools: Tools = (),
        model: str | None = None,
        effort: str | None = None,
        web: bool | None = None,
        plan_mode: bool | None = None,
        on_approval: OnApproval | None = None,
        timeout: float | None = None,
        idempotency_key: str | None = None,
    ) -> "Reply[Chat]":
        """Send a message and wait for the result of its turn. Raises `TurnFailedError` and
        `WaitTimeoutError`."""
        turn = self.send(
            content,
            tools=tools,
            model=model,
            effort=effort,
            web=web,
            plan_mode=plan_mode,
            idempotency_key=idempotency_key,
        )
        return turn.result(on_approval=on_approval, timeout=timeout)

    def turn(self, seq: int, *, tools: Tools = ()) -> "Turn[Chat]":
        """The turn that this user message began, to follow it again, for example after a restart of
        the program. The first one of a chat is 1. Asks nothing."""
        receipt = models.Receipt(chat_id=self.id, version=0, turn_seq=seq, message_seq=seq)
        return Turn(self, receipt, toolbox(tools))

    def edit(
        self,
        seq: int,
        content: Content,
        *,
        model: str | None = None,
        effort: str | None = None,
        web: bool | None = None,
        plan_mode: bool | None = None,
        tools: Tools = (),
        if_match: str | None = None,
        idempotency_key: str | None = None,
    ) -> "Turn[Chat]":
        """Send something else in place of a message. What came after it is hidden, not destroyed.
        `if_match`: as in `update`; only an edit of the history counts as a change."""
        own = toolbox(tools)
        if own:
            self.set_tools(own.values())
        body = message_json(content, model, effort, web=web, plan_mode=plan_mode)
        path = f"messages/{seq}/edit"
        receipt = self._commit("POST", path, body, idempotency_key, if_match)
        return Turn(self, receipt, own)

    def retry(
        self,
        model: str | None = None,
        *,
        turn_seq: int | None = None,
        tools: Tools = (),
        idempotency_key: str | None = None,
    ) -> "Turn[Chat]":
        """Run the turn again after a failure, or at once where it waits before its next attempt.
        `turn_seq`: only this turn."""
        body = given(model=model, turn_seq=turn_seq)
        receipt = self._commit("POST", "retry", body, idempotency_key)
        return Turn(self, receipt, toolbox(tools))

    def fork(
        self,
        *,
        up_to_seq: int | None = None,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> "Chat":
        """A new chat of your own with this history, up to a message, or as it was at a version."""
        body = given(up_to_seq=up_to_seq, version=version)
        made = self._commit("POST", "fork", body, idempotency_key)
        return Chat(self._http, made.chat_id)

    def approvals(self) -> list[ToolApproval]:
        """The calls that wait for an approval now."""
        action = (self.refresh()).action_required
        if action is None or action.type != "approval":
            return []
        calls = [self.call(each) for each in action.calls]
        return [ToolApproval(self, call, action.expires_at) for call in calls]

    def wait(
        self, until: Goals = "settled", *, timeout: float | None = None, tools: Tools = ()
    ) -> "Reply[Chat]":
        """Wait for the chat, whichever turn runs, and return what came of the last one. Calls of
        `tools` are run here.

        Raises `WaitTimeoutError`; nothing is interrupted by that.
        """
        own, patience, answered = toolbox(tools), Patience(timeout), set[str]()
        while True:
            # Calls of our own tools must be noticed, even if the caller waits for the end.
            self._reach("settled" if own else until, patience)
            view = self.view
            action = view.action_required
            waiting = [] if action is None or action.type != "result" else action.calls
            calls = [each for each in waiting if each.tool_name in own]
            calls = [each for each in calls if each.call_id not in answered]
            if calls:
                answered.update(each.call_id for each in calls)
                self.run_calls(calls, own)
            elif own and view.status not in STATUSES[until]:
                own = {}
            else:
                return self._last_reply()

    def _last_reply(self) -> "Reply[Chat]":
        view = self.view
        return reply_of(
            self,
            self.id,
            of_last_turn(view.messages),
            turn_seq=None if view.state is None else view.state.turn_seq,
            status=view.status or "",
            error=view.error,
            action_required=view.action_required,
        )
