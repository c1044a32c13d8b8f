"""What a chat can do without a turn: read it, change it, follow it, answer what it waits for."""

from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, TypeAlias

import httpx2

from holdfast_client import models
from holdfast_client.aio.chat_parts import AsyncMessages, AsyncQueue
from holdfast_client.aio.follow import Route, Transport, follow
from holdfast_client.aio.ground import finish
from holdfast_client.aio.http import AsyncHttp, json_in
from holdfast_client.aio.workspace import AsyncWorkspace
from holdfast_client.chat_view import ChatView
from holdfast_client.content import (
    NOT_GIVEN,
    NotGiven,
    changed,
    given,
)
from holdfast_client.errors import (
    APIConnectionError,
    APIStatusError,
    ConflictError,
    WaitTimeoutError,
)
from holdfast_client.events import Event, Ping, event_of
from holdfast_client.goal import Goal, Goals
from holdfast_client.patience import Patience
from holdfast_client.tools import AnyTool, failure, plain, toolbox
from holdfast_client.view import EMPTY, WireEvent, WireView, reduce

ANSWERED_BY_OTHERS = frozenset({"call_not_open", "chat_state_conflict"})
"""Another client was faster, or the turn was interrupted."""
Tools: TypeAlias = Iterable[AnyTool | Callable[..., Any]]


