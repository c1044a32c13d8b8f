# Made of holdfast_client/aio/chat.py by scripts/generate_sync.py. Do not edit.
"""One chat: say something, follow it, wait for it, steer it."""

from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import closing
from typing import Any, Literal

from holdfast_client import models
from holdfast_client.errors import ApiError, Conflict, Unreachable, WaitTimeout
from holdfast_client.events import Event, PingEvent, event_of
from holdfast_client.goal import STATUSES, Goal, Goals
from holdfast_client.patience import Patience
from holdfast_client.reply import Reply, reply_of
from holdfast_client.sync.follow import Route, Transport, follow
from holdfast_client.sync.ground import finish
from holdfast_client.sync.http import Http
from holdfast_client.tools import AnyTool, failure, plain, toolbox
from holdfast_client.view import EMPTY, ChatView, WireEvent, reduce

WhenBusy = Literal["queue", "interrupt"]
Tools = Iterable[AnyTool | Callable[..., Any]]


class Chat:
    """A chat by its id. Having one asks the server nothing.

    `known`: what the server said of it when it was looked up last. `view`: what a person sees of
    it, as far as `stream` has told.
    """

    def __init__(
        self,
        http: Http,
        chat_id: str,
        *,
        silence_s: float = 45.0,
        known: models.ChatInfo | None = None,
    ) -> None:
        self._http = http
        self._silence_s = silence_s
        self.id = chat_id
        self.known = known
        self.view: ChatView = EMPTY
        self.queue = Queue(http, chat_id)

    def info(self) -> models.ChatInfo:
        self.known = models.ChatInfo.model_validate(self._http.get(self._path()))
        return self.known

    def messages(
        self, before: int | None = None, limit: int | None = None, as_of: int | None = None
    ) -> models.MessagePage:
        """The newest messages before a seq, in the order of history."""
        page = self._http.get(self._path("messages"), before=before, limit=limit, as_of=as_of)
        return models.MessagePage.model_validate(page)

    # Saying and steering.

    def send(
        self,
        text: str,
        *,
        when_busy: WhenBusy = "queue",
        model: str | None = None,
        effort: str | None = None,
        key: str | None = None,
    ) -> models.Committed:
        """Say something: it lands in history, or in the queue if the chat is busy."""
        body = {**message_json(text, model, effort), "when_busy": when_busy}
        return self._commit("POST", "messages", body, key)

    def edit(
        self, seq: int, text: str, *, model: str | None = None, effort: str | None = None
    ) -> models.Committed:
        """Say something else instead. What came after it is hidden, not destroyed."""
        return self._commit("PUT", f"messages/{seq}", message_json(text, model, effort))

    def interrupt(self) -> models.Committed:
        """Stop the turn; the text so far is kept."""
        return self._commit("POST", "interrupt")

    def retry(self, model: str | None = None) -> models.Committed:
        """Run again after a failure, or at once where it waits before its next attempt."""
        return self._commit("POST", "retry", {} if model is None else {"model": model})

    def compact(self) -> models.Committed:
        return self._commit("POST", "compact")

    def paths(self) -> list[models.OlderPath]:
        """Histories that edits and restores left behind."""
        found = self._http.get(self._path("paths"))
        return [models.OlderPath.model_validate(each) for each in found["paths"]]

    def restore(self, version: int) -> models.Committed:
        return self._commit("POST", "restore", {"version": version})

    def fork(self, at: int | None = None) -> "Chat":
        """A new chat of one's own with this history, up to the message `at`."""
        made = self._commit("POST", "fork", {"at": at})
        return Chat(self._http, made.chat_id, silence_s=self._silence_s)

    # Answering what a turn waits for.

    def answer(
        self,
        outputs: Mapping[str, Any],
        *,
        failed: Collection[str] = (),
        key: str | None = None,
    ) -> models.Committed:
        """Results by call id; `failed`: those of them that say why there is none."""
        results = [
            {"call_id": call_id, "output": output, "failed": call_id in failed}
            for call_id, output in outputs.items()
        ]
        return self._commit("POST", "results", {"results": results}, key)

    def decide(
        self,
        call: models.AwaitedCall | models.ToolCallPart,
        verdict: Literal["approve", "deny"],
        *,
        reason: str = "",
        key: str | None = None,
    ) -> models.Committed:
        """About exactly this call: `Conflict` (`approval_mismatch`) if another one waits by now.
        `reason`: what the model is told with a denial."""
        body = {"call_id": call.call_id, "verdict": verdict, "digest": call.digest}
        return self._commit("POST", "decisions", {**body, "reason": reason}, key)

    def call(self, awaited: models.AwaitedCall) -> models.ToolCallPart:
        """The call that waits for an answer, with its arguments. Show them with
        `holdfast_client.visible`: a model may have written invisible characters."""
        page = self.messages(before=awaited.seq + 1, limit=1)
        return next(
            part
            for message in page.messages
            for part in message.parts
            if isinstance(part, models.ToolCallPart) and part.call_id == awaited.call_id
        )

    def declare(self, tools: Tools) -> None:
        """These tools and no others are ours to run from now on."""
        declared = [each.declaration() for each in toolbox(tools).values()]
        self._http.change("PUT", self._path("tools"), {"tools": declared})

    # Putting it in order.

    def rename(self, title: str | None) -> models.ChatEntry:
        return self._arrange("title", {"title": title})

    def pin(self, pinned: bool = True) -> models.ChatEntry:  # noqa: FBT001, FBT002
        return self._arrange("pinned", {"pinned": pinned})

    def label(self, labels: Iterable[str]) -> models.ChatEntry:
        """These labels and no others."""
        return self._arrange("labels", {"labels": list(labels)})

    def archive(self) -> models.Committed:
        return self._commit("POST", "archive")

    def unarchive(self) -> models.Committed:
        return self._commit("POST", "unarchive")

    def shares(self) -> list[models.Share]:
        found = self._http.get(self._path("shares"))
        return [models.Share.model_validate(each) for each in found["shares"]]

    def share(self, user_id: str) -> None:
        self._http.put(self._path(f"shares/{user_id}"))

    def unshare(self, user_id: str) -> None:
        self._http.delete(self._path(f"shares/{user_id}"))

    def mark_read(self, seq: int) -> int:
        """How far one has read now; it only ever goes forward."""
        reached = self._http.put(self._path("read"), {"seq": seq})
        return int(reached["read_seq"])

    # Its workspace.

    def workspace(self) -> models.Workspace | None:
        found = (self._http.get(self._path("workspace")))["workspace"]
        return None if found is None else models.Workspace.model_validate(found)

    def create_workspace(
        self, template: str | None = None, *, ttl_s: int = 0, timeout_s: float | None = 300.0
    ) -> models.Workspace:
        """One that runs: made, started, or there already. Raises `WaitTimeout`."""
        body = {"template": template, "ttl_s": ttl_s}
        return self._settled("PUT", "workspace", body, timeout_s)

    def start_workspace(self, *, timeout_s: float | None = 300.0) -> models.Workspace:
        return self._settled("POST", "workspace/start", None, timeout_s)

    def stop_workspace(self, *, timeout_s: float | None = 300.0) -> models.Workspace:
        """Its files stay."""
        return self._settled("POST", "workspace/stop", None, timeout_s)

    def delete_workspace(self) -> models.Workspace:
        """With everything in it."""
        return models.Workspace.model_validate(self._http.delete(self._path("workspace")))

    def _settled(
        self, method: str, path: str, body: Mapping[str, Any] | None, timeout_s: float | None
    ) -> models.Workspace:
        """The server waits a few seconds per request; asking again is the same as asking once."""
        patience = Patience(timeout_s)
        while True:
            said = self._http.change(method, self._path(path), body)
            workspace = models.Workspace.model_validate(said)
            if workspace.is_settled:
                return workspace
            if patience.is_over:
                raise WaitTimeout("The workspace is not there yet; it is still worked on.")

    # Following.

    def stream(
        self,
        after: str | None = None,
        until: Goals | None = None,
        *,
        transport: Transport = "sse",
        on_reconnect: Callable[[], None] = lambda: None,
    ) -> Generator[Event]:
        """Everything after a cursor, each event once; without one: a snapshot first.

        Goes on by itself, for ever, whatever breaks, and raises only what trying again cannot mend
        (401, 403, 404 above all). `until`: end when the chat is settled (idle, failed or
        awaiting), idle, or awaiting, after all events up to then.
        """
        self.view = self.view if after is not None and after == self.view.cursor else EMPTY
        following = self._follow(self.view, after, until, Patience(None), transport, on_reconnect)
        with closing(following) as events:
            for event, view in events:
                self.view = view
                yield event

    def wait(
        self,
        for_: Goals = "settled",
        *,
        timeout_s: float | None = None,
        tools: Tools = (),
    ) -> Reply:
        """What came of it. Calls of `tools` are run here, answered, and waited on.

        Raises `WaitTimeout`; nothing is interrupted by that.
        """
        own, patience, answered = toolbox(tools), Patience(timeout_s), set[str]()
        view = self.view
        while True:
            # Calls of our own tools must be noticed, even if the caller waits for the end.
            view = self._reach(view, "settled" if own else for_, patience)
            status = "" if view.status is None else str(view.status["status"])
            reply = reply_of(self.id, view, status)
            if self._run_calls(reply, own, answered):
                continue
            if not own or status in STATUSES[for_]:
                return reply
            own = {}

    def _reach(self, view: ChatView, goal: Goals, patience: Patience) -> ChatView:
        following = self._follow(view, view.cursor, goal, patience, "sse", lambda: None)
        with closing(following) as events:
            for _, each in events:
                view = each
        return view

    def _follow(
        self,
        view: ChatView,
        after: str | None,
        until: Goals | None,
        patience: Patience,
        transport: Transport,
        on_reconnect: Callable[[], None],
    ) -> Generator[tuple[Event, ChatView]]:
        goal = None if until is None else Goal(until, self._look(patience), after)
        if goal is not None and goal.is_reached:
            return
        events = follow(
            self._http,
            Route(self._path("stream"), self._path("socket"), event_of),
            after,
            patience,
            transport=transport,
            silence_s=self._silence_s,
            on_reconnect=on_reconnect,
        )
        with closing(events):
            for event in events:
                if goal is not None:
                    goal.see(event)
                if not isinstance(event, PingEvent):
                    view = reduce(view, WireEvent.from_json(event.raw))
                    yield event, view
                elif goal is not None:
                    goal.look(self._look(patience))
                if goal is not None and goal.is_reached:
                    return

    def _look(self, patience: Patience) -> models.ChatInfo:
        """As patient as the stream that needs it."""
        while True:
            try:
                return self.info()
            except (Unreachable, ApiError) as error:
                if isinstance(error, ApiError) and error.status < 500 and error.status != 429:
                    raise
                if patience.is_over:
                    raise WaitTimeout("It did not happen in time.") from error

    # Running tools.

    def _run_calls(self, reply: Reply, own: Mapping[str, AnyTool], answered: set[str]) -> bool:
        """Run the calls that are ours to run and answer them; False if there were none."""
        waiting = reply.awaiting
        if waiting is None or waiting.kind != "result":
            return False
        calls = [each for each in waiting.calls if each.tool in own]
        calls = [each for each in calls if each.call_id not in answered]
        if not calls:
            return False
        outputs: dict[str, Any] = {}
        failed: set[str] = set()
        for each in calls:
            answered.add(each.call_id)
            try:
                arguments = self._arguments(reply, each)
                outputs[each.call_id] = plain(finish(own[each.tool].begin(arguments)))
            except Exception as error:  # noqa: BLE001 - whatever it is, the model is told
                outputs[each.call_id] = failure(error)
                failed.add(each.call_id)
        try:
            self.answer(outputs, failed=failed)
        except Conflict as error:
            if error.code not in ("call_not_open", "not_lawful"):
                raise  # else: another client was faster, or the turn was interrupted
        return True

    def _arguments(self, reply: Reply, call: models.AwaitedCall) -> dict[str, Any]:
        return (reply.call(call.call_id) or self.call(call)).arguments

    def _path(self, rest: str = "") -> str:
        return f"chats/{self.id}/{rest}".rstrip("/")

    def _commit(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> models.Committed:
        done = self._http.change(method, self._path(path), body, key)
        return models.Committed.model_validate(done)

    def _arrange(self, path: str, body: Mapping[str, Any]) -> models.ChatEntry:
        return models.ChatEntry.model_validate(self._http.put(self._path(path), body))


class Queue:
    """What waits for the chat to be free; `info().queue` lists it."""

    def __init__(self, http: Http, chat_id: str) -> None:
        self._http = http
        self._path = f"chats/{chat_id}/queue"

    def take(self, queued_id: int) -> models.Taken:
        """Take a message out and give it back, to be edited: only one of two takers gets it."""
        taken = self._http.change("POST", f"{self._path}/{queued_id}/take")
        return models.Taken.model_validate(taken)

    def delete(self, queued_id: int) -> models.Committed:
        done = self._http.change("DELETE", f"{self._path}/{queued_id}")
        return models.Committed.model_validate(done)

    def move(self, queued_id: int, before: int | None) -> models.Committed:
        """Before another; None: to the end."""
        path = f"{self._path}/{queued_id}/place"
        done = self._http.change("PUT", path, {"before": before})
        return models.Committed.model_validate(done)

    def promote(self, queued_id: int) -> models.Committed:
        """Say this one now."""
        done = self._http.change("POST", f"{self._path}/{queued_id}/promote")
        return models.Committed.model_validate(done)


def message_json(text: str, model: str | None, effort: str | None) -> dict[str, Any]:
    said = {"text": text, "model": model, "effort": effort}
    return {name: value for name, value in said.items() if value is not None}
