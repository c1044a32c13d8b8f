"""The OpenAPI document: what FastAPI says of the routes, and what it cannot know of them.

The id of an operation is the name of its function, and its summary is that name in words. Tags,
headers and problem codes are in `operations`, examples in `examples`.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from http import HTTPMethod
from typing import Any, Final, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from holdfast.api.contract import REFS, open_answers
from holdfast.api.events import StreamEvent, WatchEvent
from holdfast.api.examples import Example, examples, problem_example
from holdfast.api.operations import (
    ETAG,
    HEADERS,
    IDENTIFIERS,
    NEW_CHAT,
    SERVERS,
    TAGS,
    UNREPEATABLE,
    problem_codes,
)
from holdfast.api.problem_responses import Problem

Json = dict[str, Any]
_REFS: Final = f"{REFS}{{model}}"
_SECURITY: Final = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key, `hfst_…`."},
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-holdfast",
        "description": "The session of a browser, which `POST /sessions` sets.",
    },
}
_SPELLED: Final = {"api": "API", "oidc": "OIDC"}


def operation_id(route: APIRoute) -> str:
    return route.name


def openapi_of(app: FastAPI, anonymous: AbstractSet[tuple[str, str]]) -> Json:
    """`anonymous`: method and path of the routes that ask for no credential."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        openapi_version="3.1.0",
        routes=app.routes,
        tags=[{"name": name, "description": about} for name, about in TAGS.items()],
        servers=[dict(each) for each in SERVERS],
    )
    components = document.setdefault("components", {})
    _add_schemas(components.setdefault("schemas", {}))
    components["securitySchemes"] = _SECURITY
    components["headers"] = {
        name: {"description": about, "schema": schema} for name, (about, schema) in HEADERS.items()
    }
    document["security"] = [{name: []} for name in _SECURITY]
    for method, path, operation in _operations(document):
        if (method.upper(), path) in anonymous:
            operation["security"] = []
        operation["summary"] = _in_words(operation["operationId"])
        _list_problems(path, operation)
    open_answers(document)
    _describe(document)
    components["schemas"]["Problem"]["examples"] = [problem_example()]
    shown = examples()
    for _, _, operation in _operations(document):
        _list_headers(operation)
        _show(operation, shown.get(operation["operationId"], Example()))
    return document


def _operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method.upper() in HTTPMethod.__members__:
                yield method, path, operation


def _add_schemas(schemas: Json) -> None:
    """Of what no route declares: problems, and events."""
    problem = Problem.model_json_schema(ref_template=_REFS)
    schemas |= problem.pop("$defs", {})
    schemas["Problem"] = problem
    unions: Json = {"StreamEvent": StreamEvent, "WatchEvent": WatchEvent}
    for name, union in unions.items():
        events = TypeAdapter[Any](union).json_schema(ref_template=_REFS)
        schemas |= events.pop("$defs")
        schemas[name] = events


def _in_words(name: str) -> str:
    first, *others = [_SPELLED.get(word, word) for word in name.split("_")]
    return " ".join((first.capitalize(), *others))


def _list_headers(operation: Json) -> None:
    name = operation["operationId"]
    keyed = _takes(operation, "idempotency-key") and name not in UNREPEATABLE
    for status, response in operation["responses"].items():
        listed = ["X-Request-Id", "Holdfast-Version"]
        if status == "default":
            listed.append("Retry-After")
        elif status.startswith("2"):
            listed += ["ETag"] * (name in ETAG) + ["Idempotent-Replayed"] * keyed
        if status == "302" or (status == "201" and name in NEW_CHAT):
            listed.append("Location")
        refs = {each: {"$ref": f"#/components/headers/{each}"} for each in listed}
        response["headers"] = refs | response.get("headers", {})


def _list_problems(path: str, operation: Json) -> None:
    codes = problem_codes(
        operation["operationId"],
        needs_credential=operation.get("security") != [],
        takes_body="requestBody" in operation,
        takes_input="requestBody" in operation or bool(operation.get("parameters")),
        takes_key=_takes(operation, "idempotency-key"),
        takes_tag=_takes(operation, "if-match"),
        of_chat="{chat_id}" in path,
    )
    # The routes share one object.
    response = dict(operation["responses"]["default"])
    response["description"] = f"A problem. Its `code` is one of {', '.join(codes)}."
    response["x-problem-codes"] = codes
    operation["responses"]["default"] = response


def _takes(operation: Json, parameter: str) -> bool:
    return any(each["name"] == parameter for each in operation.get("parameters", ()))


def _describe(node: object) -> None:
    """Constants, and ids that are what their name says, have the same description everywhere."""
    if isinstance(node, list):
        for each in cast("list[object]", node):
            _describe(each)
    if not isinstance(node, dict):
        return
    fields = cast("Json", node)
    for name, schema in fields.get("properties", {}).items():
        if "const" in schema and schema["const"] is not None:
            schema.setdefault("description", f"Always `{schema['const']}`.")
        elif name in IDENTIFIERS:
            schema.setdefault("description", IDENTIFIERS[name])
    if "in" in fields and fields.get("name") in IDENTIFIERS:
        fields.setdefault("description", IDENTIFIERS[fields["name"]])
    for each in fields.values():
        _describe(each)


def _show(operation: Json, example: Example) -> None:
    if example.request is not None:
        for media in operation["requestBody"]["content"].values():
            media["example"] = example.request
    if example.response is not None:
        for status, response in operation["responses"].items():
            if status.startswith("2"):
                for media in response["content"].values():
                    media["example"] = example.response