class AsyncChatCore:
    """`data` and `etag`: what the server said of it when it was read last (by `refresh`, `update`,
    `chats.retrieve`, and by a wait); None before that.
    """

    def __init__(self, http: AsyncHttp, chat_id: str) -> None:
        self._http = http
        self._wire: WireView = EMPTY
        self._view = ChatView()
        self.id = chat_id
        self.data: models.ChatInfo | None = None
        self.etag: str | None = None
        self.messages = AsyncMessages(http, chat_id)
        self.queue = AsyncQueue(http, chat_id)
        self.workspace = AsyncWorkspace(http, chat_id)

    @property
    def view(self) -> ChatView:
        """What a person sees of the chat, as far as the streams of this object have told."""
        if self._view.raw is not self._wire:
            self._view = ChatView(self._wire, self._view)
        return self._view

    async def refresh(self) -> models.ChatInfo:
        """Read the chat: `data` and `etag` are new then."""
        return self._read(await self._http.respond("GET", self._path()))

    async def update(
        self,
        *,
        title: str | NotGiven | None = NOT_GIVEN,
        labels: Iterable[str] | NotGiven = NOT_GIVEN,
        pinned: bool | NotGiven = NOT_GIVEN,
        metadata: Mapping[str, str | None] | NotGiven | None = NOT_GIVEN,
        if_match: str | None = None,
    ) -> models.ChatInfo:
        """Change what is given, and only that. `title=None`: the server may choose one. `labels`:
        these and no others. `metadata`: these pairs, beside the others; None as a value removes a
        pair, and None in place of the pairs all of them. `if_match`: an `etag`;
        `PreconditionFailedError` if the chat has changed since."""
        labels = labels if isinstance(labels, NotGiven) else list(labels)
        body = changed(title=title, labels=labels, pinned=pinned, metadata=metadata)
        return self._read(await self._http.patch(self._path(), body, if_match))

    # Messages and commands.

    async def interrupt(
        self, *, turn_seq: int | None = None, idempotency_key: str | None = None
    ) -> models.Receipt:
        """Stop the turn; the text so far is kept. `turn_seq`: only this turn; `ConflictError`
        (`turn_changed`) if it is another one now."""
        return await self._commit("POST", "interrupt", given(turn_seq=turn_seq), idempotency_key)

    async def compact(
        self, *, keep: str | None = None, idempotency_key: str | None = None
    ) -> models.Receipt:
        """Replace the prompt's beginning by a summary; the history stays. `keep`: what the summary
        is asked to keep."""
        return await self._commit("POST", "compact", given(keep=keep), idempotency_key)

    async def branches(self) -> AsyncGenerator[models.Branch]:
        """The histories that edits and restores left behind, newest first."""
        async with aclosing(self._http.pages(self._path("branches"))) as pages:
            async for page in pages:
                for each in page:
                    yield models.Branch.model_validate(each)

    async def restore(
        self, version: int, *, if_match: str | None = None, idempotency_key: str | None = None
    ) -> models.Receipt:
        """The history as it was at a version."""
        body = {"version": version}
        return await self._commit("POST", "restore", body, idempotency_key, if_match)

    async def archive(self, *, idempotency_key: str | None = None) -> models.Receipt:
        return await self._commit("POST", "archive", key=idempotency_key)

    async def unarchive(self, *, idempotency_key: str | None = None) -> models.Receipt:
        return await self._commit("POST", "unarchive", key=idempotency_key)

    async def shares(self) -> list[models.Share]:
        found = await self._http.get(self._path("shares"))
        return [models.Share.model_validate(each) for each in found["data"]]

    async def share(self, user_id: str) -> None:
        await self._http.put(self._path(f"shares/{user_id}"))

    async def unshare(self, user_id: str) -> None:
        await self._http.delete(self._path(f"shares/{user_id}"))

    async def mark_read(self, seq: int) -> int:
        """How far you have read now; it only ever goes forward."""
        reached = await self._http.put(self._path("read-marker"), {"seq": seq})
        return int(reached["read_seq"])

    # What a turn waits for.

    async def approve(
        self,
        call: models.AwaitedCall | models.ToolCallPart,
        *,
        idempotency_key: str | None = None,
    ) -> models.Receipt:
        """Run exactly this call: `ConflictError` (`approval_mismatch`) if it is another one now."""
        return await self._decide(call, "approve", "", idempotency_key)

    async def deny(
        self,
        call: models.AwaitedCall | models.ToolCallPart,
        reason: str = "",
        *,
        idempotency_key: str | None = None,
    ) -> models.Receipt:
        """`reason`: what the model is told."""
        return await self._decide(call, "deny", reason, idempotency_key)

    async def questions(self, call: models.AwaitedCall) -> list[models.Question]:
        """What a call of `ask_user` asks. Show it with `holdfast_client.visible`."""
        asked = (await self.call(call)).arguments["questions"]
        return [models.Question.model_validate(each) for each in asked]

    async def answer(
        self,
        call: models.AwaitedCall | models.ToolCallPart,
        *answers: models.Answer | str,
        idempotency_key: str | None = None,
    ) -> models.Receipt:
        """Answer all questions of a call of `ask_user`, in their order; a `str` is own words.
        `ConflictError` if the call is answered already."""
        said = [models.Answer(text=each) if isinstance(each, str) else each for each in answers]
        output = {"answers": [each.model_dump() for each in said]}
        return await self.submit_results({call.call_id: output}, idempotency_key=idempotency_key)

    async def submit_results(
        self,
        outputs: Mapping[str, Any],
        *,
        failed: Collection[str] = (),
        idempotency_key: str | None = None,
    ) -> models.Receipt:
        """Results by call id; `failed`: those of them that say why there is none."""
        results = [
            {"call_id": call_id, "output": output, "is_error": call_id in failed}
            for call_id, output in outputs.items()
        ]
        return await self._commit("POST", "tool-results", {"results": results}, idempotency_key)

    async def set_tools(
        self, tools: Tools, *, idempotency_key: str | None = None
    ) -> models.Receipt:
        """The model may call these functions from the next turn on, and no others of a client."""
        declared = [each.declaration() for each in toolbox(tools).values()]
        return await self._commit("PUT", "tools", {"tools": declared}, idempotency_key)

    async def call(self, awaited: models.AwaitedCall) -> models.ToolCallPart:
        """A call that waits, with its arguments; they are read from its message if they are long.
        Show them with `holdfast_client.visible`."""
        if awaited.arguments is not None:
            return models.ToolCallPart(
                type="tool_call",
                call_id=awaited.call_id,
                tool_name=awaited.tool_name,
                arguments=awaited.arguments,
                digest=awaited.digest,
                exact_arguments=awaited.exact_arguments,
            )
        message = await self.messages.retrieve(awaited.seq)
        return next(
            part
            for part in message.parts
            if isinstance(part, models.ToolCallPart) and part.call_id == awaited.call_id
        )

    async def run_calls(
        self, calls: Sequence[models.AwaitedCall], tools: Mapping[str, AnyTool]
    ) -> int:
        """Run these calls here and submit their results. The version of the chat after it."""
        outputs: dict[str, Any] = {}
        failed: set[str] = set()
        for each in calls:
            try:
                call = await self.call(each)
                result = await finish(tools[each.tool_name].begin(call.arguments))
                outputs[each.call_id] = plain(result)
            except Exception as error:  # noqa: BLE001 - whatever it is, the model is told
                outputs[each.call_id] = failure(error)
                failed.add(each.call_id)
        try:
            return (await self.submit_results(outputs, failed=failed)).version
        except ConflictError as error:
            if error.code not in ANSWERED_BY_OTHERS:
                raise
            return (await self.refresh()).version

    # Following.

    async def events(
        self,
        after: str | None = None,
        until: Goals | None = None,
        *,
        transport: Transport = "sse",
        on_reconnect: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[Event]:
        """Every event after a cursor, each once; without a cursor a snapshot comes first.

        Continues by itself after every fault, without an end, and raises only what a retry cannot
        fix (401, 403, 404 above all). `until`: end when the chat is settled (idle, failed or
        awaiting), idle, or awaiting, after all events up to then.
        """
        patience = Patience(None)
        self._wire = self._wire if after is not None and after == self._wire.cursor else EMPTY
        goal = None if until is None else await self._goal(until, patience)
        if goal is not None and goal.is_reached:
            return
        following = self.follow(patience, after, transport=transport, on_reconnect=on_reconnect)
        async with aclosing(following):
            async for event in following:
                if goal is not None:
                    goal.see(event)
                if not isinstance(event, Ping):
                    yield event
                if goal is not None and goal.is_reached:
                    return

    async def _reach(self, until: Goals, patience: Patience) -> None:
        goal = await self._goal(until, patience)
        if goal.is_reached:
            return
        async with aclosing(self.follow(patience, self._wire.cursor)) as events:
            async for event in events:
                goal.see(event)
                if goal.is_reached:
                    return

    async def follow(
        self,
        patience: Patience,
        after: str | None = None,
        *,
        transport: Transport = "sse",
        on_reconnect: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[Event]:
        """Every event from where the view is, or after a cursor, with pings. `view` follows it."""
        view = self._wire
        events = follow(
            self._http,
            Route(self._path("events"), event_of),
            after or view.cursor,
            patience,
            transport=transport,
            on_reconnect=on_reconnect,
        )
        async with aclosing(events):
            async for event in events:
                view = self._wire = reduce(view, WireEvent.from_json(event.raw))
                yield event

    async def _goal(self, until: Goals, patience: Patience) -> Goal:
        """As patient as the stream that needs it."""
        while True:
            try:
                return Goal(until, await self.refresh(), self._wire)
            except (APIConnectionError, APIStatusError) as error:
                status = error.status
                if status is not None and status < 500 and status != 429:
                    raise
                if patience.is_over:
                    raise WaitTimeoutError("It did not happen in time.") from error

    async def _decide(
        self,
        call: models.AwaitedCall | models.ToolCallPart,
        decision: str,
        reason: str,
        key: str | None,
    ) -> models.Receipt:
        about = {"call_id": call.call_id, "digest": call.digest}
        said = {**about, "decision": decision, "reason": reason}
        return await self._commit("POST", "tool-decisions", {"decisions": [said]}, key)

    def _path(self, rest: str = "") -> str:
        return f"chats/{self.id}/{rest}".rstrip("/")

    async def _commit(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        if_match: str | None = None,
    ) -> models.Receipt:
        done = await self._http.change(method, self._path(path), body, key, if_match=if_match)
        return models.Receipt.model_validate(done)

    def _read(self, response: httpx2.Response) -> models.ChatInfo:
        self.data = models.ChatInfo.model_validate(json_in(response))
        self.etag = response.headers.get("etag")
        return self.data
