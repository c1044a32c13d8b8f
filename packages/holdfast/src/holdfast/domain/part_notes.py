"""Parts of messages as plain lines, for a model that is told of a chat and takes no part in it."""

from holdfast.domain.parts import Part, Reasoning, ToolCall, ToolResult


def note_of(part: Part) -> str:
    """Empty for reasoning, which only its own model may read again."""
    match part:
        case Reasoning():
            return ""
        case ToolCall(tool=tool, arguments=arguments):
            return f"calls {tool} {dict(arguments)!r}"
        case ToolResult(tool=tool, output=output, failed=failed):
            return f"result of {tool}{' (failed)' if failed else ''}: {output}"
        case _:
            return str(getattr(part, "text", "") or part.kind)
