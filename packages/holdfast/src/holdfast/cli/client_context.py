"""Where a client command works: a server it may talk to, and a screen to write on.

`at_desk(work)` opens both, runs `work`, and turns whatever goes wrong into one sentence and an exit
code. The SDK is imported there and not above: `holdfast --help` needs none of it.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer
from typer.core import TyperCommand, TyperOption

from holdfast.cli.exit_codes import CommandEnd, Exit, code_of, sentence_of

if TYPE_CHECKING:
    from holdfast.cli.screen import Screen
    from holdfast_client import AsyncChat, AsyncClient
    from holdfast_client.config import Target

COLORS: Final = ("auto", "always", "never")
ANSWER_S: Final = 10.0
"""So long a server may be away before a command fails. Streams wait for ever."""


@dataclass(frozen=True, slots=True)
class GlobalOptions:
    """What every client command may be told."""

    url: str | None = None
    context: str | None = None
    color: Any = "auto"


_NOTHING: Final = GlobalOptions()
_GIVEN: Final[ContextVar[GlobalOptions]] = ContextVar("given", default=_NOTHING)


class ClientCommand(TyperCommand):
    """A command that talks to a server; it takes these options beside its own."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - as Typer calls it
        super().__init__(*arguments, **named)
        self.params += [
            _option("--url", "Server URL (default: $HOLDFAST_URL, then the current context)."),
            _option("--context", "Which of `holdfast context list`; else the current one."),
            _option("--color", "auto, always or never; NO_COLOR is heeded."),
        ]


def _option(name: str, about: str) -> TyperOption:
    field = name.removeprefix("--")

    def keep(_context: object, _option: object, value: str | None) -> None:
        if field == "color" and value not in (None, *COLORS):
            raise typer.BadParameter(f"{value} is none of {', '.join(COLORS)}.")
        if value is not None:
            _GIVEN.set(replace(_GIVEN.get(), **{field: value}))

    return TyperOption(
        param_decls=[name],
        help=about,
        callback=keep,
        expose_value=False,
        rich_help_panel="Server and screen",
    )


@dataclass(frozen=True, slots=True)
class ClientContext:
    client: "AsyncClient"
    screen: "Screen"

    async def chat(self, given: str) -> "AsyncChat":
        from holdfast.cli.ids import find_chat

        return await find_chat(self.client, self.screen, given)


def chosen_target() -> "Target":
    """Which server: --url or --context, else the environment, else the current context."""
    from holdfast_client.config import resolve

    given = _GIVEN.get()
    return resolve(url=given.url, context=given.context)


def given_url() -> str | None:
    return _GIVEN.get().url


Work: TypeAlias = Callable[[ClientContext], Coroutine[Any, Any, Exit | None]]


def at_desk(work: Work, *, to: Path | None = None) -> None:
    """Run `work` with the server that was chosen; raises `typer.Exit` with the code that tells."""

    async def with_client(screen: "Screen") -> Exit | None:
        from holdfast_client import AsyncClient

        target = chosen_target()
        async with AsyncClient(target.url, api_key=target.api_key, timeout=ANSWER_S) as client:
            return await work(ClientContext(client, screen))

    run(with_client, to=to)


def run(
    work: "Callable[[Screen], Coroutine[Any, Any, Exit | None]]", *, to: Path | None = None
) -> None:
    """The same without a server: only a screen."""
    from holdfast.cli.screen import Screen
    from holdfast_client.errors import HoldfastError

    screen: Screen | None = None
    try:
        screen = Screen(_GIVEN.get().color, to)
        code = asyncio.run(work(screen)) or Exit.DONE
        screen.close()
    except CommandEnd as stop:
        code = stop.code
        _say(str(stop))
    except HoldfastError as error:
        code = code_of(error)
        _say(sentence_of(error))
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
        _say("")
    except BrokenPipeError:
        # `holdfast list | head`. Python would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = Exit.PIPE_CLOSED
    except Exception as error:
        # An internal error. The user gets one sentence; HOLDFAST_TRACEBACK shows the traceback.
        if os.getenv("HOLDFAST_TRACEBACK"):
            raise
        code = Exit.FAILED
        _say(f"Unexpected {type(error).__name__}: {error}. HOLDFAST_TRACEBACK=1 shows where.")
    raise typer.Exit(int(code))


def _say(sentence: str) -> None:
    typer.echo(sentence, err=True)
