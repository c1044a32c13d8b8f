"""`holdfast dev`: a database, a model and a server, from nothing, and the same again next time."""

from pathlib import Path
from typing import Annotated

import typer


def dev(
    data: Annotated[
        Path | None,
        typer.Option(
            help="The folder that keeps everything. Left out: $XDG_DATA_HOME/holdfast; without that"
            " variable ~/.local/share/holdfast (macOS: ~/Library/Application Support/holdfast), as"
            " root /var/lib/holdfast."
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Instead of HOLDFAST_PORT (8080). 0: any."),
    ] = None,
) -> None:
    """Start everything on this machine: a database, a model that needs no key, and the server.

    The database is that of HOLDFAST_DATABASE_URL, or else a private PostgreSQL in the folder; the
    models are those of HOLDFAST_MODELS_FILE, or else the simulator. SIGINT or SIGTERM stops all of
    it, commands of workspaces included; the next start has the same chats, files and key.
    """
    # Here, not above: `holdfast --help` need not load a whole server.
    from holdfast.cli.dev.laptop import run_laptop

    run_laptop(data, port)
