"""From history to prompt: the rules that hold on every wire, applied before a wire sees a part.

- What only people may see is left out, and so are blank text and sources (L28).
- Reasoning and provider-executed parts of another dialect are dropped; ours come back by themselves
  when the chat returns to it, because the stored history keeps them (L37).
- Every local call is answered once, in call order, before the next message; a result without a call
  is dropped, a call without a result gets one that says so (L31).
- Provider-executed results sit right behind their call (L30).
- Call ids are fit for every provider and do not repeat in the prompt (L34).

Wires then only spell: they decide nothing that this module can.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from holdfast.adapters.providers.names import Distinct, fit
from holdfast.domain.foreign import attribute
from holdfast.domain.ids import CallId
from holdfast.domain.messages import Ending, MessageBody, Role, Visibility
from holdfast.domain.parts import (
    Context,
    File,
    FileReference,
    Part,
    Reasoning,
    Skill,
    Source,
    Text,
    ToolCall,
    ToolResult,
)

CONTINUE: Final = "Continue from where you stopped."
SUMMARY: Final = (
    "[Summary of the conversation up to here, written by you. The task is under way: go on with "
    "its next action. Files and processes are as you left them; read a file again before an edit.]"
)
LOST: Final = "No result: this call was never answered."
_WORDS: Final = ("thinking", "summary", "text", "reasoning_content", "reasoning")
_SIGNATURES: Final = ("signature", "thoughtSignature", "encrypted_content", "data")


@dataclass(slots=True)
class ModelEntry:
    """What the model said: text, calls, and, in its own dialect, everything else."""

    parts: list[Part]
    paused: bool = False


@dataclass(slots=True)
class ResultsEntry:
    """The results of all local calls of what was said just before, in call order."""

    results: list[ToolResult]


@dataclass(slots=True)
class UserEntry:
    """What the user said, in texts and files."""

    parts: list["Text | File"] = field(default_factory=list["Text | File"])


Entry: TypeAlias = ModelEntry | ResultsEntry | UserEntry


@dataclass(slots=True)
class ProviderPrompt:
    system: list[str]
    entries: list[Entry]


def is_ours(part: Part, dialect: str) -> bool:
    return part.native is not None and part.native.wire == dialect


def prompt_of(
    history: Sequence[MessageBody], system: Sequence[str], dialect: str
) -> ProviderPrompt:
    """The prompt for a provider that speaks `dialect`."""
    return _Assembly(dialect, system).run(history)


class _Assembly:
    def __init__(self, dialect: str, system: Sequence[str]) -> None:
        self._dialect = dialect
        self._system = [text for text in system if text.strip()]
        self._entries: list[Entry] = []
        self._open: dict[CallId, ToolCall] = {}  # by stored id; the values carry the fitted one
        self._results: dict[CallId, ToolResult] = {}
        self._ids = Distinct()

    def run(self, history: Sequence[MessageBody]) -> ProviderPrompt:
        for body in history:
            if body.visibility is Visibility.USER:
                continue
            match body.role:
                case Role.ASSISTANT:
                    self._say(body)
                case Role.TOOL:
                    self._take(body)
                case Role.USER | Role.BOUNDARY:
                    heading = (Text(SUMMARY),) if body.role is Role.BOUNDARY else ()
                    self._ask((*heading, *body.parts))
                case Role.SYSTEM if body.visibility is Visibility.MODEL:
                    self._ask(body.parts)  # what changed meanwhile: told at its place
                case Role.SYSTEM:
                    self._system += [
                        text.text for text in _spoken(body.parts) if type(text) is Text
                    ]
        self._close()
        entries = self._entries
        if entries and type(entries[0]) is not UserEntry:
            entries.insert(0, _continue())  # every wire begins with the user
        last = entries[-1] if entries else None
        if type(last) is ModelEntry and not last.paused:
            # No prefill: newer models refuse to go on inside their own message.
            entries.append(_continue())
        return ProviderPrompt(self._system, entries)

    def _say(self, body: MessageBody) -> None:
        self._close()
        kept, ours, pairs = self._kept(body.parts)
        paused = ours and body.ending is Ending.PAUSED
        last = self._entries[-1] if self._entries else None
        joined = type(last) is ModelEntry and last.paused
        if joined:  # the same reply, in two calls
            assert type(last) is ModelEntry
            kept = [*last.parts, *kept]
        if pairs or joined:
            kept = _paired(kept, paused=paused)
        if not paused:
            _drop_last_thoughts(kept)
        if joined:
            self._entries.pop()
        if not kept:
            return
        if self._entries and type(self._entries[-1]) is ModelEntry:
            self._entries.append(_continue())
        self._entries.append(ModelEntry(kept, paused))

    def _kept(self, parts: Sequence[Part]) -> tuple[list[Part], bool, bool]:
        """What of them may be sent; whether some are ours, and some provider-executed."""
        dialect = self._dialect
        any_ours = pairs = False
        kept: list[Part] = []
        for part in parts:
            native = part.native
            ours = native is not None and native.wire == dialect
            any_ours = any_ours or ours
            if type(part) is Text:
                if (part.text and not part.text.isspace()) or (ours and _signed(part)):
                    kept.append(part)
            elif type(part) is ToolCall and part.runs_at == "here":
                kept.append(self._opened(part))
            elif type(part) is Reasoning:
                if ours and _meaningful(part):
                    kept.append(part)
            elif ours:  # provider-executed: calls and results
                pairs = True
                kept.append(part)
        return kept, any_ours, pairs

    def _opened(self, call: ToolCall) -> ToolCall:
        stored = call.call_id
        fitted = self._ids.give(fit(stored))
        if fitted != stored:
            call = replace(call, call_id=CallId(fitted))
        self._open[stored] = call
        return call

    def _take(self, body: MessageBody) -> None:
        for part in body.parts:
            if type(part) is ToolResult and part.call_id in self._open:
                self._results.setdefault(part.call_id, part)

    def _close(self) -> None:
        """Answer the open calls before the next message."""
        if not self._open:
            return
        answered: list[ToolResult] = []
        for stored, call in self._open.items():
            result = self._results.get(stored)
            if result is None:
                result = ToolResult(call.call_id, call.tool, LOST, failed=True)
            elif call.call_id != stored:
                result = replace(result, call_id=call.call_id)
            answered.append(result)
        self._entries.append(ResultsEntry(answered))
        self._open = {}
        self._results = {}

    def _ask(self, parts: Sequence[Part]) -> None:
        spoken = _spoken(parts)
        if not spoken:
            return
        self._close()
        last = self._entries[-1] if self._entries else None
        if type(last) is UserEntry:
            last.parts += spoken  # two in a row are one: some wires insist on taking turns
        else:
            self._entries.append(UserEntry(spoken))


def _drop_last_thoughts(kept: list[Part]) -> None:
    """Thinking that led nowhere is refused at the end of a message.

    `reasoning_details` belong to the whole message: they stay with what it says, wherever they
    came (Gemini signs its calls after them).
    """
    if not all(type(part) is Reasoning for part in kept) and _is_of_message(kept[-1]):
        return
    while kept and type(kept[-1]) is Reasoning:
        kept.pop()


def _is_of_message(part: Part) -> bool:
    return part.native is not None and "reasoning_details" in part.native.block


def _continue() -> UserEntry:
    return UserEntry([Text(CONTINUE)])


def _signed(part: Part) -> bool:
    assert part.native is not None
    block = part.native.block
    for name in _SIGNATURES:  # noqa: SIM110 - on the path of every part of every prompt
        if block.get(name):
            return True
    return False


def _meaningful(part: Reasoning) -> bool:
    """Signed or opaque reasoning counts even when it is blank (L33)."""
    if part.text and not part.text.isspace():
        return True
    assert part.native is not None
    return _signed(part) or not any(name in part.native.block for name in _WORDS)


def _paired(parts: list[Part], *, paused: bool) -> list[Part]:
    """Provider-executed results behind their calls; halves of pairs are dropped."""
    results: Mapping[CallId, Part] = {
        part.call_id: part for part in parts if type(part) is ToolResult
    }
    paired: list[Part] = []
    for part in parts:
        if type(part) is ToolResult:
            continue
        if type(part) is ToolCall and part.runs_at == "provider":
            result = results.get(part.call_id)
            if result is not None:
                paired += (part, result)
            elif paused:  # the provider is still at it
                paired.append(part)
        else:
            paired.append(part)
    return paired


def _spoken(parts: Sequence[Part]) -> "list[Text | File]":
    """What a user message says, each piece as a text or a file."""
    spoken: list[Text | File] = []
    for part in parts:
        match part:
            case Text(text=text):
                if text and not text.isspace():
                    spoken.append(part)
            case File():
                spoken.append(part)
            case Context(name=name, text=text):
                spoken.append(Text(_tagged("context", name, text)))
            case Skill(name=name, text=text):
                spoken.append(Text(_tagged("skill", name, text)))
            case FileReference():
                spoken.append(Text(_tagged("file", _place(part), part.text)))
            case Reasoning() | ToolCall() | ToolResult() | Source():
                pass
    return spoken


def _tagged(tag: str, name: str, text: str) -> str:
    """Text that cannot end its tag: it may be a file's, and stand beside what the user says."""
    inside = re.sub(rf"<(?=\s*/\s*{tag})", "&lt;", text, flags=re.IGNORECASE)
    return f'<{tag} name="{attribute(name)}">\n{inside}\n</{tag}>'


def _place(reference: FileReference) -> str:
    if reference.first_line is None:
        return reference.path
    last = reference.last_line or reference.first_line
    return f"{reference.path}:{reference.first_line}-{last}"
