"""What the two OpenAI wires share: error shape, keys, troubles, obfuscation."""

import re
from typing import Final

from holdfast_simulator.jsons import JsonObject, arr, obj, objs, txt
from holdfast_simulator.wires.base import Call, Check, Rejection

TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")
REASONING_MODEL: Final = re.compile(r"^(o\d|gpt-5|gpt-6)")


def bad(message: str, param: str | None = None, code: str | None = None) -> Rejection:
    kind = "invalid_request_error"
    return Rejection(status=400, kind=kind, message=message, param=param, code=code)


def body_of(call: Call) -> JsonObject:
    return call.body or {}


def reasons(model: str) -> bool:
    return REASONING_MODEL.match(model) is not None


def api_key(call: Call) -> Rejection | None:
    if call.bearer:
        return None
    message = (
        "You didn't provide an API key. You need to provide your API key in an Authorization "
        "header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
    )
    return Rejection(status=401, kind="invalid_request_error", message=message)


def not_json(call: Call) -> Rejection | None:
    if call.body is not None:
        return None
    return bad("We could not parse the JSON body of your request.")


def required(name: str) -> Check:
    def check(call: Call) -> Rejection | None:
        if name in body_of(call):
            return None
        message = f"Missing required parameter: '{name}'."
        return bad(message, name, "missing_required_parameter")

    return check


def stream_type(call: Call) -> Rejection | None:
    given = body_of(call).get("stream", False)
    if given is None or isinstance(given, bool):
        return None
    message = "Invalid type for 'stream': expected a boolean, but got something else instead."
    return bad(message, "stream", "invalid_type")


def stream_options(call: Call) -> Rejection | None:
    body = body_of(call)
    if body.get("stream_options") is not None and body.get("stream") is not True:
        message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        return bad(message, "stream_options")
    return None


def temperature_range(call: Call) -> Rejection | None:
    number = body_of(call).get("temperature")
    if isinstance(number, int | float) and not 0 <= number <= 2:
        edge = (
            "maximum value. Expected a value <= 2"
            if number > 2
            else "minimum value. Expected a value >= 0"
        )
        code = "decimal_above_max_value" if number > 2 else "decimal_below_min_value"
        where = "above" if number > 2 else "below"
        message = f"Invalid 'temperature': decimal {where} {edge}, but got {number} instead."
        return bad(message, "temperature", code)
    return None


def name_pattern(names: list[tuple[str, str]]) -> Rejection | None:
    """`names` are pairs of the parameter's path and the name found there."""
    for path, name in names:
        if not TOOL_NAME.fullmatch(name):
            message = (
                f"Invalid '{path}': string does not match pattern. Expected a string that matches "
                "the pattern '^[a-zA-Z0-9_-]+$'."
            )
            return bad(message, path, "invalid_value")
    return None


def strict_schema(path: str, name: str, schema: JsonObject) -> Rejection | None:
    """A strict schema closes its objects and requires everything in them."""
    if schema.get("additionalProperties") is not False:
        trouble = "'additionalProperties' is required to be supplied and to be false."
    elif set(arr(schema.get("required"))) != set(obj(schema.get("properties"))):
        trouble = (
            "'required' is required to be supplied and to be an array including every key in "
            "properties."
        )
    else:
        return None
    message = f"Invalid schema for function '{name}': In context=(), {trouble}"
    return bad(message, path, "invalid_function_parameters")


def offered(call: Call) -> list[JsonObject]:
    return list(objs(body_of(call).get("tools")))


def error_body(rejection: Rejection) -> JsonObject:
    error: JsonObject = {
        "message": rejection.message,
        "type": rejection.kind,
        "param": rejection.param,
        "code": rejection.code,
    }
    if rejection.details:
        error["details"] = rejection.details
    return {"error": error}


def answer_headers(request_id: str) -> dict[str, str]:
    return {
        "x-request-id": request_id,
        "openai-version": "2020-10-01",
        "openai-organization": "sim-organization",
        "openai-processing-ms": "12",
    }


def tier_of(body: JsonObject) -> str:
    """The tier that answers: fast mode is called priority."""
    asked = txt(body.get("service_tier"))
    return {"": "default", "auto": "default", "fast": "priority"}.get(asked, asked)
