"""`holdfast admin`: commands of an operator, some of which work before the first account."""

import asyncio
from typing import Annotated

import typer

from holdfast.cli.admin_audit import audit
from holdfast.cli.admin_chats import chats
from holdfast.cli.admin_models import models
from holdfast.cli.admin_providers import providers
from holdfast.cli.admin_settings import settings
from holdfast.cli.admin_users import users
from holdfast.cli.client_context import ClientCommand

admin = typer.Typer(
    no_args_is_help=True,
    help="The first admin, users, chats, providers, models, settings, and the audit log.",
)
admin.add_typer(users, name="users")
admin.add_typer(chats, name="chats")
admin.add_typer(providers, name="providers")
admin.add_typer(models, name="models")
admin.add_typer(settings, name="settings")
admin.command("audit", cls=ClientCommand)(audit)


@admin.command("init")
def init(
    email: Annotated[str, typer.Option(help="E-mail address for signing in.")],
    password: Annotated[
        str,
        typer.Option(
            prompt=True,
            hide_input=True,
            confirmation_prompt=True,
            help="Prompted for if omitted: other users can read a command line.",
        ),
    ],
    name: Annotated[str, typer.Option(help="Name shown to other users.")] = "Admin",
    organization: Annotated[str, typer.Option(help="The first organization.")] = "Holdfast",
) -> None:
    """Create the first admin on an empty database and print an API key once."""
    # Here, not above: `holdfast --help` need not load a whole server.
    from holdfast.cli.process import EXIT_CANNOT, say
    from holdfast.domain.errors import HoldfastError

    try:
        secret = asyncio.run(
            _create(email=email, password=password, name=name, organization=organization)
        )
    except HoldfastError as reason:
        say(str(reason))
        raise typer.Exit(EXIT_CANNOT) from None
    if secret is None:
        say("There are users already: sign in as one of their admins.")
        raise typer.Exit(EXIT_CANNOT)
    typer.echo(secret)


async def _create(*, email: str, password: str, name: str, organization: str) -> str | None:
    from holdfast.bootstrap.edge import create_first_with_key, open_identity
    from holdfast.settings import ProcessRole, read_settings

    async with open_identity(read_settings(role=ProcessRole.API)) as identity:
        first = await create_first_with_key(
            identity, organisation=organization, email=email, password=password, name=name
        )
    return None if first is None else first.key.secret
