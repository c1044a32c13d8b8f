"""What OpenAI's Responses API refuses, in its words. One test per row of RULES."""

from typing import Final

from holdfast_simulator.jsons import JsonObject, arr, obj, objs, txt, whole
from holdfast_simulator.seal import Purpose, holds
from holdfast_simulator.wires.base import Call, Rejection, Rule, repeated
from holdfast_simulator.wires.names import RESPONSES_PARAMETERS
from holdfast_simulator.wires.openai_common import (
    api_key,
    bad,
    body_of,
    name_pattern,
    not_json,
    offered,
    reasons,
    required,
    stream_options,
    stream_type,
    strict_schema,
    temperature_range,
)
from holdfast_simulator.wires.pairing import mark_of, needed_mark

ITEMS: Final = (
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "custom_tool_call",
    "custom_tool_call_output",
    "item_reference",
    "compaction",
)
FOLLOWS_REASONING: Final = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "custom_tool_call",
    }
)
TOOL_TYPES: Final = (
    "function",
    "custom",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "file_search",
    "code_interpreter",
    "image_generation",
    "mcp",
)
CALLS: Final = {"function_call": "function call", "custom_tool_call": "custom tool call"}
"""What a client answers with an item of the same type and `_output`, and its name in errors."""
FORMATS: Final = ("text", "grammar")
SYNTAXES: Final = ("lark", "regex")
ROLES: Final = ("assistant", "system", "developer", "user")
INCLUDES: Final = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)
CALL_ID_CHARS_MAX: Final = 64
OUTPUT_TOKENS_MIN: Final = 16


def _items(call: Call) -> list[JsonObject]:
    return list(objs(body_of(call).get("input")))


def _kind(item: JsonObject) -> str:
    return txt(item.get("type", "message"))


