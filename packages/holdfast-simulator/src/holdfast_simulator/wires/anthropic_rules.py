"""What Anthropic's Messages API refuses, in its order and its words. One test per row of RULES."""

import re
from collections.abc import Iterator
from typing import Final

from holdfast_simulator.jsons import JsonObject, arr, obj, objs, txt, whole
from holdfast_simulator.seal import Purpose, holds
from holdfast_simulator.wires import anthropic_binding as binding
from holdfast_simulator.wires import anthropic_tools as provider_tools
from holdfast_simulator.wires.base import Call, Check, Rejection, Rule, repeated
from holdfast_simulator.wires.names import ANTHROPIC_BLOCKS, ANTHROPIC_PARAMETERS

VERSIONS: Final = ("2023-01-01", "2023-06-01", "2026-10-21")
VERSION_WITHOUT_SAMPLING: Final = "2026-10-21"
CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}")
BREAKPOINTS_MAX: Final = 4
BUDGET_MIN: Final = 1024


def _bad(message: str) -> Rejection:
    return Rejection(status=400, kind="invalid_request_error", message=message)


def _body(call: Call) -> JsonObject:
    return call.body or {}


def _messages(call: Call) -> list[JsonObject]:
    return list(objs(_body(call).get("messages")))


def _blocks(call: Call) -> Iterator[tuple[str, JsonObject, JsonObject]]:
    """Every block with its place and its message; a plain text has none."""
    for i, message in enumerate(_messages(call)):
        for j, block in enumerate(objs(message.get("content"))):
            yield f"messages.{i}.content.{j}", message, block


def _ids(message: JsonObject, kind: str, field: str) -> list[str]:
    found = objs(message.get("content"))
    return [txt(block.get(field)) for block in found if block.get("type") == kind]


def _api_key(call: Call) -> Rejection | None:
    if call.headers.get("x-api-key") or call.bearer:
        return None
    message = "x-api-key header is required"
    return Rejection(status=401, kind="authentication_error", message=message)


def _version_missing(call: Call) -> Rejection | None:
    if "anthropic-version" in call.headers:
        return None
    return _bad("anthropic-version: header is required")


def _version_unknown(call: Call) -> Rejection | None:
    version = call.headers.get("anthropic-version", "")
    return (
        None
        if version in VERSIONS
        else _bad(f'anthropic-version: "{version}" is not a valid version')
    )


def _not_json(call: Call) -> Rejection | None:
    if call.body is not None:
        return None
    return _bad("The request body is not valid JSON: expected value: line 1 column 1 (char 0)")


def _unknown_parameter(call: Call) -> Rejection | None:
    known = ANTHROPIC_PARAMETERS
    if call.headers.get("anthropic-version") == VERSION_WITHOUT_SAMPLING:
        known = known - {"temperature", "top_p", "top_k"}
    for name in _body(call):
        if name not in known:
            return _bad(f"{name}: Extra inputs are not permitted")
    return None


def _required(name: str) -> Check:
    def check(call: Call) -> Rejection | None:
        return None if name in _body(call) else _bad(f"{name}: Field required")

    return check


def _model_unknown(call: Call) -> Rejection | None:
    model = txt(_body(call).get("model"))
    if not model.startswith("no-such-"):
        return None
    return Rejection(status=404, kind="not_found_error", message=f"model: {model}")


def _max_tokens_range(call: Call) -> Rejection | None:
    number = whole(_body(call).get("max_tokens"))
    if number is None:
        return _bad("max_tokens: Input should be a valid integer")
    if number < 1:
        return _bad("max_tokens: Input should be greater than or equal to 1")
    return None


def _stream_type(call: Call) -> Rejection | None:
    if isinstance(_body(call).get("stream", False), bool):
        return None
    return _bad("stream: Input should be a valid boolean")


def _messages_empty(call: Call) -> Rejection | None:
    return (
        None
        if arr(_body(call).get("messages"))
        else _bad("messages: at least one message is required")
    )


