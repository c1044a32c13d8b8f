"""`holdfast admin models`: the models of the organisation, and which one is the default."""

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from holdfast.cli.admin_fields import Set, chosen, fields_of
from holdfast.cli.admin_providers import find_provider
from holdfast.cli.client_context import ClientCommand, at_desk
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.client_context import ClientContext
    from holdfast_client.admin_models import OrganizationModel

models = typer.Typer(no_args_is_help=True, help="The models of the organisation.")

ModelArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model's name or id.")
]


@models.command("list", cls=ClientCommand)
@models.command("ls", cls=ClientCommand, hidden=True)
def list_models(*, json: AsJson = False) -> None:
    """List every model with its state and purposes; the default is marked with a star."""

    async def work(desk: "ClientContext") -> None:
        found = await desk.client.organization.models.list()
        if json:
            desk.screen.json([each.model_dump(mode="json") for each in found])
            return
        rows = [
            (
                each.id or "",
                f"{each.name} *" if each.is_default else each.name,
                each.source,
                each.state,
                ", ".join(each.purposes),
            )
            for each in found
        ]
        desk.screen.table(("MODEL", "NAME", "FROM", "STATE", "USED FOR"), rows)

    at_desk(work)


@models.command("add", cls=ClientCommand)
def add(
    name: Annotated[str, typer.Argument(help="What messages name it by.")],
    provider: Annotated[str, typer.Argument(help="The name or id of its provider.")],
    *,
    model: Annotated[
        str | None, typer.Option(help="How the provider names it (default: NAME).")
    ] = None,
    default: Annotated[bool, typer.Option("--default", help="Make it the default.")] = False,
    fields: Set = None,
    json: AsJson = False,
) -> None:
    """Add a model and print its id."""

    async def work(desk: "ClientContext") -> None:
        found = await find_provider(desk, provider)
        made = await desk.client.organization.models.create(
            name,
            found.id,
            settings={"model": model or name, **fields_of(fields)},
            is_default=default or None,
        )
        if json:
            desk.screen.model(made)
        else:
            desk.screen.answer(made.id or "")

    at_desk(work)


@models.command("change", cls=ClientCommand)
def change(
    model: ModelArgument,
    *,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    fields: Set = None,
    json: AsJson = False,
) -> None:
    """Change a model. The next attempt uses it as it is then."""

    async def work(desk: "ClientContext") -> None:
        given: dict[str, Any] = {"name": name, "settings": fields_of(fields) or None}
        await _update(desk, model, "Changed", json=json, **given)

    at_desk(work)


@models.command("test", cls=ClientCommand)
def check(model: ModelArgument, *, json: AsJson = False) -> None:
    """Ask a model for one word, which its provider bills. Exits with 1 if it does not answer."""

    async def work(desk: "ClientContext") -> None:
        found = await _find(desk, model)
        said = await desk.client.organization.models.test(_id_of(found))
        if json:
            desk.screen.model(said)
        if not said.answered:
            raise CommandEnd(said.failure or "It did not answer.", Exit.FAILED)
        if not json:
            desk.screen.note(f"{found.name} answered after {said.took_ms} ms.", "")

    at_desk(work)


@models.command("enable", cls=ClientCommand)
def enable(model: ModelArgument, *, json: AsJson = False) -> None:
    """Let a model be used again."""
    at_desk(lambda desk: _update(desk, model, "Enabled", json=json, is_enabled=True))


@models.command("disable", cls=ClientCommand)
def disable(model: ModelArgument, *, json: AsJson = False) -> None:
    """Let no attempt begin with a model. Replies under way go on."""
    at_desk(lambda desk: _update(desk, model, "Disabled", json=json, is_enabled=False))


@models.command("default", cls=ClientCommand)
def make_default(model: ModelArgument, *, json: AsJson = False) -> None:
    """Make a model the default: for messages that name none."""
    at_desk(lambda desk: _update(desk, model, "The default is", json=json, is_default=True))


@models.command("delete", cls=ClientCommand)
@models.command("rm", cls=ClientCommand, hidden=True)
def delete(model: ModelArgument) -> None:
    """Delete a model. Messages keep its name."""

    async def work(desk: "ClientContext") -> None:
        found = await _find(desk, model)
        await desk.client.organization.models.delete(_id_of(found))
        desk.screen.note(f"Deleted {found.name}.", "")

    at_desk(work)


async def _update(
    desk: "ClientContext",
    wanted: str,
    done: str,
    *,
    json: bool,
    **given: Any,  # noqa: ANN401 - as the SDK takes it
) -> None:
    found = await _find(desk, wanted)
    said = {name: value for name, value in given.items() if value is not None}
    changed = await desk.client.organization.models.update(_id_of(found), **said)
    if json:
        desk.screen.model(changed)
    else:
        desk.screen.note(f"{done} {changed.name}.", "")


async def _find(desk: "ClientContext", wanted: str) -> "OrganizationModel":
    found = await desk.client.organization.models.list()
    return chosen("model", wanted, ((each.id, each.name, each) for each in found))


def _id_of(model: "OrganizationModel") -> str:
    if model.id is None:
        raise CommandEnd(
            f"{model.name} is of the models file of the server: change it there.", Exit.USAGE
        )
    return model.id
