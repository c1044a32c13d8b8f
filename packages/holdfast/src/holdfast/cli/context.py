"""`holdfast context`: several servers, and which of them is meant."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.client_context import ClientCommand, run
from holdfast.cli.exit_codes import CommandEnd, Exit
from holdfast.cli.options import AsJson

if TYPE_CHECKING:
    from holdfast.cli.screen import Screen

context = typer.Typer(no_args_is_help=True, help="The servers that one has signed in to.")


@context.command("ls", cls=ClientCommand)
def ls(*, json: AsJson = False) -> None:
    """List contexts; the current one is marked with a star."""

    async def work(screen: "Screen") -> None:
        from holdfast_client.config import read_config

        config = read_config()
        rows = [
            ("*" if name == config.current else "", name, target.url)
            for name, target in config.contexts.items()
        ]
        if json:
            screen.json(
                [{"name": name, "url": url, "current": bool(star)} for star, name, url in rows]
            )
        elif rows:
            screen.table(("", "NAME", "URL"), rows)
        else:
            screen.note("There are none: run `holdfast login`.")

    run(work)


@context.command("use", cls=ClientCommand)
def use(name: Annotated[str, typer.Argument(help="A name from `holdfast context ls`.")]) -> None:
    """Use this server from now on."""

    async def work(screen: "Screen") -> None:
        from holdfast_client.config import read_config, write_config

        config = read_config()
        if name not in config.contexts:
            raise CommandEnd(f"There is no context {name}: see `holdfast context ls`.", Exit.USAGE)
        write_config(replace(config, current=name))
        screen.note(f"{config.contexts[name].url} from now on.", "")

    run(work)