def _role(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        if message.get("role") == "system":
            return _bad(
                'messages: Unexpected role "system". The Messages API accepts a top-level '
                '`system` parameter, not "system" as an input message role.'
            )
        if message.get("role") not in ("user", "assistant"):
            return _bad(f"messages.{i}.role: Input should be 'user' or 'assistant'")
    return None


def _message_keys(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        for name in message:
            if name not in ("role", "content"):
                return _bad(f"messages.{i}.{name}: Extra inputs are not permitted")
    return None


def _first_role(call: Call) -> Rejection | None:
    messages = _messages(call)
    if messages and messages[0].get("role") != "user":
        return _bad('messages: first message must use the "user" role')
    return None


def _alternation(call: Call) -> Rejection | None:
    previous = ""
    for message in _messages(call):
        role = txt(message.get("role"))
        if role == previous:
            return _bad(
                'messages: roles must alternate between "user" and "assistant", but found '
                f'multiple "{role}" roles in a row'
            )
        previous = role
    return None


def _content_empty(call: Call) -> Rejection | None:
    messages = _messages(call)
    for i, message in enumerate(messages):
        last = i == len(messages) - 1 and message.get("role") == "assistant"
        if not message.get("content") and not last:
            return _bad(
                f"messages.{i}: all messages must have non-empty content except for the optional "
                "final assistant message"
            )
    return None


def _block_type(call: Call) -> Rejection | None:
    for place, _, block in _blocks(call):
        if block.get("type") not in ANTHROPIC_BLOCKS:
            expected = ", ".join(f"'{kind}'" for kind in sorted(ANTHROPIC_BLOCKS))
            return _bad(
                f"{place}: Input tag '{block.get('type')}' found using 'type' does not match any "
                f"of the expected tags: {expected}"
            )
    return None


def _text_empty(call: Call) -> Rejection | None:
    if any(block.get("type") == "text" and not block.get("text") for _, _, block in _blocks(call)):
        return _bad("messages: text content blocks must be non-empty")
    return None


def _text_blank(call: Call) -> Rejection | None:
    for _, _, block in _blocks(call):
        if block.get("type") == "text" and not txt(block.get("text")).strip():
            return _bad("messages: text content blocks must contain non-whitespace text")
    return None


def _trailing_space(call: Call) -> Rejection | None:
    messages = _messages(call)
    if not messages or messages[-1].get("role") != "assistant":
        return None
    content = messages[-1].get("content")
    blocks = arr(content)
    text = (
        txt(content)
        if isinstance(content, str)
        else txt(obj(blocks[-1]).get("text"))
        if blocks
        else ""
    )
    if text != text.rstrip():
        return _bad("messages: final assistant content cannot end with trailing whitespace")
    return None


def _call_id_pattern(call: Call) -> Rejection | None:
    for place, _, block in _blocks(call):
        if block.get("type") == "tool_use" and not CALL_ID.fullmatch(txt(block.get("id"))):
            return _bad(f"{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    return None


def _input_object(call: Call) -> Rejection | None:
    for place, _, block in _blocks(call):
        if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
            return _bad(f"{place}.tool_use.input: Input should be a valid dictionary")
    return None


def _call_ids_unique(call: Call) -> Rejection | None:
    found = repeated(name for m in _messages(call) for name in _ids(m, "tool_use", "id"))
    return None if found is None else _bad("messages: `tool_use` ids must be unique")


def _results_follow(call: Call) -> Rejection | None:
    messages = _messages(call)
    for i, message in enumerate(messages):
        following = messages[i + 1] if i + 1 < len(messages) else {}
        given = set(_ids(following, "tool_result", "tool_use_id"))
        missing = [name for name in _ids(message, "tool_use", "id") if name not in given]
        if missing:
            return _bad(
                f"messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately "
                f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding "
                "`tool_result` block in the next message."
            )
    return None


def _result_orphan(call: Call) -> Rejection | None:
    messages = _messages(call)
    for i, message in enumerate(messages):
        asked = set(_ids(messages[i - 1], "tool_use", "id")) if i else set[str]()
        for j, block in enumerate(objs(message.get("content"))):
            name = txt(block.get("tool_use_id"))
            if block.get("type") == "tool_result" and name not in asked:
                return _bad(
                    f"messages.{i}.content.{j}: unexpected `tool_use_id` found in `tool_result` "
                    f"blocks: {name}. Each `tool_result` block must have a corresponding "
                    "`tool_use` block in the previous message."
                )
    return None


def _result_twice(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        found = repeated(iter(_ids(message, "tool_result", "tool_use_id")))
        if found is not None:
            return _bad(
                f"messages.{i}.content: each tool_use must have a single result. Found multiple "
                f"`tool_result` blocks with id: {found}"
            )
    return None


def _server_result_orphan(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        called: set[str] = set()
        for j, block in enumerate(objs(message.get("content"))):
            if block.get("type") == "server_tool_use":
                called.add(txt(block.get("id")))
            name = txt(block.get("tool_use_id"))
            if block.get("type") == "web_search_tool_result" and name not in called:
                return _bad(
                    f"messages.{i}.content.{j}: unexpected `tool_use_id` found in "
                    f"`web_search_tool_result` blocks: {name}. Each `web_search_tool_result` block "
                    "must have a corresponding `server_tool_use` block before it."
                )
    return None


def _signature(call: Call) -> Rejection | None:
    for place, _, block in _blocks(call):
        if block.get("type") != "thinking":
            continue
        words, sealed = txt(block.get("thinking")), txt(block.get("signature"))
        if not holds(Purpose.THINKING, words, sealed) and binding.bound_seal(block) is None:
            return _bad(f"{place}: Invalid `signature` in `thinking` block")
    return None


def _redacted(call: Call) -> Rejection | None:
    for place, _, block in _blocks(call):
        if block.get("type") != "redacted_thinking" or binding.bound_seal(block) is not None:
            continue
        if not holds(Purpose.REDACTED, "", txt(block.get("data"))):
            return _bad(f"{place}: Invalid `data` in `redacted_thinking` block")
    return None


def _thinking_last(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        blocks = list(objs(message.get("content")))
        if message.get("role") == "assistant" and blocks and blocks[-1].get("type") == "thinking":
            return _bad(
                f"messages.{i}: The final block in an assistant message cannot be `thinking`."
            )
    return None


def _controls(call: Call) -> list[JsonObject]:
    body = _body(call)
    blocks = [*objs(body.get("tools")), *objs(body.get("system"))]
    blocks += [block for _, _, block in _blocks(call)]
    return [obj(b["cache_control"]) for b in blocks if isinstance(b.get("cache_control"), dict)]


def _breakpoints_max(call: Call) -> Rejection | None:
    number = len(_controls(call))
    if number <= BREAKPOINTS_MAX:
        return None
    return _bad(f"A maximum of 4 blocks with cache_control may be provided. Found {number}.")


def _breakpoints_order(call: Call) -> Rejection | None:
    shorter = False
    for control in _controls(call):
        if control.get("ttl") == "1h" and shorter:
            return _bad(
                "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: "
                "`tools`, `system`, `messages`."
            )
        shorter = shorter or control.get("ttl") != "1h"
    return None


def _breakpoint_thinking(call: Call) -> Rejection | None:
    for place, _, block in _blocks(call):
        if block.get("type") == "thinking" and "cache_control" in block:
            return _bad(f"{place}.thinking.cache_control: Extra inputs are not permitted")
    return None


def _tool_names(call: Call) -> Rejection | None:
    tools = list(objs(_body(call).get("tools")))
    for i, tool in enumerate(tools):
        if not TOOL_NAME.fullmatch(txt(tool.get("name"))):
            return _bad(
                f"tools.{i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            )
    return None


def _tools_unique(call: Call) -> Rejection | None:
    found = repeated(txt(tool.get("name")) for tool in objs(_body(call).get("tools")))
    return None if found is None else _bad("tools: Tool names must be unique.")


def _tool_schema(call: Call) -> Rejection | None:
    for i, tool in enumerate(objs(_body(call).get("tools"))):
        custom = tool.get("type", "custom") == "custom"
        if custom and not isinstance(tool.get("input_schema"), dict):
            return _bad(f"tools.{i}.custom.input_schema: Field required")
        if custom and obj(tool["input_schema"]).get("type") != "object":
            return _bad(f"tools.{i}.custom.input_schema.type: Input should be 'object'")
    return None


def _choice_without_tools(call: Call) -> Rejection | None:
    body = _body(call)
    if "tool_choice" in body and not arr(body.get("tools")):
        return _bad("tool_choice: tool_choice may only be specified while providing tools.")
    return None


def _choice_unknown(call: Call) -> Rejection | None:
    choice = obj(_body(call).get("tool_choice"))
    names = {txt(tool.get("name")) for tool in objs(_body(call).get("tools"))}
    if choice.get("type") == "tool" and txt(choice.get("name")) not in names:
        return _bad(f"tool_choice: Tool '{txt(choice.get('name'))}' not found in provided tools")
    return None


def _thinking(call: Call) -> JsonObject:
    return obj(_body(call).get("thinking"))


def _budget_min(call: Call) -> Rejection | None:
    budget = whole(_thinking(call).get("budget_tokens"))
    if _thinking(call).get("type") != "enabled":
        return None
    if budget is None or budget < BUDGET_MIN:
        return _bad("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    return None


def _budget_max(call: Call) -> Rejection | None:
    budget = whole(_thinking(call).get("budget_tokens")) or 0
    if _thinking(call).get("type") == "enabled" and budget >= (
        whole(_body(call).get("max_tokens")) or 0
    ):
        return _bad("`max_tokens` must be greater than `thinking.budget_tokens`.")
    return None


def _thinking_forced(call: Call) -> Rejection | None:
    forced = obj(_body(call).get("tool_choice")).get("type") in ("any", "tool")
    if forced and _thinking(call).get("type") in ("enabled", "adaptive"):
        return _bad("Thinking may not be enabled when tool_choice forces tool use.")
    return None


def _thinking_temperature(call: Call) -> Rejection | None:
    on = _thinking(call).get("type") in ("enabled", "adaptive")
    if on and _body(call).get("temperature", 1) != 1:
        return _bad("`temperature` may only be set to 1 when thinking is enabled.")
    return None


def _temperature_range(call: Call) -> Rejection | None:
    number = _body(call).get("temperature", 1)
    if isinstance(number, int | float) and not 0 <= number <= 1:
        return _bad("temperature: range: 0..1")
    return None


RULES: Final = (
    Rule("api-key-missing", _api_key),
    Rule("version-missing", _version_missing),
    Rule("version-unknown", _version_unknown),
    Rule("not-json", _not_json),
    Rule("model-missing", _required("model")),
    Rule("messages-missing", _required("messages")),
    Rule("max-tokens-missing", _required("max_tokens")),
    Rule("unknown-parameter", _unknown_parameter),
    Rule("model-unknown", _model_unknown),
    Rule("max-tokens-range", _max_tokens_range),
    Rule("stream-type", _stream_type),
    Rule("temperature-range", _temperature_range),
    Rule("messages-empty", _messages_empty),
    Rule("role-unknown", _role),
    Rule("message-unknown-key", _message_keys),
    Rule("first-role", _first_role),
    Rule("alternation", _alternation),
    Rule("content-empty", _content_empty),
    Rule("block-type-unknown", _block_type),
    Rule("text-empty", _text_empty),
    Rule("text-blank", _text_blank),
    Rule("trailing-whitespace", _trailing_space),
    Rule("call-id-pattern", _call_id_pattern),
    Rule("call-input-not-object", _input_object),
    Rule("call-ids-repeated", _call_ids_unique),
    Rule("result-repeated", _result_twice),
    Rule("call-unpaired", _results_follow),
    Rule("result-orphan", _result_orphan),
    Rule("server-result-orphan", _server_result_orphan),
    Rule("thinking-signature", _signature),
    Rule("redacted-data", _redacted),
    Rule("binding-beta", binding.beta_missing),
    Rule("binding-behaviour", binding.behaviour_unknown),
    Rule("thinking-bound", binding.mismatch),
    Rule("thinking-last", _thinking_last),
    Rule("breakpoint-on-thinking", _breakpoint_thinking),
    Rule("breakpoints-too-many", _breakpoints_max),
    Rule("breakpoints-order", _breakpoints_order),
    Rule("tool-name-pattern", _tool_names),
    Rule("tool-names-repeated", _tools_unique),
    Rule("tool-schema", _tool_schema),
    Rule("provider-tool-unsupported", provider_tools.unsupported),
    Rule("container-wrong", provider_tools.container_wrong),
    Rule("container-missing", provider_tools.container_missing),
    Rule("tool-choice-without-tools", _choice_without_tools),
    Rule("tool-choice-unknown", _choice_unknown),
    Rule("thinking-budget-min", _budget_min),
    Rule("thinking-budget-max", _budget_max),
    Rule("thinking-forced-tool", _thinking_forced),
    Rule("thinking-temperature", _thinking_temperature),
)
