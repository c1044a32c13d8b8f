"""`holdfast context`: several servers, and which of them is meant."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli.client_context import ClientCommand, run
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.screen import Screen
    from holdfast_client.config import Config

context = typer.Typer(no_args_is_help=True, help="The servers that one has signed in to.")


@context.command("list", cls=ClientCommand)
@context.command("ls", cls=ClientCommand, hidden=True)
def list_contexts(*, json: AsJson = False) -> None:
    """List contexts; the current one is marked with a star."""

    async def work(screen: "Screen") -> None:
        from holdfast_client.config import read_config

        config = read_config()
        found = [_row(config, name) for name in config.contexts]
        if json:
            screen.json(found)
        elif found:
            rows = [("*" if each["current"] else "", each["name"], each["url"]) for each in found]
            screen.table(("", "NAME", "URL"), rows)
        else:
            screen.note("There are none: run `holdfast login`.")

    run(work)


@context.command("current", cls=ClientCommand)
def current(*, json: AsJson = False) -> None:
    """Print the name of the current context."""

    async def work(screen: "Screen") -> None:
        from holdfast_client.config import read_config

        config = read_config()
        if config.current is None or config.current not in config.contexts:
            raise CommandEnd("There is no current context: run `holdfast login`.", Exit.NOT_FOUND)
        if json:
            screen.json(_row(config, config.current))
        else:
            screen.answer(config.current)

    run(work)


@context.command("use", cls=ClientCommand)
def use(
    name: Annotated[str, typer.Argument(help="A name from `holdfast context list`.")],
    *,
    json: AsJson = False,
) -> None:
    """Use this server from now on."""

    async def work(screen: "Screen") -> None:
        from holdfast_client.config import read_config, write_config

        config = read_config()
        if name not in config.contexts:
            unknown = f"There is no context {name}: see `holdfast context list`."
            raise CommandEnd(unknown, Exit.USAGE)
        changed = replace(config, current=name)
        write_config(changed)
        if json:
            screen.json(_row(changed, name))
        else:
            screen.note(f"{config.contexts[name].url} from now on.", "")

    run(work)


def _row(config: "Config", name: str) -> dict[str, Any]:
    url = config.contexts[name].url
    return {"name": name, "url": url, "current": name == config.current}
