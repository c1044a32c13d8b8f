"""What may come of a fault, and the page that says what did.

A fault that damages a stream ends as an error. The exceptions stand here, each with its reason;
a complete reply that is not among them, or is not what was said, is a silent success.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias

import orjson

from holdfast.domain.messages import Ending
from holdfast.domain.parts import Part, Reasoning, Text, ToolCall
from holdfast_lab.chaos.faults.models.outcomes import ODD, RACING, kept
from holdfast_simulator.faults import ABOUT, Fault, Place
from tests.support.model import WIRE_NAMES
from tests.support.provider_faults import Account, Seen

F = Fault
Content: TypeAlias = list[tuple[str, Any]]

WHOLE: Final[Mapping[Fault, str]] = {
    F.EOF_BEFORE_DONE: "`finish_reason` proves the end; `[DONE]` adds nothing",
    F.HANG_AFTER_END: "the end was declared; the silent connection is closed, not used again",
    F.DRIP: "slow and right: progress counts, not speed",
    F.UNKNOWN_EVENTS: "what is yet to be invented passes",
    F.MISSING_USAGE: "the reply is whole, its usage is unknown (`None`), never zero",
    F.SSE_QUIRKS: "legal SSE",
    F.EMPTY_TEXT: "a blank part is stored and never sent back",
    F.EARLY_HINTS: "a 1xx is no answer; the answer follows",
    F.CLOSED_AFTER_END: "the end was declared; how the connection ended does not matter",
    F.GARBAGE_AFTER_END: "lines that are no SSE fields, after the declared end",
    F.BYTE_ORDER_MARK: "legal SSE",
    F.TWO_ENDS: "the first end counts",
    F.LATE_DELTA: "Responses ends with one event, and what follows is not read; elsewhere an error",
    F.MISSING_START: "the opening event carries no part",
    F.EMPTY_CHOICES: "an event without choices adds nothing",
}
"""Harmless: the reply is whole and equals the scripted one."""

SPEECH: Final[Mapping[tuple[Fault, str], str]] = {
    (F.DUPLICATED_EVENTS, wire): (
        "deltas carry neither number nor total, and people do say things twice; the doubled "
        "arguments are no JSON, so that the call is in `malformed` and never run"
        + (
            "; doubled thinking is kept and never sent back: its signature is for half of it"
            if wire == "anthropic"
            else ""
        )
    )
    for wire in ("anthropic", "chat")
}
"""Cannot be told from speech."""


def content(parts: Sequence[Part]) -> Content:
    """What is said, without times, ids and a provider's own blocks; blank parts are none."""
    said: Content = []
    for part in parts:
        match part:
            case Text(text=text) | Reasoning(text=text):
                if text:
                    said.append((part.kind, text))
            case ToolCall(tool=tool, arguments=arguments):
                said.append((tool, dict(arguments)))
            case _:
                said.append((part.kind, None))
    return said


def silent_success(fault: Fault, seen: Seen, plain: Seen) -> bool:
    """Whether a caller takes for a good reply what is none."""
    if seen.final is None or (fault, seen.wire) in SPEECH:
        return False
    assert plain.final is not None
    script = content(plain.final.parts)
    said = content(seen.final.parts)
    complete = seen.final.ending is Ending.COMPLETE and not seen.final.malformed
    if fault in WHOLE:
        return not (complete and said == script)
    if fault in ODD:
        return not _as_scripted(fault, seen, script)
    return True


