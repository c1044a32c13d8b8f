"""`holdfast api`: one request to the API, for scripts."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import orjson
import typer

from holdfast.cli.client_context import at_desk
from holdfast.cli.options import OutFile

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext

PREFIX: Final = "api/v1/"


class Method(StrEnum):
    GET = "GET"
    POST = "POST"
    PUT = "PUT"
    PATCH = "PATCH"
    DELETE = "DELETE"


def api(
    method: Annotated[Method, typer.Argument(case_sensitive=False, help="The HTTP method.")],
    path: Annotated[
        str, typer.Argument(help="The path below /api/v1 with its query: /chats?limit=5.")
    ],
    *,
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", metavar="JSON", help="The JSON body; - reads stdin."),
    ] = None,
    idempotency_key: Annotated[
        str | None,
        typer.Option("--idempotency-key", help="The same key again repeats nothing."),
    ] = None,
    output: OutFile = None,
) -> None:
    """Send one request to the API and print the JSON of the answer."""
    body = None if data is None else body_of(data)

    async def work(desk: "ClientContext") -> None:
        answer = await desk.client.request(
            method.value, path_of(path), body, idempotency_key=idempotency_key
        )
        if answer is not None:
            desk.screen.json(answer)

    at_desk(work, to=output)


def path_of(given: str) -> str:
    """The path below /api/v1, given with or without that prefix."""
    return given.lstrip("/").removeprefix(PREFIX)


def body_of(given: str) -> Any:  # noqa: ANN401 - any JSON value
    import sys

    text = sys.stdin.read() if given == "-" else given
    try:
        return orjson.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"--data is not JSON: {error}.") from None