def _unknown_parameter(call: Call) -> Rejection | None:
    for name in body_of(call):
        if name not in RESPONSES_PARAMETERS:
            return bad(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    return None


def _model_unknown(call: Call) -> Rejection | None:
    model = txt(body_of(call).get("model"))
    if not model.startswith("no-such-"):
        return None
    return bad(f"The requested model '{model}' does not exist.", "model", "model_not_found")


def _input_empty(call: Call) -> Rejection | None:
    if body_of(call).get("input"):
        return None
    message = (
        "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty "
        "array instead."
    )
    return bad(message, "input", "empty_array")


def _item_type(call: Call) -> Rejection | None:
    for i, item in enumerate(_items(call)):
        if _kind(item) not in ITEMS:
            known = ", ".join(f"'{kind}'" for kind in ITEMS)
            message = f"Invalid value: '{_kind(item)}'. Supported values are: {known}."
            return bad(message, f"input[{i}]", "invalid_value")
    return None


def _role(call: Call) -> Rejection | None:
    for i, item in enumerate(_items(call)):
        if _kind(item) == "message" and item.get("role") not in ROLES:
            known = ", ".join(f"'{role}'" for role in ROLES)
            message = f"Invalid value: '{item.get('role')}'. Supported values are: {known}."
            return bad(message, f"input[{i}].role", "invalid_value")
    return None


def _content_type(call: Call) -> Rejection | None:
    for i, item in enumerate(_items(call)):
        if _kind(item) != "message":
            continue
        said = item.get("role") == "assistant"
        known = ("output_text", "refusal") if said else ("input_text", "input_image", "input_file")
        for j, part in enumerate(objs(item.get("content"))):
            if part.get("type") not in known:
                names = " and ".join(f"'{kind}'" for kind in known)
                message = f"Invalid value: '{part.get('type')}'. Supported values are: {names}."
                return bad(message, f"input[{i}].content[{j}]", "invalid_value")
    return None


def _content_missing(call: Call) -> Rejection | None:
    for i, item in enumerate(_items(call)):
        if _kind(item) == "message" and "content" not in item:
            path = f"input[{i}].content"
            return bad(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")
    return None


def _arguments_type(call: Call) -> Rejection | None:
    for i, item in enumerate(_items(call)):
        if _kind(item) == "function_call" and not isinstance(item.get("arguments"), str):
            path = f"input[{i}].arguments"
            message = f"Invalid type for '{path}': expected a string, but got an object instead."
            return bad(message, path, "invalid_type")
    return None


def _call_id_length(call: Call) -> Rejection | None:
    for i, item in enumerate(_items(call)):
        size = len(txt(item.get("call_id")))
        if size > CALL_ID_CHARS_MAX:
            path = f"input[{i}].call_id"
            message = (
                f"Invalid '{path}': string too long. Expected a string with maximum length 64, "
                f"but got a string with length {size} instead."
            )
            return bad(message, path, "string_above_max_length")
    return None


def _items_repeated(call: Call) -> Rejection | None:
    found = repeated(txt(item["id"]) for item in _items(call) if item.get("id"))
    if found is None:
        return None
    return bad(
        f"Duplicate item found with id {found}. Remove duplicate items from your input and try "
        "again.",
        "input",
    )


def _input_type(call: Call) -> Rejection | None:
    for i, item in enumerate(_items(call)):
        if _kind(item) == "custom_tool_call" and not isinstance(item.get("input"), str):
            path = f"input[{i}].input"
            message = f"Invalid type for '{path}': expected a string, but got an object instead."
            return bad(message, path, "invalid_type")
    return None


def _call_ids_repeated(call: Call) -> Rejection | None:
    found = repeated(txt(i.get("call_id")) for i in _items(call) if _kind(i) in CALLS)
    return None if found is None else bad(f"Duplicate function call with call_id {found}.", "input")


def _output_orphan(call: Call) -> Rejection | None:
    """A result has the type of its call: one kind of call is not answered by the other's."""
    asked: set[tuple[str, str]] = set()
    for item in _items(call):
        kind, name = _kind(item), txt(item.get("call_id"))
        if kind in CALLS:
            asked.add((kind, name))
        made = kind.removesuffix("_output")
        if kind.endswith("_output") and made in CALLS and (made, name) not in asked:
            words = CALLS[made]
            return bad(f"No tool call found for {words} output with call_id {name}.", "input")
    return None


def _call_unpaired(call: Call) -> Rejection | None:
    items = _items(call)
    given = {
        (_kind(i).removesuffix("_output"), txt(i.get("call_id")))
        for i in items
        if _kind(i).endswith("_output")
    }
    for item in items:
        kind, name = _kind(item), txt(item.get("call_id"))
        if kind in CALLS and (kind, name) not in given:
            return bad(f"No tool output found for {CALLS[kind]} {name}.", "input")
    return None


def _reasoning_alone(call: Call) -> Rejection | None:
    items = _items(call)
    for i, item in enumerate(items):
        if _kind(item) != "reasoning":
            continue
        following = items[i + 1] if i + 1 < len(items) else {}
        said = _kind(following) != "message" or following.get("role") == "assistant"
        if not following or not said or _kind(following) not in FOLLOWS_REASONING:
            return bad(
                f"Item '{txt(item.get('id'))}' of type 'reasoning' was provided without its "
                "required following item.",
                "input",
            )
    return None


def _reasoning_needed(call: Call) -> Rejection | None:
    """Stored items know their reasoning; what is not stored, the API cannot miss."""
    if body_of(call).get("store", True) is False:
        return None
    marks: set[str] = set()
    for item in _items(call):
        if _kind(item) == "reasoning":
            marks.add(mark_of(txt(item.get("id"))))
        needed = needed_mark(txt(item.get("id")))
        if needed is not None and needed not in marks:
            return bad(
                f"Item '{txt(item.get('id'))}' of type '{_kind(item)}' was provided without its "
                f"required 'reasoning' item: 'rs_{needed}'.",
                "input",
            )
    return None


def _reasoning_lost(call: Call) -> Rejection | None:
    if body_of(call).get("store", True) is not False:
        return None
    for item in _items(call):
        if _kind(item) == "reasoning" and not item.get("encrypted_content"):
            message = (
                f"Item with id '{txt(item.get('id'))}' not found. Items are not persisted when "
                "`store` is set to false. Try again with `store` set to true, or remove this item "
                "from your input."
            )
            return Rejection(
                status=404, kind="invalid_request_error", message=message, param="input"
            )
    return None


def _encrypted(call: Call) -> Rejection | None:
    for item in _items(call):
        sealed = item.get("encrypted_content")
        if _kind(item) != "reasoning" or not sealed:
            continue
        if not holds(Purpose.REASONING, call.party, txt(sealed)):
            return bad(
                f"The encrypted content for item {txt(item.get('id'))} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed.",
                None,
                "invalid_encrypted_content",
            )
    return None


def _include(call: Call) -> Rejection | None:
    for i, name in enumerate(arr(body_of(call).get("include"))):
        if name not in INCLUDES:
            known = ", ".join(f"'{one}'" for one in INCLUDES)
            message = f"Invalid value: '{name}'. Supported values are: {known}."
            return bad(message, f"include[{i}]", "invalid_value")
    return None


def _previous(call: Call) -> Rejection | None:
    name = body_of(call).get("previous_response_id")
    if not name:
        return None
    message = f"Previous response with id '{txt(name)}' not found."
    return bad(message, "previous_response_id", "previous_response_not_found")


def _output_tokens(call: Call) -> Rejection | None:
    number = whole(body_of(call).get("max_output_tokens"))
    if number is None or number >= OUTPUT_TOKENS_MIN:
        return None
    message = (
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but "
        f"got {number} instead."
    )
    return bad(message, "max_output_tokens", "integer_below_min_value")


def _temperature_model(call: Call) -> Rejection | None:
    body = body_of(call)
    if body.get("temperature") is None or not reasons(txt(body.get("model"))):
        return None
    message = "Unsupported parameter: 'temperature' is not supported with this model."
    return bad(message, "temperature", "unsupported_parameter")


def _functions(call: Call) -> list[tuple[int, JsonObject]]:
    return [(i, t) for i, t in enumerate(offered(call)) if t.get("type") == "function"]


def _customs(call: Call) -> list[tuple[int, JsonObject]]:
    return [(i, t) for i, t in enumerate(offered(call)) if t.get("type") == "custom"]


def _tool_name(call: Call) -> Rejection | None:
    named = [*_functions(call), *_customs(call)]
    return name_pattern(
        [
            (f"tools[{i}].name", txt(t.get("name")))
            for i, t in sorted(named, key=lambda each: each[0])
        ]
    )


def _tool_format(call: Call) -> Rejection | None:
    """Of a custom tool: the grammar itself is not read here."""
    for i, tool in _customs(call):
        given = obj(tool.get("format")) if "format" in tool else {"type": "text"}
        checks: list[tuple[str, tuple[str, ...]]] = [("type", FORMATS)]
        if given.get("type") == "grammar":
            checks.append(("syntax", SYNTAXES))
            if not txt(given.get("definition")):
                path = f"tools[{i}].format.definition"
                words = f"Missing required parameter: '{path}'."
                return bad(words, path, "missing_required_parameter")
        for name, known in checks:
            if given.get(name) not in known:
                values = " and ".join(f"'{each}'" for each in known)
                message = f"Invalid value: '{given.get(name)}'. Supported values are: {values}."
                return bad(message, f"tools[{i}].format.{name}", "invalid_value")
    return None


def _tool_strict(call: Call) -> Rejection | None:
    for i, tool in _functions(call):
        if tool.get("strict") is True:
            path = f"tools[{i}].parameters"
            rejection = strict_schema(path, txt(tool.get("name")), obj(tool.get("parameters")))
            if rejection is not None:
                return rejection
    return None


def _tool_type(call: Call) -> Rejection | None:
    for i, tool in enumerate(objs(body_of(call).get("tools"))):
        kind = txt(tool.get("type"))
        if kind not in TOOL_TYPES:
            known = ", ".join(f"'{one}'" for one in TOOL_TYPES)
            message = f"Invalid value: '{kind}'. Supported values are: {known}."
            return bad(message, f"tools[{i}]", "invalid_value")
    return None


def _tool_container(call: Call) -> Rejection | None:
    for i, tool in enumerate(objs(body_of(call).get("tools"))):
        if tool.get("type") == "code_interpreter" and not tool.get("container"):
            path = f"tools[{i}].container"
            return bad(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")
    return None


def _choice_unknown(call: Call) -> Rejection | None:
    choice = obj(body_of(call).get("tool_choice"))
    for kind, tools in (("function", _functions(call)), ("custom", _customs(call))):
        names = {txt(tool.get("name")) for _, tool in tools}
        if choice.get("type") == kind and txt(choice.get("name")) not in names:
            return bad(f"Tool choice '{kind}' not found in 'tools' parameter.", "tool_choice")
    return None


def _choice_without_tools(call: Call) -> Rejection | None:
    if body_of(call).get("tool_choice") == "required" and not offered(call):
        return bad(
            "Tool choice 'required' must be specified with 'tools' parameter.", "tool_choice"
        )
    return None


RULES: Final = (
    Rule("api-key-missing", api_key),
    Rule("not-json", not_json),
    Rule("model-missing", required("model")),
    Rule("unknown-parameter", _unknown_parameter),
    Rule("input-missing", required("input")),
    Rule("model-unknown", _model_unknown),
    Rule("stream-type", stream_type),
    Rule("stream-options", stream_options),
    Rule("input-empty", _input_empty),
    Rule("item-type-unknown", _item_type),
    Rule("role-unknown", _role),
    Rule("content-missing", _content_missing),
    Rule("content-type", _content_type),
    Rule("arguments-type", _arguments_type),
    Rule("input-type", _input_type),
    Rule("call-id-length", _call_id_length),
    Rule("items-repeated", _items_repeated),
    Rule("call-ids-repeated", _call_ids_repeated),
    Rule("output-orphan", _output_orphan),
    Rule("call-unpaired", _call_unpaired),
    Rule("reasoning-lost", _reasoning_lost),
    Rule("reasoning-alone", _reasoning_alone),
    Rule("reasoning-needed", _reasoning_needed),
    Rule("reasoning-encrypted", _encrypted),
    Rule("include-unknown", _include),
    Rule("previous-response", _previous),
    Rule("output-tokens-min", _output_tokens),
    Rule("temperature-range", temperature_range),
    Rule("temperature-model", _temperature_model),
    Rule("tool-name-pattern", _tool_name),
    Rule("tool-strict-schema", _tool_strict),
    Rule("tool-type-unknown", _tool_type),
    Rule("tool-format", _tool_format),
    Rule("tool-container-missing", _tool_container),
    Rule("tool-choice-without-tools", _choice_without_tools),
    Rule("tool-choice-unknown", _choice_unknown),
)