def _as_scripted(fault: Fault, seen: Seen, script: Content) -> bool:
    final = seen.final
    assert final is not None
    lead, call = script[:-1], script[-1]
    said, bad = content(final.parts), len(final.malformed)
    ids = [part.call_id for part in final.parts if isinstance(part, ToolCall)]
    if len(set(ids)) < len(ids):
        return False
    match fault:
        case F.INTERLEAVED | F.DUPLICATE_CALL_IDS:
            return (final.ending, said, bad) == (Ending.COMPLETE, [*lead, call, call], 0)
        case F.EMPTY_REPLY:
            return (final.ending, said, bad) == (Ending.COMPLETE, [], 0)
        case F.BROKEN_ARGUMENTS | F.NON_OBJECT_ARGUMENTS:
            return (final.ending, said, bad) == (Ending.COMPLETE, [*lead, (call[0], {})], 1)
        case F.UNKNOWN_TOOL:
            unknown = ("no_such_tool", {"why": "it was not offered"})
            return (final.ending, said, bad) == (Ending.COMPLETE, [*lead, unknown], 0)
        case F.LENGTH_IN_ARGUMENTS:
            return (final.ending, said, bad) == (Ending.LENGTH, lead, 0)
        case F.UNKNOWN_FINISH:
            ending = Ending.LENGTH if seen.wire == "responses" else Ending.COMPLETE
            return (final.ending, said, bad) == (ending, script, 0)
        case F.PAUSED:
            pauses = seen.wire in ("anthropic", "gemini")
            ending = Ending.PAUSED if pauses else Ending.COMPLETE
            return (final.ending, said, bad) == (ending, lead, 0)
        case _:
            raise AssertionError(fault)


def silent_successes(account: Account) -> list[str]:
    return [
        f"{fault} on {wire}"
        for (fault, wire), seen in account.seen.items()
        if silent_success(fault, seen, account.plain[wire])
    ]


# The page, and the same for `holdfast lab prove`.

PAGE: Final = "docs/reference/provider-faults.md"
ROWS: Final = "packages/holdfast-lab/src/holdfast_lab/chaos/faults/models/documented.json"
DATE_S: Final = 7.0
"""How far ahead the date lies that a hint may name."""
_TITLES: Final = {
    Place.ANSWER: "Another HTTP answer instead of a stream",
    Place.TRANSPORT: "Right bytes that stop, hang or are cut",
    Place.EVENTS: "Wrong events",
    Place.REPLY: "A right stream that says something awkward",
}
_HEAD: Final = ("fault", "wire", "the caller sees", "retryable", "hint", "parts kept", "request id")


def render(account: Account) -> str:
    errors = sum(seen.error is not None for seen in account.seen.values())
    faults = list(dict.fromkeys(fault for fault, _ in account.seen))
    lines = [
        "# Faults of providers, and what a caller sees",
        "",
        "Generated by `python scripts/generate_provider_faults.py` from a run of every fault of",
        "the simulator, a process of its own, through the real client. Do not edit.",
        "",
        f"{len(faults)} faults on {len(WIRE_NAMES)} wires: {errors} end as an error and "
        f"{len(account.seen) - errors} as a reply, of which",
        f"{len(silent_successes(account))} are silent successes. "
        f"{len(account.late())} outlive the deadlines; "
        f"{account.tasks_left} tasks and {account.sockets_left} sockets are left.",
        "",
        "Without a fault the reply is: " + kept(_plain(account)) + ". Numbers are characters.",
        "A *whole* reply equals it; an *odd* one is exactly what the fault lets the model say.",
        "*Kept* is what `partial()` gives, or the reply. A hint is the provider's word when to try",
        "again. GOAWAY belongs to HTTP/2, which this client does not speak: its kin here are",
        "`closed-mid` and `reset-mid`.",
        "",
        "The *request id* in the log line `turn: attempt failed` is the provider's name for the",
        "request: from a *header* of the answer, or, where the vendor sends no such header, the id",
        "in the *reply* so far. *None*: there was no answer, another machine in between gave it,",
        "or the vendor (Gemini) names no request that it refuses.",
    ]
    for place in Place:
        rows = [row for fault in Fault for row in _rows(fault, account) if _at(fault, place)]
        lines += ["", f"## {_TITLES[place]}", "", *_table(rows)]
    return "\n".join([*lines, *_reasons()]) + "\n"


