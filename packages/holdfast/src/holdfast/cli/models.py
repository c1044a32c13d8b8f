"""`holdfast models`: what messages may ask for."""

from typing import TYPE_CHECKING

import typer

from holdfast.cli import model_checks
from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext

models = typer.Typer(no_args_is_help=True, help="The models of the server.")


@models.callback()
def _group() -> None:
    """The models of the server."""


@models.command("list", cls=ClientCommand)
@models.command("ls", cls=ClientCommand, hidden=True)
def list_models(*, json: AsJson = False) -> None:
    """List the available models; the default is marked with a star."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.client.models.list()
        if json:
            desk.screen.json([each.model_dump(mode="json") for each in found])
            return
        for each in found:
            desk.screen.answer(f"{each.id} *" if each.is_default else each.id)

    at_desk(work)


models.command("check")(model_checks.check)
models.command("discover")(model_checks.discover)
