"""What the providers can say, literal by literal, and what this server does with each.

The official SDKs list the types of stream events, content blocks, deltas and output items, and the
reasons for which a reply ends. A test compares their lists with these tables: an SDK that learns a
literal makes the test fail, and the literal is then handled or ignored on purpose.

- `HANDLED`: a codec reads it.
- `KEPT`: a codec stores it verbatim, shows nothing of it, and sends it back in the next prompt.
- a sentence: it is ignored, and the sentence says why that loses nothing.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final, TypeAlias

HANDLED: Final = "handled"
KEPT: Final = "kept"

Literals: TypeAlias = Mapping[str, str]
"""A literal of a wire: `HANDLED`, `KEPT`, or the reason for ignoring it."""

_WHOLE: Final = "`response.output_item.done` repeats all of it"
_PROGRESS: Final = "progress of a provider-run tool: its item says how it ended"
_STATUS: Final = "a status on the way; the end is declared by another event"
_NOT_ASKED: Final = "only comes if the request asks for it, and none does"


def _all(fate: str, *literals: str) -> Literals:
    return dict.fromkeys(literals, fate)


ANTHROPIC: Final[Mapping[str, Literals]] = {
    "events": {
        **_all(
            HANDLED,
            "message_start",
            "message_delta",
            "message_stop",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "error",
        ),
        "ping": "a sign of life, which the read of the socket has already counted",
    },
    "deltas": {
        **_all(
            HANDLED,
            "text_delta",
            "input_json_delta",
            "citations_delta",
            "thinking_delta",
            "signature_delta",
        ),
        "compaction_delta": _NOT_ASKED,
    },
    "blocks": {
        **_all(
            HANDLED,
            "text",
            "thinking",
            "tool_use",
            "server_tool_use",
            "mcp_tool_use",
            "web_search_tool_result",
            "web_fetch_tool_result",
            "advisor_tool_result",
            "code_execution_tool_result",
            "bash_code_execution_tool_result",
            "text_editor_code_execution_tool_result",
            "tool_search_tool_result",
            "mcp_tool_result",
        ),
        **_all(
            KEPT,
            "redacted_thinking",
            "container_upload",
            "compaction",
            "fallback",
            "mcp_tool_listing",
        ),
    },
    "stop_reasons": {
        **_all(
            HANDLED,
            "end_turn",
            "max_tokens",
            "stop_sequence",
            "tool_use",
            "pause_turn",
            "refusal",
            "model_context_window_exceeded",
        ),
        "compaction": _NOT_ASKED,
    },
}

RESPONSES: Final[Mapping[str, Literals]] = {
    "events": {
        **_all(
            HANDLED,
            "response.created",
            "response.output_item.added",
            "response.output_item.done",
            "response.output_text.delta",
            "response.output_text.annotation.added",
            "response.refusal.delta",
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_text.delta",
            "response.reasoning_text.delta",
            "response.function_call_arguments.delta",
            "response.custom_tool_call_input.delta",
            "response.completed",
            "response.incomplete",
            "response.failed",
            "error",
        ),
        **_all(_STATUS, "response.queued", "response.in_progress"),
        **_all(
            _WHOLE,
            "response.content_part.added",
            "response.content_part.done",
            "response.output_text.done",
            "response.refusal.done",
            "response.reasoning_summary_part.done",
            "response.reasoning_summary_text.done",
            "response.reasoning_text.done",
            "response.function_call_arguments.done",
            "response.custom_tool_call_input.done",
            "response.mcp_call_arguments.delta",
            "response.mcp_call_arguments.done",
            "response.code_interpreter_call_code.delta",
            "response.code_interpreter_call_code.done",
            "response.shell_call_command.added",
            "response.shell_call_command.delta",
            "response.shell_call_command.done",
            "response.shell_call_output_content.delta",
            "response.shell_call_output_content.done",
            "response.image_generation_call.partial_image",
        ),
        **_all(
            _PROGRESS,
            "response.code_interpreter_call.completed",
            "response.code_interpreter_call.in_progress",
            "response.code_interpreter_call.interpreting",
            "response.file_search_call.completed",
            "response.file_search_call.in_progress",
            "response.file_search_call.searching",
            "response.web_search_call.completed",
            "response.web_search_call.in_progress",
            "response.web_search_call.searching",
            "response.image_generation_call.completed",
            "response.image_generation_call.generating",
            "response.image_generation_call.in_progress",
            "response.mcp_call.completed",
            "response.mcp_call.failed",
            "response.mcp_call.in_progress",
            "response.mcp_list_tools.completed",
            "response.mcp_list_tools.failed",
            "response.mcp_list_tools.in_progress",
        ),
        **_all(
            _NOT_ASKED,
            "response.audio.delta",
            "response.audio.done",
            "response.audio.transcript.delta",
            "response.audio.transcript.done",
            "response.compaction.compacting",
        ),
    },
    "items": {
        **_all(
            HANDLED,
            "message",
            "reasoning",
            "function_call",
            "file_search_call",
            "web_search_call",
            "computer_call",
            "tool_search_call",
            "image_generation_call",
            "code_interpreter_call",
            "local_shell_call",
            "shell_call",
            "apply_patch_call",
            "mcp_call",
            "custom_tool_call",
        ),
        **_all(
            KEPT,
            "function_call_output",
            "computer_call_output",
            "program",
            "program_output",
            "tool_search_output",
            "additional_tools",
            "compaction",
            "local_shell_call_output",
            "shell_call_output",
            "apply_patch_call_output",
            "mcp_list_tools",
            "mcp_approval_request",
            "mcp_approval_response",
            "custom_tool_call_output",
        ),
    },
    "contents": _all(HANDLED, "output_text", "refusal", "reasoning_text", "summary_text"),
    "annotations": {
        "url_citation": HANDLED,
        "file_citation": KEPT,
        "container_file_citation": KEPT,
        "file_path": KEPT,
    },
    "statuses": {
        **_all(HANDLED, "completed", "incomplete", "failed"),
        **_all(_STATUS, "queued", "in_progress"),
        "cancelled": "no request of ours is cancelled at the provider; a reply with it is no end",
    },
    "incomplete_reasons": _all(
        HANDLED, "max_output_tokens", "max_messages", "content_filter", "steered"
    ),
}

CHAT: Final[Mapping[str, Literals]] = {
    "deltas": {
        **_all(HANDLED, "content", "refusal", "tool_calls"),
        "role": "every delta of a reply is the assistant's",
        "audio": _NOT_ASKED,
        "function_call": "the form before `tool_calls`; only comes to requests in that form",
    },
    "finish_reasons": _all(
        HANDLED, "stop", "length", "tool_calls", "content_filter", "function_call"
    ),
}

GEMINI: Final[Mapping[str, Literals]] = {
    "parts": {
        **_all(
            HANDLED,
            "text",
            "thought",
            "thoughtSignature",
            "functionCall",
            "executableCode",
            "codeExecutionResult",
            "toolCall",
            "toolResponse",
        ),
        **_all(
            KEPT,
            "inlineData",
            "fileData",
            "functionResponse",
            "audioTranscription",
            "mediaProcessing",
            "mediaResolution",
            "partMetadata",
            "speechMetadata",
            "videoMetadata",
        ),
    },
    "candidates": {
        **_all(
            HANDLED,
            "content",
            "finishReason",
            "continuationToken",
            "citationMetadata",
            "groundingMetadata",
            "urlContextMetadata",
        ),
        "finishMessage": "words about the finish reason, for developers",
        "tokenCount": "`usageMetadata` counts the same and more",
        "index": "one candidate is asked for",
        "safetyRatings": "the finish reason says when a rating ended the reply",
        **_all(_NOT_ASKED, "avgLogprobs", "logprobsResult"),
    },
    "outcomes": {
        **_all(HANDLED, "OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"),
        "OUTCOME_UNSPECIFIED": "the value of a field that is not set; counts as failed",
    },
}


class FinishMeaning(Enum):
    """What a finish or block reason of Gemini means for the reply."""

    COMPLETE = auto()
    CUT = auto()
    PAUSED = auto()  # the next request goes on with the token that came with it
    FILTERED = auto()
    BROKEN = auto()  # the model stumbled: another attempt may succeed
    UNSET = auto()  # the enum's zero value: says nothing


GEMINI_FINISHES: Final[Mapping[str, FinishMeaning]] = {
    "STOP": FinishMeaning.COMPLETE,
    "MAX_TOKENS": FinishMeaning.CUT,
    "CONTINUATION": FinishMeaning.PAUSED,
    "SAFETY": FinishMeaning.FILTERED,
    "RECITATION": FinishMeaning.FILTERED,
    "LANGUAGE": FinishMeaning.FILTERED,
    "BLOCKLIST": FinishMeaning.FILTERED,
    "PROHIBITED_CONTENT": FinishMeaning.FILTERED,
    "SPII": FinishMeaning.FILTERED,
    "IMAGE_SAFETY": FinishMeaning.FILTERED,
    "IMAGE_PROHIBITED_CONTENT": FinishMeaning.FILTERED,
    "IMAGE_RECITATION": FinishMeaning.FILTERED,
    "MALFORMED_FUNCTION_CALL": FinishMeaning.BROKEN,
    "MALFORMED_RESPONSE": FinishMeaning.BROKEN,
    "UNEXPECTED_TOOL_CALL": FinishMeaning.BROKEN,
    "TOO_MANY_TOOL_CALLS": FinishMeaning.BROKEN,
    "NO_IMAGE": FinishMeaning.BROKEN,
    "IMAGE_OTHER": FinishMeaning.BROKEN,
    "OTHER": FinishMeaning.BROKEN,
    "FINISH_REASON_UNSPECIFIED": FinishMeaning.UNSET,
}
GEMINI_BLOCKS: Final[Mapping[str, FinishMeaning]] = {
    "SAFETY": FinishMeaning.FILTERED,
    "OTHER": FinishMeaning.FILTERED,
    "BLOCKLIST": FinishMeaning.FILTERED,
    "PROHIBITED_CONTENT": FinishMeaning.FILTERED,
    "IMAGE_SAFETY": FinishMeaning.FILTERED,
    "MODEL_ARMOR": FinishMeaning.FILTERED,
    "JAILBREAK": FinishMeaning.FILTERED,
    "BLOCKED_REASON_UNSPECIFIED": FinishMeaning.UNSET,
}
"""Why a prompt was blocked; a reason that this table lacks blocks it as well."""
