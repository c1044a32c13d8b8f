"""What the framework would let pass: bodies of other types, unusual JSON, unknown parameters.

Bodies are read by orjson, within bounds: no NaN, no lone surrogate, no bottomless nesting. The
standard library, which FastAPI would use, takes all of those. A query parameter that a route does
not declare is refused: a misspelt filter would otherwise list everything.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

import orjson
from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from holdfast.api.errors import InvalidRequest, MalformedJson, UnsupportedMediaType
from holdfast.api.field_errors import field_errors

DEPTH_MAX: Final = 100
INTEGER_MAX: Final = 2**63 - 1


class StrictRequest(Request):
    async def json(self) -> Any:  # noqa: ANN401  # pyright: ignore[reportImplicitOverride] - 3.11
        body = await self.body()
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise MalformedJson(f"The body is not valid JSON: {error}.") from None
        check_bounds(value)
        return value


class StrictRoute(APIRoute):
    takes_any_query = False

    def get_route_handler(  # pyright: ignore[reportImplicitOverride] - 3.11
        self,
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        takes_body = self.body_field is not None
        known = None if self.takes_any_query else known_parameters(self.dependant)

        async def strict(request: Request) -> Response:
            if known is not None:
                check_query(request, known)
            if takes_body:
                check_media_type(request.headers)
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


class AnyQueryRoute(StrictRoute):
    """For a request whose parameters another server chooses."""

    takes_any_query = True


def known_parameters(dependant: Dependant) -> frozenset[str]:
    """The query parameters of a route and of its dependencies. `name[key]` stands for each key."""
    own = (str(field.alias) for field in dependant.query_params)
    below = (known_parameters(each) for each in dependant.dependencies)
    return frozenset(name.partition("[")[0] + "[" * ("[" in name) for name in own).union(*below)


def check_query(connection: HTTPConnection, known: frozenset[str]) -> None:
    if not connection.scope["query_string"]:
        return
    unknown = [
        {"type": "unknown_parameter", "loc": ("query", name)}
        for name in connection.query_params
        if name.partition("[")[0] + "[" * name.endswith("]") not in known
    ]
    if unknown:
        raise InvalidRequest(field_errors(unknown))


def check_media_type(headers: Headers) -> None:
    """Only a request that has a body names its type."""
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return
    named = headers.get("content-type", "").partition(";")[0].strip().lower()
    kind, _, subtype = named.partition("/")
    if kind != "application" or not (subtype == "json" or subtype.endswith("+json")):
        raise UnsupportedMediaType


def check_bounds(value: object) -> None:
    """Level by level, so that nothing recurses."""
    level: list[object] = [value]
    for _ in range(DEPTH_MAX + 1):
        deeper: list[object] = []
        for each in level:
            if isinstance(each, dict):
                deeper += cast("dict[str, object]", each).values()
            elif isinstance(each, list):
                deeper += cast("list[object]", each)
            elif isinstance(each, int) and not -INTEGER_MAX <= each <= INTEGER_MAX:
                raise MalformedJson("An integer has more than 63 bits.")
        if not deeper:
            return
        level = deeper
    raise MalformedJson(f"The JSON is nested deeper than {DEPTH_MAX} levels.")
