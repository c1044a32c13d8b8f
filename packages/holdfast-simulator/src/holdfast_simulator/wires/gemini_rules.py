"""What the Gemini API refuses, in its words. One test per row of RULES."""

import base64
import binascii
import re
from typing import Any, Final

from holdfast_simulator.chance import Chance
from holdfast_simulator.jsons import JsonList, JsonObject, arr, dumps, obj, objs, txt
from holdfast_simulator.seal import Purpose, holds, seal
from holdfast_simulator.wires.base import Call, Rejection, Rule, repeated
from holdfast_simulator.wires.names import GEMINI_CONFIG, GEMINI_DATA, GEMINI_PARAMETERS

FUNCTION_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
BEFORE_3: Final = re.compile(r"gemini-[12]")
OURS: Final = ("googleSearch", "urlContext", "codeExecution")
DUMMY_SIGNATURES: Final = frozenset(
    {
        "skip_thought_signature_validator",
        "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
        "context_engineering_is_the_way_to_go",
        "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
    }
)


def no(status: int, kind: str, message: str, details: JsonList | None = None) -> Rejection:
    return Rejection(status=status, kind=kind, message=message, details=details or [])


def bad(message: str, details: JsonList | None = None) -> Rejection:
    return no(400, "INVALID_ARGUMENT", message, details)


def field(given: JsonObject, name: str) -> Any:  # noqa: ANN401
    """A field by its camelCase name; the API takes snake_case as well."""
    return given[name] if name in given else given.get(_snake(name))


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", lambda found: "_" + found[1].lower(), name)


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def key_of(call: Call) -> str:
    return call.headers.get("x-goog-api-key") or call.query.get("key", "") or call.bearer


def _contents(call: Call) -> list[JsonObject]:
    return list(objs((call.body or {}).get("contents")))


def _parts(content: JsonObject, name: str) -> list[JsonObject]:
    """The parts of a content that hold such data."""
    return [part for part in objs(content.get("parts")) if field(part, name) is not None]


def _api_key(call: Call) -> Rejection | None:
    if key_of(call):
        return None
    return no(
        403,
        "PERMISSION_DENIED",
        "Method doesn't allow unregistered callers (callers without established identity). Please "
        "use API Key or other form of API consumer identity to call this API.",
    )


def _not_json(call: Call) -> Rejection | None:
    if call.body is not None:
        return None
    return bad("Invalid JSON payload received. Expected an object.")


def _unknown_field(call: Call) -> Rejection | None:
    body = call.body or {}
    named = [("", name) for name in body if _camel(name) not in GEMINI_PARAMETERS]
    config = obj(field(body, "generationConfig"))
    named += [("generation_config", name) for name in config if _camel(name) not in GEMINI_CONFIG]
    for place, name in named:
        at = f" at '{place}'" if place else ""
        message = f'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.'
        violation = {"field": place, "description": message}
        kind = "type.googleapis.com/google.rpc.BadRequest"
        return bad(message, [{"@type": kind, "fieldViolations": [violation]}])
    return None


def _model_unknown(call: Call) -> Rejection | None:
    if not call.path_model.startswith("no-such-"):
        return None
    message = (
        f"models/{call.path_model} is not found for API version v1beta, or is not supported for "
        "generateContent. Call ListModels to see the list of available models and their supported "
        "methods."
    )
    return no(404, "NOT_FOUND", message)


def _contents_missing(call: Call) -> Rejection | None:
    if _contents(call):
        return None
    return bad("* GenerateContentRequest.contents: contents is not specified\n")


def _role(call: Call) -> Rejection | None:
    for content in _contents(call):
        if content.get("role", "user") not in ("user", "model", "function"):
            return bad("Please use a valid role: user, model.")
    return None


def _parts_empty(call: Call) -> Rejection | None:
    for i, content in enumerate(_contents(call)):
        if not arr(content.get("parts")):
            return bad(
                f"* GenerateContentRequest.contents[{i}].parts: contents.parts must not be empty.\n"
            )
    return None


