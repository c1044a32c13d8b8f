"""`holdfast admin users`: who may use a server."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client.admin_models import ChangedUser
    from holdfast_client.models import User

users = typer.Typer(no_args_is_help=True, help="The people of the organisation.")


class AccountRole(StrEnum):
    ADMIN = "admin"
    MEMBER = "member"


KeepKeys: TypeAlias = Annotated[
    bool, typer.Option("--keep-keys", help="Do not revoke the user's API keys.")
]
WhoArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="WHO", help="An e-mail address or a user's id.")
]


@users.command("list", cls=ClientCommand)
@users.command("ls", cls=ClientCommand, hidden=True)
def list_users(*, json: AsJson = False) -> None:
    """List users by name."""

    async def work(desk: "ClientContext") -> None:
        found = [user async for user in desk.client.users.list()]
        if json:
            desk.screen.json([user.model_dump(mode="json") for user in found])
        else:
            rows = [(user.id, _role(user), user.email or "", user.name) for user in found]
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
    json: AsJson = False,
) -> None:
    """Create a user and print the id."""

    async def work(desk: "ClientContext") -> None:
        password = _password() if password_stdin else None
        made = await desk.client.users.create(name, email, role=role.value, password=password)
        if json:
            desk.screen.model(made)
        else:
            desk.screen.answer(made.id)

    at_desk(work)


@users.command("disable", cls=ClientCommand)
def disable(who: WhoArgument, *, keep_keys: KeepKeys = False, json: AsJson = False) -> None:
    """Disable a user and revoke every credential; chats and history are kept."""

    async def work(desk: "ClientContext") -> None:
        user = await desk.client.users.update(
            await _id_of(desk, who), disabled=True, keep_api_keys=keep_keys
        )
        _tell(desk, user, f"Disabled {user.name}; {_revoked(user)}.", json=json)

    at_desk(work)


@users.command("enable", cls=ClientCommand)
def enable(who: WhoArgument, *, json: AsJson = False) -> None:
    """Enable a user again."""

    async def work(desk: "ClientContext") -> None:
        user = await desk.client.users.update(await _id_of(desk, who), disabled=False)
        _tell(desk, user, f"Enabled {user.name}.", json=json)

    at_desk(work)


@users.command("reset-password", cls=ClientCommand)
def reset_password(who: WhoArgument, *, keep_keys: KeepKeys = False, json: AsJson = False) -> None:
    """Set a user's password, read from stdin or a prompt; end the user's sessions and API keys."""

    async def work(desk: "ClientContext") -> None:
        user_id = await _id_of(desk, who)
        user = await desk.client.users.set_password(user_id, _password(), keep_api_keys=keep_keys)
        _tell(desk, user, f"{user.name} has a new password; {_revoked(user)}.", json=json)

    at_desk(work)


@users.command("set-role", cls=ClientCommand)
def set_role(
    who: WhoArgument,
    role: Annotated[AccountRole, typer.Argument(help="The new role.")],
    *,
    json: AsJson = False,
) -> None:
    """Change a user's role to admin or member."""

    async def work(desk: "ClientContext") -> None:
        user = await desk.client.users.update(await _id_of(desk, who), role=role.value)
        _tell(desk, user, f"{user.name} is {user.role}.", json=json)

    at_desk(work)


def _tell(desk: "ClientContext", user: "User", note: str, *, json: bool) -> None:
    if json:
        desk.screen.model(user)
    else:
        desk.screen.note(note, "")


def _revoked(user: "ChangedUser") -> str:
    count = user.revoked_api_key_count
    return "1 API key was revoked" if count == 1 else f"{count} API keys were revoked"


def _role(user: "User") -> str:
    return "disabled" if user.disabled_at is not None else user.role


async def _id_of(desk: "ClientContext", who: str) -> str:
    from holdfast.cli.organise import find_user

    return await find_user(desk, who)


def _password() -> str:
    import sys

    from holdfast.cli.input import read_password

    if sys.stdin.isatty():
        return typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return read_password()
