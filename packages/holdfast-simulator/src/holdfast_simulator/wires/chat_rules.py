"""What OpenAI's Chat Completions API refuses, in its words. One test per row of RULES."""

from typing import Final

from holdfast_simulator.jsons import JsonObject, arr, obj, objs, txt
from holdfast_simulator.wires.base import Call, Rejection, Rule, repeated
from holdfast_simulator.wires.names import CHAT_PARAMETERS
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

ROLES: Final = ("system", "assistant", "user", "function", "tool", "developer")


def _messages(call: Call) -> list[JsonObject]:
    return list(objs(body_of(call).get("messages")))


def _unknown_parameter(call: Call) -> Rejection | None:
    for name in body_of(call):
        if name not in CHAT_PARAMETERS:
            return bad(f"Unrecognized request argument supplied: {name}")
    return None


def _model_missing(call: Call) -> Rejection | None:
    return None if body_of(call).get("model") else bad("you must provide a model parameter")


def _model_unknown(call: Call) -> Rejection | None:
    model = txt(body_of(call).get("model"))
    if not model.startswith("no-such-"):
        return None
    return Rejection(
        status=404,
        kind="invalid_request_error",
        message=f"The model `{model}` does not exist or you do not have access to it.",
        code="model_not_found",
    )


def _messages_empty(call: Call) -> Rejection | None:
    if arr(body_of(call).get("messages")):
        return None
    message = (
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead."
    )
    return bad(message, "messages", "empty_array")


