"""`holdfast models`: what messages may ask for."""

from typing import TYPE_CHECKING

import typer

from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext

models = typer.Typer(no_args_is_help=True, help="The models of the server.")


@models.callback()
def _group() -> None:
    """The models of the server."""


@models.command("ls", cls=ClientCommand)
def ls(*, json: AsJson = False) -> None:
    """List the available models; the default is marked with a star."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.client.models()
        if json:
            desk.screen.json(found.model_dump(mode="json"))
            return
        for name in found.models:
            desk.screen.answer(f"{name} *" if name == found.default else name)

    at_desk(work)
