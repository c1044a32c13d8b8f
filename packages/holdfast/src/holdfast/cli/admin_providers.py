"""`holdfast admin providers`: where models are served, and the keys for it."""

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from holdfast.cli.admin_fields import KeyStdin, Set, chosen, fields_of, read_key
from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client.admin_models import Provider

providers = typer.Typer(no_args_is_help=True, help="Providers of models, and their keys.")

ProviderArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="PROVIDER", help="A provider's name or id.")
]
BaseUrl: TypeAlias = Annotated[
    str | None, typer.Option(help="Address of the API (default: the vendor's own).")
]
Value: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="For a place in the vendor's address, such as region."),
]


UserKeys: TypeAlias = Annotated[
    bool | None,
    typer.Option("--user-keys/--no-user-keys", help="Whether users may store keys of their own."),
]


@providers.command("list", cls=ClientCommand)
@providers.command("ls", cls=ClientCommand, hidden=True)
def list_providers(*, json: AsJson = False) -> None:
    """List the providers that admins added."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.client.organization.providers.list()
        if json:
            desk.screen.json([each.model_dump(mode="json") for each in found])
            return
        rows = [
            (each.id, each.name, each.vendor, _state(each), each.key_last_four or "")
            for each in found
        ]
        desk.screen.table(("PROVIDER", "NAME", "VENDOR", "STATE", "KEY ENDS IN"), rows)

    at_desk(work)


@providers.command("add", cls=ClientCommand)
def add(
    name: Annotated[str, typer.Argument(help="Name of the provider.")],
    vendor: Annotated[str, typer.Argument(help="Whose API it is, such as openai.")],
    *,
    base_url: BaseUrl = None,
    value: Value = None,
    key_stdin: KeyStdin = False,
    user_keys: UserKeys = None,
    fields: Set = None,
    json: AsJson = False,
) -> None:
    """Add a provider and print its id. The key is stored encrypted."""

    async def work(desk: "ClientContext") -> None:
        made = await desk.client.organization.providers.create(
            name,
            vendor,
            base_url=base_url,
            key=read_key() if key_stdin else None,
            values=_texts(value),
            settings=fields_of(fields) or None,
            user_keys=user_keys,
        )
        if json:
            desk.screen.model(made)
        else:
            desk.screen.answer(made.id)

    at_desk(work)


@providers.command("change", cls=ClientCommand)
def change(
    provider: ProviderArgument,
    *,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    base_url: BaseUrl = None,
    value: Value = None,
    key_stdin: KeyStdin = False,
    user_keys: UserKeys = None,
    fields: Set = None,
    json: AsJson = False,
) -> None:
    """Change a provider. Another host drops the keys that are not given again."""

    async def work(desk: "ClientContext") -> None:
        given: dict[str, Any] = {
            "name": name,
            "base_url": base_url,
            "values": _texts(value),
            "key": read_key() if key_stdin else None,
            "settings": fields_of(fields) or None,
            "user_keys": user_keys,
        }
        await _update(desk, provider, "Changed", json=json, **given)

    at_desk(work)


@providers.command("enable", cls=ClientCommand)
def enable(provider: ProviderArgument, *, json: AsJson = False) -> None:
    """Let the models of a provider be used again."""
    at_desk(lambda desk: _update(desk, provider, "Enabled", json=json, is_enabled=True))


@providers.command("disable", cls=ClientCommand)
def disable(provider: ProviderArgument, *, json: AsJson = False) -> None:
    """Let no attempt begin with the models of a provider. Replies under way go on."""
    at_desk(lambda desk: _update(desk, provider, "Disabled", json=json, is_enabled=False))


@providers.command("delete", cls=ClientCommand)
@providers.command("rm", cls=ClientCommand, hidden=True)
def delete(provider: ProviderArgument) -> None:
    """Delete a provider with its key and its models."""

    async def work(desk: "ClientContext") -> None:
        found = await find_provider(desk, provider)
        await desk.client.organization.providers.delete(found.id)
        desk.screen.note(f"Deleted {found.name}.", "")

    at_desk(work)


async def find_provider(desk: "ClientContext", wanted: str) -> "Provider":
    found = await desk.client.organization.providers.list()
    return chosen("provider", wanted, ((each.id, each.name, each) for each in found))


async def _update(
    desk: "ClientContext",
    wanted: str,
    done: str,
    *,
    json: bool,
    **given: Any,  # noqa: ANN401 - as the SDK takes it
) -> None:
    found = await find_provider(desk, wanted)
    said = {name: value for name, value in given.items() if value is not None}
    changed = await desk.client.organization.providers.update(found.id, **said)
    if json:
        desk.screen.model(changed)
    else:
        desk.screen.note(f"{done} {changed.name}.", "")


def _texts(given: list[str] | None) -> dict[str, str] | None:
    """Of an address: a number is text, too."""
    return {name: str(value) for name, value in fields_of(given).items()} or None


def _state(provider: "Provider") -> str:
    if not provider.is_enabled:
        return "disabled"
    return "ready" if provider.secret_fields else "no key"