def _role(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        if message.get("role") not in ROLES:
            known = ", ".join(f"'{role}'" for role in ROLES)
            text = f"Invalid value: '{message.get('role')}'. Supported values are: {known}."
            return bad(text, f"messages[{i}].role", "invalid_value")
    return None


def _content_null(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        silent = message.get("role") == "assistant" and (
            message.get("tool_calls") or message.get("refusal") or message.get("function_call")
        )
        if message.get("content") is None and not silent:
            text = "Invalid value for 'content': expected a string, got null."
            return bad(text, f"messages.[{i}].content")
    return None


def _part_type(call: Call) -> Rejection | None:
    known = ("text", "image_url", "input_audio", "refusal", "file")
    for i, message in enumerate(_messages(call)):
        for j, part in enumerate(objs(message.get("content"))):
            if part.get("type") not in known:
                names = ", ".join(f"'{kind}'" for kind in known)
                text = f"Invalid value: '{part.get('type')}'. Supported values are: {names}."
                return bad(text, f"messages[{i}].content[{j}].type", "invalid_value")
    return None


def _calls_empty(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        if message.get("tool_calls") == []:
            text = (
                f"Invalid 'messages[{i}].tool_calls': empty array. Expected an array with minimum "
                "length 1, but got an empty array instead."
            )
            return bad(text, f"messages[{i}].tool_calls", "empty_array")
    return None


def _arguments_type(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        for j, made in enumerate(objs(message.get("tool_calls"))):
            if not isinstance(obj(made.get("function")).get("arguments"), str):
                path = f"messages[{i}].tool_calls[{j}].function.arguments"
                text = f"Invalid type for '{path}': expected a string, but got an object instead."
                return bad(text, path, "invalid_type")
    return None


def _call_ids_repeated(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        found = repeated(txt(made.get("id")) for made in objs(message.get("tool_calls")))
        if found is not None:
            return bad(
                f"Duplicate value for 'tool_call_id' of {found} in message[{i}].", "messages"
            )
    return None


def _tool_id_missing(call: Call) -> Rejection | None:
    for i, message in enumerate(_messages(call)):
        if message.get("role") == "tool" and not message.get("tool_call_id"):
            path = f"messages[{i}].tool_call_id"
            return bad(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")
    return None


def _tool_orphan(call: Call) -> Rejection | None:
    open_ids: set[str] = set()
    for i, message in enumerate(_messages(call)):
        if message.get("role") != "tool":
            open_ids = {txt(made.get("id")) for made in objs(message.get("tool_calls"))}
        elif txt(message.get("tool_call_id")) not in open_ids:
            text = (
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
                "message with 'tool_calls'."
            )
            return bad(text, f"messages.[{i}].role")
    return None


def _call_unpaired(call: Call) -> Rejection | None:
    messages = _messages(call)
    for i, message in enumerate(messages):
        missing = [txt(made.get("id")) for made in objs(message.get("tool_calls"))]
        for following in messages[i + 1 :]:
            if following.get("role") != "tool":
                break
            missing = [name for name in missing if name != following.get("tool_call_id")]
        if missing:
            text = (
                "An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                f"response messages: {', '.join(missing)}"
            )
            return bad(text, f"messages.[{i + 1}].role")
    return None


def _functions(call: Call) -> list[JsonObject]:
    return [obj(tool.get("function")) for tool in offered(call)]


def _tool_type(call: Call) -> Rejection | None:
    for i, tool in enumerate(offered(call)):
        if tool.get("type") not in ("function", "custom"):
            path = f"tools[{i}].type"
            given = tool.get("type")
            text = f"Invalid value: '{given}'. Supported values are: 'function' and 'custom'."
            return bad(text, path, "invalid_value")
    return None


def _tool_name(call: Call) -> Rejection | None:
    names = [txt(function.get("name")) for function in _functions(call)]
    return name_pattern([(f"tools[{i}].function.name", name) for i, name in enumerate(names)])


def _tool_strict(call: Call) -> Rejection | None:
    for i, function in enumerate(_functions(call)):
        if function.get("strict") is True:
            path = f"tools[{i}].function.parameters"
            name = txt(function.get("name"))
            rejection = strict_schema(path, name, obj(function.get("parameters")))
            if rejection is not None:
                return rejection
    return None


def _choice_without_tools(call: Call) -> Rejection | None:
    if body_of(call).get("tool_choice") is not None and not offered(call):
        return bad("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    return None


def _choice_unknown(call: Call) -> Rejection | None:
    choice = body_of(call).get("tool_choice")
    name = txt(obj(obj(choice).get("function")).get("name"))
    if isinstance(choice, dict) and name not in {txt(f.get("name")) for f in _functions(call)}:
        return bad(
            f"Invalid value for 'tool_choice': no function named '{name}' was specified in the "
            "'tools' parameter.",
            "tool_choice",
        )
    return None


def _parallel_without_tools(call: Call) -> Rejection | None:
    if "parallel_tool_calls" in body_of(call) and not offered(call):
        text = "'parallel_tool_calls' is only allowed when 'tools' are specified."
        return bad(text, "parallel_tool_calls")
    return None


def _max_tokens_model(call: Call) -> Rejection | None:
    body = body_of(call)
    if body.get("max_tokens") is None or not reasons(txt(body.get("model"))):
        return None
    text = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead."
    )
    return bad(text, "max_tokens", "unsupported_parameter")


def _temperature_model(call: Call) -> Rejection | None:
    body = body_of(call)
    number = body.get("temperature")
    if number in (None, 1) or not reasons(txt(body.get("model"))):
        return None
    text = (
        f"Unsupported value: 'temperature' does not support {number} with this model. Only the "
        "default (1) value is supported."
    )
    return bad(text, "temperature", "unsupported_value")


RULES: Final = (
    Rule("api-key-missing", api_key),
    Rule("not-json", not_json),
    Rule("model-missing", _model_missing),
    Rule("messages-missing", required("messages")),
    Rule("unknown-parameter", _unknown_parameter),
    Rule("model-unknown", _model_unknown),
    Rule("stream-type", stream_type),
    Rule("stream-options", stream_options),
    Rule("messages-empty", _messages_empty),
    Rule("role-unknown", _role),
    Rule("calls-empty", _calls_empty),
    Rule("content-null", _content_null),
    Rule("part-type-unknown", _part_type),
    Rule("arguments-type", _arguments_type),
    Rule("call-ids-repeated", _call_ids_repeated),
    Rule("tool-id-missing", _tool_id_missing),
    Rule("result-orphan", _tool_orphan),
    Rule("call-unpaired", _call_unpaired),
    Rule("tool-type", _tool_type),
    Rule("tool-name-pattern", _tool_name),
    Rule("tool-strict-schema", _tool_strict),
    Rule("tool-choice-without-tools", _choice_without_tools),
    Rule("tool-choice-unknown", _choice_unknown),
    Rule("parallel-without-tools", _parallel_without_tools),
    Rule("max-tokens-model", _max_tokens_model),
    Rule("temperature-range", temperature_range),
    Rule("temperature-model", _temperature_model),
)
