"""`holdfast api-keys`: credentials of programs."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.input import read_password
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client.models import ApiKey

api_keys = typer.Typer(no_args_is_help=True, help="API keys: credentials of programs.")


@api_keys.command("list", cls=ClientCommand)
@api_keys.command("ls", cls=ClientCommand, hidden=True)
def list_keys(
    *,
    user: Annotated[
        str,
        typer.Option(
            help="Keys of this user: me, an e-mail address or id, or any for those of all users."
        ),
    ] = "me",
    json: AsJson = False,
) -> None:
    """List keys; never their secrets."""

    async def work(desk: "ClientContext") -> None:
        from holdfast.cli.organise import find_user

        user_id = user if user in ("me", "any") else await find_user(desk, user)
        found = [key async for key in desk.client.api_keys.list(user_id)]
        if json:
            desk.screen.json([key.model_dump(mode="json") for key in found])
        else:
            rows = [(key.id, _state(key), ",".join(key.scopes), key.name) for key in found]
            desk.screen.table(("KEY", "STATE", "SCOPES", "NAME"), rows)

    at_desk(work)


@api_keys.command("create", cls=ClientCommand)
def create(
    name: Annotated[str, typer.Argument(help="Name of the key.")],
    *,
    scopes: Annotated[
        list[str] | None,
        typer.Option("--scope", help="read, write, approve or admin (default: read and write)."),
    ] = None,
    expires_at: Annotated[
        str | None,
        typer.Option(
            "--expires",
            help="Expiry time with a time zone, ISO 8601, or never (default: in 90 days).",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Create an API key for yourself and print it once. Asks for your password, or reads it from
    stdin: no API key creates another one."""

    async def work(desk: "ClientContext") -> None:
        wanted = scopes or ["read", "write"]
        email = (await desk.client.me()).user.email
        if email is None:
            raise CommandEnd("Your account has no e-mail: create the key in the page.", Exit.USAGE)
        await desk.client.sessions.create(email, read_password())
        try:
            made = await desk.client.api_keys.create(name, scopes=wanted, expires_at=expires_at)
        finally:
            await desk.client.sessions.delete_current()
        if json:
            desk.screen.model(made)
        else:
            desk.screen.answer(made.secret)

    at_desk(work)


@api_keys.command("revoke", cls=ClientCommand)
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="The whole id of the key.")],
) -> None:
    """Revoke a key: here at once, everywhere within 30 s."""

    async def work(desk: "ClientContext") -> None:
        await desk.client.api_keys.revoke(key_id)

    at_desk(work)


def _state(key: "ApiKey") -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "holds" if key.expires_at is None else f"until {key.expires_at:%Y-%m-%d}"
