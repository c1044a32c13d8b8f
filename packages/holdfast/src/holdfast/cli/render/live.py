"""A chat as it happens: `LiveRenderer.feed(event)` says what to write, and where.

What was written cannot be taken back: no cursor moves, no second screen, so that scrollback and
copying work. On a terminal text is written as it comes. Elsewhere only what is committed is
written, so that a file never holds words that an abandoned attempt said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from holdfast.cli.questions import ASK_USER, questions_in
from holdfast.cli.render.advice import advice_brief, advice_of
from holdfast.cli.render.patches import patched
from holdfast.cli.render.plan import UPDATE_PLAN, plan_lines
from holdfast.cli.render.proposal import PROPOSED, proposal_of
from holdfast.cli.render.takeover import takeover_line
from holdfast.cli.render.text import UNICODE, Marks, clip, compact, first_line, safe, seconds

Data: TypeAlias = dict[str, Any]
Style: TypeAlias = Literal["", "dim", "bold", "red", "yellow", "green"]
SLOW_CALL_S: Final = 1.0
"""Calls that take less are not told how long they took."""


@dataclass(frozen=True, slots=True)
class Ink:
    """Something to write. Answers go to stdout, notes to stderr."""

    to: Literal["answer", "note"]
    text: str
    style: Style = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRendererOptions:
    """`live`: write text before it is committed. `tail`: of a snapshot, only so many messages.

    `own`: the seqs of messages that the person at this terminal has just typed.
    """

    width: int = 80
    live: bool = True
    marks: Marks = UNICODE
    tail: int | None = None
    own: frozenset[int] = frozenset()
    chat: str = "@last"


@dataclass
class LiveRenderer:
    options: LiveRendererOptions = field(default_factory=LiveRendererOptions)
    _open: Literal["answer", "note"] | None = None
    """Where an unfinished line stands."""
    _open_call: str | None = None
    _shown: dict[int, str] = field(default_factory=dict[int, str])
    """Text that was written before it was committed, by the part's index."""
    _thoughts: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    """Reasoning, likewise: what was written of it, and all of it."""
    _calls: dict[str, Data] = field(default_factory=dict[str, Data])
    _snapshot: list[Data] | None = None
    _seen_seq: int = 0
    _written: dict[int, str] = field(default_factory=dict[int, str])
    """When each message was committed that was written here, by its seq."""
    _queue_length: int = 0
    _answered: bool = False

    def feed(self, event_type: str, data: Data) -> list[Ink]:
        match event_type:
            case "preview.delta":
                inks = self._preview_delta(data)
            case "message.created":
                inks = self._message(data)
            case "history.reset":
                inks = self._history_reset(data)
            case "chat.state":
                inks = self._chat_state(data)
            case "preview.reset":
                inks = self._preview_reset()
            case "queue.updated":
                inks = self._queue(data["messages"])
            case _:
                inks = ()
        return list(inks)

    def own(self, seq: int) -> None:
        """The person typed this one: it need not be shown to them."""
        self.options = replace(self.options, own=self.options.own | {seq})

    def tail(self, number: int) -> None:
        self.options = replace(self.options, tail=number)

    def note(self, text: str, style: Style = "dim") -> list[Ink]:
        """A line of its own, whatever stands on the present one."""
        return [*self._fresh_line(), Ink("note", clip(text, 4 * self._width) + "\n", style)]

    def finish(self) -> list[Ink]:
        return list(self._fresh_line())

    @property
    def _width(self) -> int:
        return self.options.width

    def _fresh_line(self) -> Iterator[Ink]:
        if self._open is not None:
            yield Ink(self._open, "\n")
        self._open = self._open_call = None

    # What is committed.

    def _history_reset(self, data: Data) -> Iterator[Ink]:
        yield from self._preview_over()
        if data["from_seq"] > 1:
            yield from self._rewritten(data["from_seq"])
            return
        self._snapshot = []
        older = data["older_before_seq"]
        if older is not None and self.options.tail is None:
            yield from self.note(f"messages before {older} are left out: `holdfast show`")

    def _end_of_snapshot(self) -> Iterator[Ink]:
        if self._snapshot is None:
            return
        messages, self._snapshot = self._snapshot, None
        tail = self.options.tail
        for message in messages if tail is None else messages[len(messages) - tail :]:
            yield from self._committed(message)
        if messages:
            self._seen_seq = max(self._seen_seq, messages[-1]["seq"])

    def _message(self, data: Data) -> Iterator[Ink]:
        if data["seq"] <= self._seen_seq:
            # After a reset of the connection a snapshot may tell what we have written.
            if self._written.get(data["seq"], data["created_at"]) == data["created_at"]:
                return
            yield from self._rewritten(data["seq"])  # what we wrote was lost with its database
        if self._snapshot is not None:
            self._snapshot.append(data)
            return
        yield from self._committed(data)

    def _rewritten(self, seq: int) -> Iterator[Ink]:
        self._seen_seq = min(self._seen_seq, seq - 1)
        yield from self.note(f"{self.options.marks.rule} rewritten from message {seq}")

    def _committed(self, message: Data) -> Iterator[Ink]:
        self._seen_seq = message["seq"]
        self._written[message["seq"]] = message["created_at"]
        match message["role"]:
            case "user":
                yield from self._preview_over()
                if message["seq"] not in self.options.own:
                    yield from self._said(message)
            case "assistant":
                yield from self._with_takeover(message, self._answer(message))
            case "tool":
                yield from self._with_takeover(message, self._results(message))
            case _:
                yield from self.note(f"{self.options.marks.rule} earlier messages were summed up")

    def _with_takeover(self, message: Data, told: Iterator[Ink]) -> Iterator[Ink]:
        """The quiet line stands before what the successor said, and behind what is kept of a lost
        worker. What was written live cannot be taken back: then it stands behind, too."""
        takeover = message.get("takeover")
        if takeover is None:
            yield from told
            return
        line = f"{self.options.marks.rule} {takeover_line(takeover)}"
        is_first = message["role"] == "assistant" and not _is_kept(message)
        is_first = is_first and not self._shown and not self._thoughts
        if is_first:
            yield from self.note(line)
        yield from told
        if not is_first:
            yield from self.note(line)

    def _said(self, message: Data) -> Iterator[Ink]:
        text = safe(text_of(message["parts"]))
        yield from self.note(f"{self.options.marks.said} {text}", "bold")

    def _answer(self, message: Data) -> Iterator[Ink]:
        shown, self._shown = self._shown, {}
        thoughts, self._thoughts = self._thoughts, {}
        for index, part in enumerate(message["parts"]):
            match part["type"]:
                case "text":
                    yield from self._committed_text(part["text"], shown.get(index, ""))
                case "reasoning" if index not in thoughts:
                    yield from self._reasoning_line(part["text"])
                case "source":
                    yield from self.note(f"  {part['title']} <{part['url']}>")
                case "tool_call":
                    yield from self._call(part, message)
                case "tool_result":
                    yield from self._result(part, message)
                case _:
                    pass
        reason = message["finish_reason"]
        if reason not in ("stop", "paused") and not _is_kept(message):
            line = f"{self.options.marks.rule} {reason.replace('_', ' ')}"
            yield from self.note(line, "yellow")

    def _committed_text(self, text: str, shown: str) -> Iterator[Ink]:
        text = safe(text) if self.options.live else text
        if not text.startswith(shown):
            yield from self.note(f"{self.options.marks.rule} as it was committed:")
            shown, self._answered = "", False
        rest = text[len(shown) :]
        if rest:
            if not shown:
                yield from self._before_text()
            yield Ink("answer", rest)
            self._open = None if rest.endswith("\n") else "answer"
        yield from self._fresh_line()

    def _before_text(self) -> Iterator[Ink]:
        yield from self._fresh_line()
        if self._answered:
            yield Ink("answer", "\n")  # between two answers of one turn
        self._answered = True

    def _reasoning_line(self, text: str) -> Iterator[Ink]:
        if text.strip():
            line = first_line(text, self._width - 1, self.options.marks.more)
            yield from self._fresh_line()
            yield Ink("note", line + "\n", "dim")

    def _call(self, call: Data, message: Data) -> Iterator[Ink]:
        """The line of a call; on a terminal it stays open, so that its result can stand beside."""
        self._calls[call["call_id"]] = {**call, "at": message["created_at"]}
        yield from self._plan(call)
        if not self.options.live:
            return
        yield from self._fresh_line()
        yield Ink("note", self._call_line(call), "dim")
        self._open, self._open_call = "note", call["call_id"]

    def _plan(self, call: Data) -> Iterator[Ink]:
        for line in plan_lines(call["tool_name"], call["arguments"]):
            yield from self.note(clip(line, self._width - 1, self.options.marks.more))

    def _call_line(self, call: Data) -> str:
        tool, arguments = call["tool_name"], call["arguments"]
        arguments = None if tool == UPDATE_PLAN else patched(tool, arguments) or arguments
        said = f"{tool} {compact(arguments)}" if arguments else tool
        return clip(f"{self.options.marks.call} {said}", self._width // 2, self.options.marks.more)

    def _results(self, message: Data) -> Iterator[Ink]:
        for part in message["parts"]:
            if part["type"] == "tool_result":
                yield from self._result(part, message)

    def _result(self, result: Data, message: Data) -> Iterator[Ink]:
        marks = self.options.marks
        call = self._calls.pop(result["call_id"], None)
        beside = self._open_call is not None and self._open_call == result["call_id"]
        line = self._call_line(call) if call else f"{marks.call} {result['tool_name']}"
        mark = marks.failed if result["is_error"] else marks.done
        tool, output = result["tool_name"], result["output"]
        proposal = proposal_of(tool, output, failed=result["is_error"])
        brief = advice_brief(tool, output) or (PROPOSED if proposal else compact(output))
        told = f"{mark}{_took(call, message)} {marks.gives} {brief}"
        if beside:
            self._open = self._open_call = None
        else:
            yield from self._fresh_line()
            yield Ink("note", line, "dim")
        room = max(4, self._width - 2 - len(line))
        style: Style = "red" if result["is_error"] else "dim"
        yield Ink("note", f" {clip(told, room, marks.more)}\n", style)
        for each in (advice_of(tool, output) or proposal or "").splitlines():
            yield Ink("note", f"  {safe(each)}".rstrip() + "\n")

    # What is said right now.

    def _preview_delta(self, data: Data) -> Iterator[Ink]:
        if not self.options.live:
            return
        for delta in data["deltas"]:
            match delta["type"]:
                case "text":
                    yield from self._live_text(delta["index"], safe(delta["text"]))
                case "reasoning":
                    yield from self._live_reasoning(delta["index"], delta["text"])
                case "summary_started":
                    yield from self.note(f"{self.options.marks.rule} summing up earlier messages")
                case "summary_ended" if delta["error"] is not None:
                    line = f"{self.options.marks.rule} the summary failed: {safe(delta['error'])}"
                    yield from self.note(line, "red")
                case _:
                    pass  # a call is told when it is whole, and a summary when it is there

    def _live_text(self, index: int, text: str) -> Iterator[Ink]:
        if not text:
            return
        if index not in self._shown:
            yield from self._before_text()
        self._shown[index] = self._shown.get(index, "") + text
        yield Ink("answer", text)
        self._open = None if text.endswith("\n") else "answer"

    def _live_reasoning(self, index: int, text: str) -> Iterator[Ink]:
        """Reasoning is folded to one line: as much of it as fits is written, and no more."""
        written, before = self._thoughts.get(index, ("", ""))
        line = first_line(before + text, self._width - 1, self.options.marks.more)
        self._thoughts[index] = (line, before + text)
        if line == written:
            return
        if not written:
            yield from self._fresh_line()
        yield Ink("note", line[len(written) :], "dim")
        self._open = "note"

    def _preview_over(self) -> Iterator[Ink]:
        self._shown.clear()
        self._thoughts.clear()
        yield from self._fresh_line()

    def _preview_reset(self) -> Iterator[Ink]:
        had = bool(self._shown or self._thoughts)
        yield from self._preview_over()
        if had:
            self._answered = False
            yield from self.note(f"{self.options.marks.rule} that attempt is void; it begins again")

    # What else is told.

    def _chat_state(self, data: Data) -> Iterator[Ink]:
        yield from self._end_of_snapshot()
        retry, error, action = data["retry"], data["error"], data["action_required"]
        if retry is not None:
            wait, model = seconds(retry["delay_ms"] / 1000), retry.get("model")
            asked = f"retrying in {wait}" if model is None else f"retrying in {wait} with {model}"
            yield from self.note(f"{asked}: {retry['error']['message']}", "yellow")
        if error is not None:
            yield from self.note(f"error: {error['message']}", "red")
        if action is not None:
            for line in asked_for(action, self.options.chat):
                yield from self.note(line, "yellow")

    def _queue(self, messages: Sequence[Data]) -> Iterator[Ink]:
        before, self._queue_length = self._queue_length, len(messages)
        if len(messages) > before:
            yield from self.note(f"{len(messages)} waiting in the queue")


def text_of(parts: Sequence[Data]) -> str:
    """What a message says in words."""
    return "\n\n".join(part["text"] for part in parts if part["type"] == "text" and part["text"])


def _is_kept(message: Data) -> bool:
    """Whether these are the words of a lost worker: then the quiet line says why they end."""
    takeover: Data | None = message.get("takeover")
    return takeover is not None and bool(takeover["kept"])


def asked_for(action: Data, chat: str) -> Iterator[str]:
    """What the user has to do before the turn can continue, and with which command."""
    for call in action["calls"]:
        call_id, tool = call["call_id"], call["tool_name"]
        match action["type"]:
            case "approval":
                yield f"{tool} waits for approval: holdfast approve {chat} {call_id}"
            case "login":
                yield f"{tool} needs a sign-in first"
            case "answer" if tool == ASK_USER:
                yield from questions_in(call["arguments"])
                yield f"{tool} waits for answers: holdfast respond {chat} {call_id} --answer ANSWER"
            case _:
                yield f"{tool} waits for an answer: holdfast respond {chat} {call_id} TEXT"


def _took(call: Data | None, message: Data) -> str:
    if call is None:
        return ""
    begun = datetime.fromisoformat(call["at"])
    took_s = (datetime.fromisoformat(message["created_at"]) - begun).total_seconds()
    return f" · {seconds(took_s)}" if took_s >= SLOW_CALL_S else ""
