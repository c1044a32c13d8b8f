"""What vendors of the Chat Completions wire refuse beside OpenAI's rules, in their words."""

import hashlib
import re
from collections.abc import Iterator
from typing import Final

from holdfast_simulator.jsons import JsonObject, arr, dumps, obj, objs, txt
from holdfast_simulator.seal import Purpose, holds
from holdfast_simulator.wires.base import Call, Rejection, Rule
from holdfast_simulator.wires.names import names
from holdfast_simulator.wires.openai_common import bad, body_of, offered

BOUND_CALL: Final = re.compile(r"call_([a-z]+)_([0-9a-f]{16})_\d+_\w+")
SIGNED_CALL: Final = "tool_signed_"
SHORT_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
CACHE_MARKS_MAX: Final = 4
MISTRAL_PARAMETERS: Final = names(
    """
    frequency_penalty guardrails max_tokens messages metadata model n parallel_tool_calls
    prediction presence_penalty prompt_cache_key prompt_mode random_seed reasoning_effort
    response_format safe_prompt stop stream temperature tool_choice tools top_p
    """
)
MISTRAL_MESSAGE: Final = names("role content tool_calls prefix name tool_call_id")
GROQ_MESSAGE: Final = names("role content tool_calls name tool_call_id refusal")


def bound_id(vendor: str, thoughts: str, index: int, word: str) -> str:
    """A call id of this vendor that stands for the reasoning before the call."""
    return f"call_{vendor}_{_digest(thoughts)}_{index}_{word}"


def _digest(thoughts: str) -> str:
    return hashlib.blake2b(
        thoughts.strip().encode(errors="surrogatepass"), digest_size=8
    ).hexdigest()


def _messages(call: Call) -> list[JsonObject]:
    return list(objs(body_of(call).get("messages")))


def _calling(call: Call) -> Iterator[tuple[int, JsonObject]]:
    """The messages of the assistant that call tools."""
    for i, message in enumerate(_messages(call)):
        if message.get("tool_calls"):
            yield i, message


def _thinks(call: Call) -> bool:
    return obj(body_of(call).get("thinking")).get("type") != "disabled"


def _keeps_reasoning(message: JsonObject, vendor: str) -> bool:
    """Whether calls of this vendor have the reasoning that they came after."""
    digest = _digest(txt(message.get("reasoning_content")))
    ids = (txt(made.get("id")) for made in objs(message.get("tool_calls")))
    found = (BOUND_CALL.match(one) for one in ids)
    return all(one[2] == digest for one in found if one is not None and one[1] == vendor)


def _deepseek_reasoning(call: Call) -> Rejection | None:
    for _, message in _calling(call):
        given = message.get("reasoning_content")
        if _thinks(call) and (given is None or not _keeps_reasoning(message, "deepseek")):
            return bad(
                "The `reasoning_content` in the thinking mode must be passed back to the API."
            )
    return None


def _moonshot_reasoning(call: Call) -> Rejection | None:
    for i, message in _calling(call):
        given = message.get("reasoning_content")
        if _thinks(call) and (not given or not _keeps_reasoning(message, "moonshot")):
            return bad(
                "thinking is enabled but reasoning_content is missing in assistant tool call "
                f"message at index {i}"
            )
    return None


