"""`holdfast admin keys` and `holdfast admin audit`: credentials of programs, and what was done."""

from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client.models import Key

keys = typer.Typer(no_args_is_help=True, help="API keys: credentials of programs.")


@keys.command("ls", cls=ClientCommand)
def ls(
    *,
    user: Annotated[
        str | None,
        typer.Option(
            help="Keys of this user, by e-mail address or id; admins see all keys by default."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """List keys; never their secrets."""

    async def work(desk: "ClientContext") -> None:
        from holdfast.cli.organise import find_user

        user_id = None if user is None else await find_user(desk, user)
        found = await desk.client.keys.list(user_id)
        if json:
            desk.screen.json([key.model_dump(mode="json") for key in found])
        else:
            rows = [(key.key_id, _state(key), ",".join(key.scopes), key.name) for key in found]
            desk.screen.table(("KEY", "STATE", "SCOPES", "NAME"), rows)

    at_desk(work)


@keys.command("create", cls=ClientCommand)
def create(
    name: Annotated[str, typer.Argument(help="Name of the key.")],
    *,
    scopes: Annotated[
        list[str] | None,
        typer.Option("--scope", help="read, write or admin (default: read and write)."),
    ] = None,
    expires_at: Annotated[
        str | None, typer.Option("--expires", help="Expiry time with a time zone, ISO 8601.")
    ] = None,
) -> None:
    """Create an API key for yourself and print it once."""

    async def work(desk: "ClientContext") -> None:
        wanted = scopes or ["read", "write"]
        made = await desk.client.keys.create(name, scopes=wanted, expires_at=expires_at)
        desk.screen.answer(made.secret)

    at_desk(work)


@keys.command("revoke", cls=ClientCommand)
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY", help="The whole id of the key.")],
) -> None:
    """Revoke a key: here at once, everywhere within 30 s."""

    async def work(desk: "ClientContext") -> None:
        await desk.client.keys.revoke(key_id)

    at_desk(work)


def audit(
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Maximum number of entries.")
    ] = 50,
    json: AsJson = False,
) -> None:
    """What was done in the organisation, newest first."""

    async def work(desk: "ClientContext") -> None:
        found = [entry async for entry in desk.client.audit.list(limit=limit)]
        if json:
            desk.screen.json([entry.model_dump(mode="json") for entry in found])
            return
        rows = [
            (
                str(entry.seq),
                entry.at.isoformat(timespec="seconds"),
                entry.actor_id or "",
                f"{entry.action} {entry.target_id or ''}".rstrip(),
            )
            for entry in found
        ]
        desk.screen.table(("SEQ", "AT", "BY", "WHAT"), rows)

    at_desk(work)


def _state(key: "Key") -> str:
    return "revoked" if key.revoked_at is not None else "holds"
