"""What the commands about providers, models and settings take: fields as JSON, keys from stdin."""

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

from holdfast.cli.exit_codes import CommandEnd, Exit

Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A field as the models file has it; VALUE is JSON, or text; null removes it.",
    ),
]
KeyStdin: TypeAlias = Annotated[
    bool, typer.Option("--key-stdin", help="Read the API key from stdin, or prompt for it.")
]
T = TypeVar("T")


def fields_of(given: Sequence[str] | None) -> dict[str, Any]:
    """`NAME=VALUE` pairs, each value decoded."""
    return dict(_pair(each) for each in given or ())


def value_of(text: str) -> Any:  # noqa: ANN401 - any JSON
    """JSON where it is JSON, else the text itself."""
    # Here, not above: `holdfast --help` need not load it.
    import orjson

    try:
        return orjson.loads(text)
    except ValueError:
        return text


def read_key() -> str:
    if sys.stdin.isatty():
        return typer.prompt("API key", hide_input=True, err=True)
    key = sys.stdin.readline().rstrip("\n")
    if not key:
        raise CommandEnd("No API key came on stdin.", Exit.USAGE)
    return key


def chosen(kind: str, wanted: str, found: Iterable[tuple[str | None, str, T]]) -> T:
    """The one whose id or name is wanted. `found`: id, name and entry of each."""
    for public_id, name, entry in found:
        if wanted in (public_id, name):
            return entry
    raise CommandEnd(f"There is no {kind} {wanted}.", Exit.NOT_FOUND)


def _pair(given: str) -> tuple[str, Any]:
    name, sign, text = given.partition("=")
    if not name or not sign:
        raise CommandEnd(f"{given!r} is not NAME=VALUE.", Exit.USAGE)
    return name, value_of(text)
