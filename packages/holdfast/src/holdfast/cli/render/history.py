"""A chat's history as text: Markdown to keep, and pieces to show."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from holdfast.cli.render.advice import advice_brief, advice_of
from holdfast.cli.render.plan import plan_lines
from holdfast.cli.render.proposal import PROPOSED, proposal_of
from holdfast.cli.render.takeover import takeover_line
from holdfast.cli.render.text import compact

Data: TypeAlias = dict[str, Any]
_SPEAKERS = {"user": "You", "assistant": "Agent", "tool": "Tools", "summary": "Summary"}


def markdown(chat: Data, messages: Sequence[Data]) -> str:
    """A chat as a document. Text is as it was said; what tools did stands in lists."""
    head = [f"# {_one_line(chat.get('title') or 'Chat')}", "", f"`{chat['id']}`", ""]
    return "\n".join([*head, *(line for each in messages for line in _message(each))])


def _message(message: Data) -> Iterator[str]:
    speaker = _SPEAKERS.get(message["role"], message["role"])
    said = f" · {message['model']}" if message.get("model") else ""
    reason = message["finish_reason"]
    how = "" if reason == "stop" else f" · {reason.replace('_', ' ')}"
    yield f"## {speaker}{said}{how}"
    yield ""
    takeover = message.get("takeover")
    if takeover is not None and not takeover["kept"]:
        yield from (_quiet(takeover), "")
    for part in message["parts"]:
        yield from _part(part)
        yield ""
    if takeover is not None and takeover["kept"]:
        yield from (_quiet(takeover), "")


def _quiet(takeover: Data) -> str:
    return f"*{_one_line(takeover_line(takeover))}*"


def _part(part: Data) -> Iterator[str]:
    match part["type"]:
        case "text":
            yield part["text"]
        case "reasoning":
            yield from (f"> {line}".rstrip() for line in part["text"].splitlines())
        case "tool_call" if plan := list(plan_lines(part["tool_name"], part["arguments"])):
            yield "- called `update_plan`"
            yield from (f"  - {_one_line(line)}" for line in plan)
        case "tool_call":
            yield f"- called `{part['tool_name']}` {_code(compact(part['arguments']))}"
        case "tool_result" if advice := advice_of(part["tool_name"], part["output"]):
            yield f"- `{part['tool_name']}` gave {advice_brief(part['tool_name'], part['output'])}:"
            yield ""
            yield from _quoted(advice)
        case "tool_result" if plan := proposal_of(
            part["tool_name"], part["output"], failed=part["is_error"]
        ):
            yield f"- `{part['tool_name']}` gave {PROPOSED}:"
            yield ""
            yield from _quoted(plan)
        case "tool_result":
            how = "failed with" if part["is_error"] else "gave"
            yield from _result(f"- `{part['tool_name']}` {how}", compact(part["output"]).strip())
        case "source":
            yield f"- <{part['url']}> {_one_line(part['title'])}"
        case "file_reference":
            yield f"- file `{part['path']}`"
        case kind:
            yield f"- {kind} {_one_line(str(part.get('name', '')))}".rstrip()


def _quoted(prose: str) -> Iterator[str]:
    return (f"  > {line}".rstrip() for line in prose.splitlines())


def _result(said: str, text: str) -> Iterator[str]:
    """Keep the line breaks of a tool's output: a diff on one line is unreadable."""
    lines = text.splitlines()
    if len(lines) < 2:
        yield f"{said} {_code(text)}"
        return
    fence = "`" * max(3, _longest_run(text) + 1)
    yield f"{said}:"
    yield ""
    yield from (f"  {line}".rstrip() for line in (fence, *lines, fence))


def _code(text: str) -> str:
    """As inline code, whatever is in it: the fence is longer than any run of backticks inside."""
    fence = "`" * (_longest_run(text) + 1)
    gap = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{gap}{_one_line(text)}{gap}{fence}"


def _longest_run(text: str) -> int:
    """Of backticks."""
    runs = "".join(c if c == "`" else " " for c in text).split()
    return max(map(len, runs), default=0)


def _one_line(text: str) -> str:
    return " ".join(text.split())
