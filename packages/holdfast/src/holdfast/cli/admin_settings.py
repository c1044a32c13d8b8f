"""`holdfast admin settings`: what admins set for the organisation while the server runs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.admin_fields import value_of
from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client.admin_models import OrganizationSettings

settings = typer.Typer(no_args_is_help=True, help="Settings of the organisation.")


@settings.command("list", cls=ClientCommand)
@settings.command("ls", cls=ClientCommand, hidden=True)
def list_settings(*, json: AsJson = False) -> None:
    """List every setting with its value; null: as the server's own settings say."""

    async def work(desk: "ClientContext") -> None:
        _show(desk, await desk.client.organization.settings.retrieve(), json=json)

    at_desk(work)


@settings.command("set", cls=ClientCommand)
def set_settings(
    pairs: Annotated[
        list[str], typer.Argument(metavar="NAME=VALUE…", help="VALUE is JSON, or text.")
    ],
    *,
    json: AsJson = False,
) -> None:
    """Change settings: all of them, or none if one is refused."""

    async def work(desk: "ClientContext") -> None:
        given: dict[str, Any] = {}
        for pair in pairs:
            name, sign, text = pair.partition("=")
            if not sign:
                raise CommandEnd(f"{pair!r} is not NAME=VALUE.", Exit.USAGE)
            given[name] = value_of(text)
        await _update(desk, given, json=json)

    at_desk(work)


@settings.command("unset", cls=ClientCommand)
def unset(
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Names of settings.")],
    *,
    json: AsJson = False,
) -> None:
    """Let the server's own settings count again."""
    at_desk(lambda desk: _update(desk, dict.fromkeys(names), json=json))


async def _update(desk: "ClientContext", given: dict[str, Any], *, json: bool) -> None:
    known = await desk.client.organization.settings.retrieve()
    for name in given:
        if name not in type(known).model_fields:
            raise CommandEnd(f"There is no setting {name}.", Exit.USAGE)
    _show(desk, await desk.client.organization.settings.update(**given), json=json)


def _show(desk: "ClientContext", found: "OrganizationSettings", *, json: bool) -> None:
    import orjson

    shown = found.model_dump(mode="json")
    if json:
        desk.screen.json(shown)
        return
    rows = [(name, orjson.dumps(value).decode()) for name, value in shown.items()]
    desk.screen.table(("SETTING", "VALUE"), rows)
