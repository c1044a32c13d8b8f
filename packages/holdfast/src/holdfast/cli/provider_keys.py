"""`holdfast provider-keys`: keys of one's own for providers of models."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from holdfast.cli.admin_fields import chosen, read_key
from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client.admin_models import ProviderKey

provider_keys = typer.Typer(
    no_args_is_help=True, help="Your own keys for providers of models, where an admin allows them."
)

ProviderArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="PROVIDER", help="A provider's name or id.")
]


@provider_keys.command("list", cls=ClientCommand)
@provider_keys.command("ls", cls=ClientCommand, hidden=True)
def list_provider_keys(*, json: AsJson = False) -> None:
    """List the providers that allow keys of users; never the keys."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.client.provider_keys.list()
        if json:
            desk.screen.json([each.model_dump(mode="json") for each in found])
            return
        rows = [(each.provider_id, each.name, each.vendor, _state(each)) for each in found]
        desk.screen.table(("PROVIDER", "NAME", "VENDOR", "YOUR KEY"), rows)

    at_desk(work)


@provider_keys.command("set", cls=ClientCommand)
def set_provider_key(provider: ProviderArgument, *, json: AsJson = False) -> None:
    """Store your own key, read from stdin or a prompt; your chats use it."""

    async def work(desk: "ClientContext") -> None:
        found = await _find(desk, provider)
        stored = await desk.client.provider_keys.set(found.provider_id, read_key())
        if json:
            desk.screen.model(stored)
        else:
            desk.screen.note(f"Stored your key for {stored.name}.", "")

    at_desk(work)


@provider_keys.command("delete", cls=ClientCommand)
@provider_keys.command("rm", cls=ClientCommand, hidden=True)
def delete_provider_key(provider: ProviderArgument) -> None:
    """Delete your own key; your chats use the provider's."""

    async def work(desk: "ClientContext") -> None:
        found = await _find(desk, provider)
        await desk.client.provider_keys.delete(found.provider_id)
        desk.screen.note(f"Deleted your key for {found.name}.", "")

    at_desk(work)


async def _find(desk: "ClientContext", wanted: str) -> "ProviderKey":
    found = await desk.client.provider_keys.list()
    return chosen("provider", wanted, ((each.provider_id, each.name, each) for each in found))


def _state(found: "ProviderKey") -> str:
    if not found.has_key:
        return "none"
    return "stored" if found.is_allowed else "not used: not allowed"