def _part_data(call: Call) -> Rejection | None:
    for i, content in enumerate(_contents(call)):
        for j, part in enumerate(objs(content.get("parts"))):
            if all(field(part, name) is None for name in GEMINI_DATA):
                return bad(
                    f"* GenerateContentRequest.contents[{i}].parts[{j}].data: required oneof field "
                    "'data' must have one initialized field\n"
                )
    return None


def _ends_with_user(call: Call) -> Rejection | None:
    contents = _contents(call)
    if contents and contents[-1].get("role") == "model":
        return bad(
            "Please ensure that single turn requests end with a user role or the role field is "
            "empty."
        )
    return None


def _call_place(call: Call) -> Rejection | None:
    contents = _contents(call)
    for i, content in enumerate(contents):
        if not _parts(content, "functionCall"):
            continue
        if i == 0 or contents[i - 1].get("role") == "model":
            return bad(
                "Please ensure that function call turn comes immediately after a user turn or "
                "after a function response turn."
            )
    return None


def _response_place(call: Call) -> Rejection | None:
    contents = _contents(call)
    for i, content in enumerate(contents):
        before = contents[i - 1] if i else {}
        if _parts(content, "functionResponse") and not _parts(before, "functionCall"):
            return bad(
                "Please ensure that function response turn comes immediately after a function "
                "call turn."
            )
    return None


