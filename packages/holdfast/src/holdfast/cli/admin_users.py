"""`holdfast admin users`: who may use a server."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client.models import User

users = typer.Typer(no_args_is_help=True, help="The people of the organisation.")


class AccountRole(StrEnum):
    ADMIN = "admin"
    MEMBER = "member"


WhoArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="WHO", help="An e-mail address or a user's id.")
]


@users.command("ls", cls=ClientCommand)
def ls(*, json: AsJson = False) -> None:
    """List users by name."""

    async def work(desk: "ClientContext") -> None:
        found = [user async for user in desk.client.users.list()]
        if json:
            desk.screen.json([user.model_dump(mode="json") for user in found])
        else:
            rows = [(user.user_id, _role(user), user.email or "", user.name) for user in found]
            desk.screen.table(("USER", "ROLE", "E-MAIL", "NAME"), rows)

    at_desk(work)


@users.command("create", cls=ClientCommand)
def create(
    email: Annotated[str, typer.Argument(help="E-mail address for signing in.")],
    name: Annotated[str, typer.Argument(help="Name shown to other users.")],
    *,
    role: Annotated[AccountRole, typer.Option(help="Role of the user.")] = AccountRole.MEMBER,
    password_stdin: Annotated[
        bool,
        typer.Option("--password-stdin", help="Read a password from stdin (default: no password)."),
    ] = False,
) -> None:
    """Create a user and print the id."""

    async def work(desk: "ClientContext") -> None:
        password = _password() if password_stdin else None
        made = await desk.client.users.create(name, email, role=role.value, password=password)
        desk.screen.answer(made.user_id)

    at_desk(work)


@users.command("disable", cls=ClientCommand)
def disable(who: WhoArgument) -> None:
    """Disable a user and every credential; chats and history are kept."""

    async def work(desk: "ClientContext") -> None:
        user = await desk.client.users.disable(await _id_of(desk, who))
        desk.screen.note(f"Disabled {user.name}.", "")

    at_desk(work)


@users.command("enable", cls=ClientCommand)
def enable(who: WhoArgument) -> None:
    """Enable a user again."""

    async def work(desk: "ClientContext") -> None:
        user = await desk.client.users.enable(await _id_of(desk, who))
        desk.screen.note(f"Enabled {user.name}.", "")

    at_desk(work)


@users.command("reset", cls=ClientCommand)
def reset(who: WhoArgument) -> None:
    """Set a user's password, read from stdin or a prompt, and end every session of the user."""

    async def work(desk: "ClientContext") -> None:
        user_id = await _id_of(desk, who)
        user = await desk.client.users.set_password(user_id, _password())
        desk.screen.note(f"{user.name} has a new password.", "")

    at_desk(work)


@users.command("role", cls=ClientCommand)
def set_role(
    who: WhoArgument, role: Annotated[AccountRole, typer.Argument(help="The new role.")]
) -> None:
    """Change a user's role to admin or member."""

    async def work(desk: "ClientContext") -> None:
        user = await desk.client.users.set_role(await _id_of(desk, who), role.value)
        desk.screen.note(f"{user.name} is {user.role}.", "")

    at_desk(work)


def _role(user: "User") -> str:
    return "disabled" if user.disabled_at is not None else user.role


async def _id_of(desk: "ClientContext", who: str) -> str:
    from holdfast.cli.organise import find_user

    return await find_user(desk, who)


def _password() -> str:
    import sys

    from holdfast.cli.exit_codes import CommandEnd, Exit

    if sys.stdin.isatty():
        return typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    password = sys.stdin.readline().rstrip("\n")
    if not password:
        raise CommandEnd("No password came on stdin.", Exit.USAGE)
    return password