def _text_only(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        for part in objs(message.get("content")):
            if part.get("type") != "text":
                return bad(
                    "Failed to deserialize the JSON body into the target type: "
                    f"messages[{i}]: unknown variant `{part.get('type')}`, expected `text`"
                )
    return None


def _no_files(call: Call) -> Rejection | None:
    for message in _messages(call):
        for part in objs(message.get("content")):
            if part.get("type") == "file":
                return bad("Unknown part type: file")
    return None


def _no_references(call: Call) -> Rejection | None:
    for tool in offered(call):
        if b'"$ref"' in dumps(obj(tool.get("function")).get("parameters")):
            message = "Invalid API parameter, please check the documentation."
            return Rejection(status=400, kind="invalid_request_error", message=message, code="1210")
    return None


def _extra(*place: str | int) -> Rejection:
    detail = {
        "type": "extra_forbidden",
        "loc": ["body", *place],
        "msg": "Extra inputs are not permitted",
    }
    kind = "invalid_request_error"
    return Rejection(status=422, kind=kind, message="Extra inputs", details=[detail])


def _mistral_extra(call: Call) -> Rejection | None:
    for name in body_of(call):
        if name not in MISTRAL_PARAMETERS:
            return _extra(name)
    return None


def _mistral_fields(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        for name in message:
            if name not in MISTRAL_MESSAGE:
                return _extra("messages", i, txt(message.get("role")), name)
    return None


def _mistral_ids(call: Call) -> Rejection | None:
    for message in _messages(call):
        given = [txt(made.get("id")) for made in objs(message.get("tool_calls"))]
        given += [txt(message["tool_call_id"])] if "tool_call_id" in message else []
        for one in given:
            if not SHORT_ID.fullmatch(one):
                text = f"Tool call id was {one} but must be a-z, A-Z, 0-9, with a length of 9."
                return bad(text, None, "3280")
    return None


def _mistral_order(call: Call) -> Rejection | None:
    before = ""
    for message in _messages(call):
        role = txt(message.get("role"))
        if (before, role) == ("tool", "user"):
            return bad("Unexpected role 'user' after role 'tool'", None, "3230")
        before = role
    if before == "assistant":
        text = (
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
            "assistant"
        )
        return bad(text, None, "3230")
    return None


def _groq_fields(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        for name in message:
            if name not in GROQ_MESSAGE:
                return bad(
                    f"'messages.{i}' : for 'role:{message.get('role')}' the following must be "
                    f"satisfied[('messages.{i}' : property '{name}' is unsupported)]"
                )
    return None


def _details(message: JsonObject) -> list[JsonObject]:
    return list(objs(message.get("reasoning_details")))


def _openrouter_signed_calls(call: Call) -> Rejection | None:
    if not txt(body_of(call).get("model")).startswith("google/"):
        return None
    for _, message in _calling(call):
        signed = {txt(one.get("id")): txt(one.get("data")) for one in _details(message)}
        for made in objs(message.get("tool_calls")):
            name = txt(made.get("id"))
            if name.startswith(SIGNED_CALL) and not holds(
                Purpose.THOUGHT, name, signed.get(name, "")
            ):
                return bad(
                    "Gemini models require OpenRouter reasoning details to be preserved in each "
                    "request. Function call is missing a thought_signature in functionCall parts."
                )
    return None


def _openrouter_thinking(call: Call) -> Rejection | None:
    if not txt(body_of(call).get("model")).startswith("anthropic/"):
        return None
    for i, message in enumerate(_messages(call)):
        for entry in _details(message):
            kept = holds(Purpose.THINKING, txt(entry.get("text")), txt(entry.get("signature")))
            foreign = not txt(entry.get("format") or "anthropic").startswith("anthropic")
            if foreign or (entry.get("type") == "reasoning.text" and not kept):
                return bad(f"messages.{i}.content.0: Invalid `signature` in `thinking` block")
    return None


def _cache_marks(call: Call) -> Rejection | None:
    contents = [arr(message.get("content")) for message in _messages(call)]
    blocks = [*offered(call), *(block for content in contents for block in objs(content))]
    found = sum("cache_control" in block for block in blocks)
    if found <= CACHE_MARKS_MAX:
        return None
    return bad(f"A maximum of 4 blocks with cache_control may be provided. Found {found}.")


DEEPSEEK_REASONING: Final = Rule("deepseek-reasoning", _deepseek_reasoning)
MOONSHOT_REASONING: Final = Rule("moonshot-reasoning", _moonshot_reasoning)
TEXT_ONLY: Final = Rule("text-only", _text_only)
NO_FILES: Final = Rule("no-files", _no_files)
NO_REFERENCES: Final = Rule("no-references", _no_references)
MISTRAL_EXTRA: Final = Rule("mistral-extra", _mistral_extra)
MISTRAL_FIELDS: Final = Rule("mistral-fields", _mistral_fields)
MISTRAL_IDS: Final = Rule("mistral-ids", _mistral_ids)
MISTRAL_ORDER: Final = Rule("mistral-order", _mistral_order)
GROQ_FIELDS: Final = Rule("groq-fields", _groq_fields)
OPENROUTER_SIGNED_CALLS: Final = Rule("openrouter-signed-calls", _openrouter_signed_calls)
OPENROUTER_THINKING: Final = Rule("openrouter-thinking", _openrouter_thinking)
CACHE_MARKS: Final = Rule("cache-marks", _cache_marks)
