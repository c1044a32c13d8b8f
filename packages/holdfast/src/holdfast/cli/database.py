"""`holdfast db`: what an operator does to the database itself.

Imports that are heavy stand in functions: `holdfast --help` and `holdfast run` need none of them.
"""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from holdfast.adapters.postgres.verify import Violation

db = typer.Typer(no_args_is_help=True, help="The schema and the rows of the database.")


@db.command("migrate")
def migrate(
    down: Annotated[
        int, typer.Option(min=0, help="Undo this many migrations instead; their tables are lost.")
    ] = 0,
    *,
    role_settings: Annotated[
        bool,
        typer.Option(
            "--role-settings",
            help="Also set Holdfast's timeouts as defaults of its role in this database, for a"
            " pooler in transaction mode.",
        ),
    ] = False,
) -> None:
    """Bring the database of HOLDFAST_DATABASE_URL to the schema of this version."""
    from holdfast.adapters.postgres.migrate import migrate as apply_migrations
    from holdfast.adapters.postgres.migrate import roll_back
    from holdfast.adapters.postgres.pool import set_role_settings
    from holdfast.cli.process import EXIT_CANNOT, say
    from holdfast.domain.errors import HoldfastError
    from holdfast.settings import Settings

    url = Settings().direct_url
    try:
        asyncio.run(roll_back(url, count=down) if down else apply_migrations(url))
        if role_settings:
            asyncio.run(set_role_settings(url))
    except HoldfastError as reason:
        say(str(reason))
        raise typer.Exit(EXIT_CANNOT) from None
    typer.echo("The schema is up to date." if not down else f"Undone: {down}.")


@db.command("verify")
def verify(
    *,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Look for rows that break an invariant. Reads every message: run it when the load is low."""
    violations = asyncio.run(_find_violations())
    if json:
        import orjson

        typer.echo(orjson.dumps([_json(each) for each in violations]).decode())
    else:
        for violation in violations:
            typer.echo(f"{_chat(violation)}  {violation.rule}  ({violation.detail})")
        typer.echo(f"{len(violations)} violations.")
    raise typer.Exit(1 if violations else 0)


def _json(violation: "Violation") -> dict[str, str]:
    return {
        "chat_id": _chat(violation),
        "rule": violation.rule,
        "detail": violation.detail,
    }


def _chat(violation: "Violation") -> str:
    from holdfast.domain.public_ids import CHAT_ID

    return CHAT_ID.encode(violation.chat_id)


async def _find_violations() -> "list[Violation]":
    from holdfast.adapters.postgres.pool import PoolOptions, open_pool
    from holdfast.adapters.postgres.verify import verify as find_violations
    from holdfast.settings import Settings

    # One connection and a long breath: this reads the whole database once.
    options = PoolOptions(
        connections_min=1,
        connections_max=1,
        command_timeout_s=3600.0,
        statement_timeout_ms=3_600_000,
        writes=False,
    )
    async with open_pool(Settings().direct_url, options) as pool:
        return await find_violations(pool)