def _response_count(call: Call) -> Rejection | None:
    contents = _contents(call)
    for i, content in enumerate(contents):
        calls = _parts(content, "functionCall")
        after = contents[i + 1] if i + 1 < len(contents) else {}
        if len(calls) != len(_parts(after, "functionResponse")):
            return bad(
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
    return None


def _args_object(call: Call) -> Rejection | None:
    for i, content in enumerate(_contents(call)):
        for made in _parts(content, "functionCall"):
            args = obj(field(made, "functionCall")).get("args", {})
            if not isinstance(args, dict):
                place = f"contents[{i}].parts[0].function_call.args"
                kind = "type.googleapis.com/google.protobuf.Struct"
                return bad(f"Invalid value at '{place}' ({kind})")
    return None


def _signature_missing(call: Call) -> Rejection | None:
    """Gemini 3 wants the signature on the first call of every step of the current turn."""
    contents = _contents(call)
    if not call.path_model.startswith("gemini-3"):
        return None
    spoken = [i for i, content in enumerate(contents) if _speaks(content)]
    for i in range(spoken[-1] + 1 if spoken else 0, len(contents)):
        calls = _parts(contents[i], "functionCall")
        if calls and not field(calls[0], "thoughtSignature"):
            name = txt(obj(field(calls[0], "functionCall")).get("name"))
            return bad(
                "Function call is missing a thought_signature in functionCall parts. This is "
                "required for tools to work correctly, and missing thought_signature may lead to "
                f"degraded model performance. Additional data, function call `default_api:{name}` "
                f", position {i + 1}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
    return None


def _speaks(content: JsonObject) -> bool:
    return content.get("role", "user") == "user" and bool(_parts(content, "text"))


def _signature_wrong(call: Call) -> Rejection | None:
    for content in _contents(call):
        for part in objs(content.get("parts")):
            given = txt(field(part, "thoughtSignature"))
            known = given in DUMMY_SIGNATURES or holds(Purpose.THOUGHT, call.party, given)
            if given and not known:
                return bad("Thought signature is not valid")
    return None


def continued(body: JsonObject) -> int:
    """How many requests of this body came before, by its continuation token; -1: not its own."""
    # Google's own client sends the URL-safe alphabet back.
    token = txt(field(body, "continuationToken")).replace("-", "+").replace("_", "/")
    if not token:
        return 0
    try:
        hops, _, sealed = base64.b64decode(token, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return -1
    if not hops.isdecimal() or not holds(Purpose.CONTINUATION, bound_to(body, int(hops)), sealed):
        return -1
    return int(hops)


def continuation_token(body: JsonObject, chance: Chance) -> str:
    """What the next request of the same body says, to get what follows."""
    hops = continued(body) + 1
    sealed = seal(Purpose.CONTINUATION, bound_to(body, hops), chance)
    return base64.b64encode(f"{hops}:{sealed}".encode()).decode()


def bound_to(body: JsonObject, hops: int) -> str:
    """The rest of the body: the token goes on with the same request only."""
    rest = sorted((_camel(name), value) for name, value in body.items() if value)
    named = [(name, value) for name, value in rest if name != "continuationToken"]
    return f"{hops}:{dumps(named).decode()}"


def _token_wrong(call: Call) -> Rejection | None:
    # Google's words for a token of another request are not known; these are its words for most.
    return bad("Request contains an invalid argument.") if continued(call.body or {}) < 0 else None


def _mixed(call: Call) -> Rejection | None:
    """Vertex takes a content with results and anything else for a turn of the model."""
    for content in _contents(call):
        answered = _parts(content, "functionResponse")
        if answered and len(answered) < len(arr(content.get("parts"))):
            return bad("Requests ending with a model turn are not supported.")
    return None


def _declared(call: Call) -> list[JsonObject]:
    tools = objs((call.body or {}).get("tools"))
    return [one for tool in tools for one in objs(field(tool, "functionDeclarations"))]


def tells_invocations(body: JsonObject) -> bool:
    """Whether the client asked for the calls of our own tools."""
    return field(obj(field(body, "toolConfig")), "includeServerSideToolInvocations") is True


def _tools_mixed(call: Call) -> Rejection | None:
    """Functions beside tools of ours: not before Gemini 3, and only for a client that asks to see
    the calls of both."""
    body = call.body or {}
    ours = any(field(tool, name) is not None for tool in objs(body.get("tools")) for name in OURS)
    if not ours or not _declared(call):
        return None
    if BEFORE_3.search(call.path_model):
        return bad("Tool use with function calling is unsupported")
    if not tells_invocations(body):
        return bad(
            "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools "
            "with Function calling."
        )
    return None


def _function_name(call: Call) -> Rejection | None:
    for i, declared in enumerate(_declared(call)):
        if not FUNCTION_NAME.fullmatch(txt(declared.get("name"))):
            return bad(
                f"* GenerateContentRequest.tools[0].function_declarations[{i}].name: Invalid "
                "function name. Must start with a letter or an underscore. Must be alphanumeric "
                "(a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a "
                "maximum length of 128.\n"
            )
    return None


def _functions_repeated(call: Call) -> Rejection | None:
    found = repeated(txt(declared.get("name")) for declared in _declared(call))
    return None if found is None else bad(f"Duplicate function declaration found: {found}")


def _allowed_unknown(call: Call) -> Rejection | None:
    config = obj(field(obj(field(call.body or {}, "toolConfig")), "functionCallingConfig"))
    names = {txt(declared.get("name")) for declared in _declared(call)}
    for name in arr(field(config, "allowedFunctionNames")):
        if name not in names:
            return bad(
                "* GenerateContentRequest.tool_config.function_calling_config."
                f"allowed_function_names: {name} is not in function_declarations\n"
            )
    return None


def _temperature(call: Call) -> Rejection | None:
    number = obj(field(call.body or {}, "generationConfig")).get("temperature", 1)
    if isinstance(number, int | float) and not 0 <= number <= 2:
        return bad(
            "* GenerateContentRequest.generation_config.temperature: temperature must be in the "
            "range [0.0, 2.0].\n"
        )
    return None


RULES: Final = (
    Rule("api-key-missing", _api_key),
    Rule("not-json", _not_json),
    Rule("unknown-field", _unknown_field),
    Rule("model-unknown", _model_unknown),
    Rule("contents-missing", _contents_missing),
    Rule("role-unknown", _role),
    Rule("parts-empty", _parts_empty),
    Rule("part-without-data", _part_data),
    Rule("call-place", _call_place),
    Rule("response-place", _response_place),
    Rule("response-count", _response_count),
    Rule("ends-with-user", _ends_with_user),
    Rule("response-mixed", _mixed),
    Rule("continuation-token-wrong", _token_wrong),
    Rule("args-not-object", _args_object),
    Rule("signature-missing", _signature_missing),
    Rule("signature-wrong", _signature_wrong),
    Rule("tools-mixed", _tools_mixed),
    Rule("function-name", _function_name),
    Rule("functions-repeated", _functions_repeated),
    Rule("allowed-function-unknown", _allowed_unknown),
    Rule("temperature-range", _temperature),
)
