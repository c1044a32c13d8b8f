"""Bodies are read by orjson, within bounds: no NaN, no lone surrogate, no bottomless nesting.

The standard library, which FastAPI would use, takes all of those.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

from holdfast.api.errors import MalformedJson

DEPTH_MAX: Final = 100
INTEGER_MAX: Final = 2**63 - 1


class StrictRequest(Request):
    async def json(self) -> Any:  # noqa: ANN401  # pyright: ignore[reportImplicitOverride] - 3.11
        body = await self.body()
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise MalformedJson(str(error)) from None
        check_bounds(value)
        return value


class StrictRoute(APIRoute):
    def get_route_handler(  # pyright: ignore[reportImplicitOverride] - 3.11
        self,
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive))

        return strict


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
                raise MalformedJson("an integer past 63 bits")
        if not deeper:
            return
        level = deeper
    raise MalformedJson(f"nested deeper than {DEPTH_MAX}")