def render_rows(account: Account) -> str:
    """What a turn under each fault is held against."""
    rows = [_documented(fault, wire, account) for fault in Fault for wire in WIRE_NAMES]
    return "[\n" + ",\n".join(orjson.dumps(row).decode() for row in rows) + "\n]\n"


def _documented(fault: Fault, wire: str, account: Account) -> dict[str, Any]:
    error = account.seen[fault, wire].error
    hint_s = 0.0 if error is None else error.retry_after_s or 0.0
    return {
        "fault": fault,
        "wire": wire,
        "kind": None if error is None else error.kind,
        "status_code": None if error is None else error.status,
        "retryable": error is not None and error.retryable,
        "hint_s": DATE_S if fault is F.RATE_LIMIT_DATE else hint_s,
        "kept": _cells(fault, account, wire)[3],
    }


def _plain(account: Account) -> Sequence[Part]:
    final = account.plain["chat"].final
    assert final is not None
    return final.parts


def _at(fault: Fault, place: Place) -> bool:
    return ABOUT[fault].place is place


def _rows(fault: Fault, account: Account) -> Iterator[tuple[str, ...]]:
    """One row, or one per group of neighbouring wires that see different things."""
    cells = [(_cells(fault, account, wire), wire) for wire in WIRE_NAMES]
    ordered = sorted(cells, key=lambda cell: [other for other, _ in cells].index(cell[0]))
    for row, group in groupby(ordered, key=lambda cell: cell[0]):
        wires = [wire for _, wire in group]
        yield (f"`{fault}`", "all" if len(wires) == len(WIRE_NAMES) else ", ".join(wires), *row)


def _cells(fault: Fault, account: Account, wire: str) -> tuple[str, ...]:
    seen = account.seen[fault, wire]
    if seen.error is not None:
        status = f" ({seen.error.status})" if seen.error.status else ""
        otherwise = f"without `{seen.error.rejected}`" if seen.error.rejected else "no"
        again = "yes" if seen.error.retryable else otherwise
        # What a race leaves varies; at most it is what came before the same place elsewhere.
        held = account.seen[F.EOF_MID, wire] if fault in RACING else seen
        most = "at most " if fault in RACING else ""
        left = most + kept(held.partial)
        return f"`{seen.error.kind}`{status}", again, _hint(fault, seen), left, _named(seen)
    assert seen.final is not None, f"{fault} on {wire} hung"
    bad = f", {len(seen.final.malformed)} malformed" if seen.final.malformed else ""
    return _reply(fault, wire), "", "", kept(seen.final.parts) + bad, ""


def _named(seen: Seen) -> str:
    """Where the request id in the log line of the failed attempt comes from."""
    if seen.logged_id is None:
        return "none"
    return "header" if seen.logged_id.startswith("req_") else "reply"


def _reply(fault: Fault, wire: str) -> str:
    if (fault, wire) in SPEECH:
        return "a reply [2]"
    return "the whole reply" if fault in WHOLE else "an odd reply [1]"


def _hint(fault: Fault, seen: Seen) -> str:
    assert seen.error is not None
    after_s = seen.error.retry_after_s
    if after_s is None:
        return ""
    if fault is F.RATE_LIMIT_DATE:
        return "until the date"
    return f"{after_s:g} s"


def _reasons() -> list[str]:
    odd = [f"- `{fault}`: {why}" for fault, why in ODD.items()]
    speech = [f"- `{fault}` on {wire}: {why}" for (fault, wire), why in SPEECH.items()]
    whole = [f"- `{fault}`: {why}" for fault, why in WHOLE.items()]
    return [
        *("", "## Harmless: the reply is whole", "", *whole),
        *("", "## [1] Odd: what the model really said", "", *odd),
        *("", "## [2] Cannot be told from speech", "", *speech),
    ]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [f"| {' | '.join(row)} |" for row in (_HEAD, ["---"] * len(_HEAD), *escaped)]
