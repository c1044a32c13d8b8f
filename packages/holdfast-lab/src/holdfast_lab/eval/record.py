"""What is recorded of one run: its reward, and what the messages of its chat show."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from holdfast_client.models import Message, ToolCallPart, ToolResultPart

EDITS: Final = frozenset({"edit_file", "apply_patch"})
WRITES: Final = frozenset({"write_file"})
READS: Final = frozenset({"read_file"})
ERROR_CHARS: Final = 160
PATHS: Final = ("path", "file_path")
PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """What the model did, counted."""

    replies: int = 0
    calls: dict[str, int] = field(default_factory=dict[str, int])
    """By tool."""
    failed_calls: dict[str, int] = field(default_factory=dict[str, int])
    """By the first line of the error."""
    edits: int = 0
    """Edits of a file, without repetitions of an edit that failed."""
    edits_first_try: int = 0
    """Those of them that succeeded at once."""
    re_reads: int = 0
    """Reads of a range that was read before, of a file that was not changed since."""
    cut_results: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    """None: the prices of the model are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRun:
    task: str
    arm: str
    number: int
    """From 1 on, for each task and arm."""
    model: str
    reward: float
    ending: str
    """done, limit (the time was over), error, or awaiting (a decision of a person)."""
    error: str = ""
    wall_s: float = 0.0
    waiting_s: float = 0.0
    """Of these, how long the turn waited before another attempt: limits and failures of the
    provider."""
    chat_id: str = ""
    commit: str = ""
    """Of the source of the server, or its version."""
    prompt_hash: str = ""
    """Of the system prompt and the tools; the same hash is the same text."""
    kills: dict[str, int] = field(default_factory=dict[str, int])
    activity: Activity = field(default_factory=Activity)
    verifier: str = ""
    """The last that the verifier said."""
    transcript: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def passed(self) -> bool:
        return self.reward >= 1.0

    @property
    def key(self) -> str:
        """Names the run within its report."""
        return f"{self.task}.{self.number}.{self.arm}"


def activity_of(messages: Sequence[Message]) -> Activity:
    results = {part.call_id: part for part in _parts(messages, ToolResultPart)}
    calls = [(call, results.get(call.call_id)) for call in _parts(messages, ToolCallPart)]
    edits, first_try = _edits(calls)
    usage = [message.usage for message in messages if message.usage is not None]
    costs = [each.cost_micro_usd for each in messages if each.cost_micro_usd is not None]
    return Activity(
        replies=sum(message.role == "assistant" for message in messages),
        calls=dict(Counter(call.tool_name for call, _ in calls)),
        failed_calls=dict(
            Counter(_error(result) for result in results.values() if result.is_error)
        ),
        edits=edits,
        edits_first_try=first_try,
        re_reads=_re_reads(calls),
        cut_results=sum(result.truncated for result in results.values()),
        input_tokens=sum(each.input_tokens or 0 for each in usage),
        output_tokens=sum(each.output_tokens or 0 for each in usage),
        cached_tokens=sum(each.cache_read_tokens or 0 for each in usage),
        cost_usd=sum(costs) / 1_000_000 if costs else None,
    )


def last_text(messages: Sequence[Message]) -> str:
    """The last text of the model: the final message of the run."""
    said = (each.text for each in reversed(messages) if each.role == "assistant")
    return next((text for text in said if text), "")


Called: TypeAlias = tuple[ToolCallPart, ToolResultPart | None]


def _parts(messages: Iterable[Message], kind: type[T]) -> Iterator[T]:
    for message in messages:
        yield from (part for part in message.parts if isinstance(part, kind))


def _error(result: ToolResultPart) -> str:
    lines = str(result.output).strip().splitlines()
    return lines[0][:ERROR_CHARS] if lines else "(no text)"


def _files(call: ToolCallPart) -> tuple[str, ...]:
    """The files that a call names."""
    given = call.arguments
    for name in PATHS:
        if isinstance(given.get(name), str):
            return (given[name],)
    patch = given.get("patch")
    return tuple(PATCHED.findall(patch)) if isinstance(patch, str) else ("",)


def _edits(calls: Sequence[Called]) -> tuple[int, int]:
    tried, first_try, failed = 0, 0, set[str]()
    for call, result in calls:
        if call.tool_name not in EDITS or result is None:
            continue
        files = set(_files(call))
        if not files & failed:
            tried += 1
            first_try += not result.is_error
        failed = failed | files if result.is_error else failed - files
    return tried, first_try


def _re_reads(calls: Sequence[Called]) -> int:
    seen, found = set[tuple[str, str]](), 0
    for call, _ in calls:
        if call.tool_name in READS:
            path = next(iter(_files(call)), "")
            key = (path, str(sorted(call.arguments.items())))
            found += key in seen
            seen.add(key)
        elif call.tool_name in EDITS | WRITES:
            changed = set(_files(call))
            seen = {key for key in seen if key[0] not in changed}
        elif call.tool_name == "execute":
            seen.clear()  # a command may have changed any file
    return found
