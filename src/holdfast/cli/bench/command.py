"""`holdfast bench`, as it is asked for. Heavy imports stand in functions: see `cli/app.py`."""

from pathlib import Path
from typing import Annotated, Final

import typer

LOAD: Final = "Load"
SETUP: Final = "What is measured"
REPORT: Final = "Report"


def bench(
    *,
    chats: Annotated[
        int, typer.Option(min=1, help="Chats, each with its own reader.", rich_help_panel=LOAD)
    ] = 100,
    turns: Annotated[
        int, typer.Option(min=1, help="Turns of each chat.", rich_help_panel=LOAD)
    ] = 5,
    storm: Annotated[
        bool,
        typer.Option(
            "--storm",
            help="Nobody speaks again before all have been answered; then everybody does at once.",
            rich_help_panel=LOAD,
        ),
    ] = False,
    words: Annotated[
        int, typer.Option(min=1, help="Words of each answer.", rich_help_panel=LOAD)
    ] = 10,
    rate: Annotated[
        float,
        typer.Option(
            min=0, help="Words per second of an answer; 0: at once.", rich_help_panel=LOAD
        ),
    ] = 0.0,
    tools: Annotated[
        int, typer.Option(min=0, help="Tool calls of each turn.", rich_help_panel=LOAD)
    ] = 0,
    payload: Annotated[
        int,
        typer.Option(
            min=0,
            max=500_000,
            help="Bytes of padding in each message.",
            rich_help_panel=LOAD,
        ),
    ] = 0,
    connections: Annotated[
        int,
        typer.Option(
            min=1, help="Over which messages are sent to each replica.", rich_help_panel=LOAD
        ),
    ] = 16,
    patience: Annotated[
        float,
        typer.Option(min=1, help="Seconds in which something must happen.", rich_help_panel=LOAD),
    ] = 60.0,
    replicas: Annotated[
        int,
        typer.Option(min=1, help="Processes that serve people.", rich_help_panel=SETUP),
    ] = 1,
    workers: Annotated[
        int,
        typer.Option(
            min=0,
            help="Processes that drive turns; 0: the replicas do.",
            rich_help_panel=SETUP,
        ),
    ] = 1,
    bus: Annotated[
        str,
        typer.Option(help="A Redis server; else PostgreSQL.", rich_help_panel=SETUP),
    ] = "",
    baseline: Annotated[
        int,
        typer.Option(
            min=0,
            help="Seconds of pgbench; 0: nothing to compare with.",
            rich_help_panel=SETUP,
        ),
    ] = 5,
    url: Annotated[
        list[str] | None,
        typer.Option(
            help="A running server instead, by replica; its model must be the simulator.",
            rich_help_panel=SETUP,
        ),
    ] = None,
    key: Annotated[
        str,
        typer.Option(envvar="HOLDFAST_TOKEN", help="For that server.", rich_help_panel=SETUP),
    ] = "",
    model: Annotated[
        str | None,
        typer.Option(help="Of that server; else its default.", rich_help_panel=SETUP),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="Write the figures here.", rich_help_panel=REPORT)
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with plots here.", rich_help_panel=REPORT)
    ] = None,
) -> None:
    """Measure: chats that are all watched, against the simulator, over HTTP as people use it.

    Starts a PostgreSQL server, replicas, workers and a simulator of its own and removes them
    afterwards, unless --url names a server. Every word of every answer is numbered and checked, and
    so is every history at the end.

    Exit codes: 0 all was right, 1 something was lost, doubled or out of order, or it could not be
    measured, 2 wrong usage.
    """
    # Here, not above: `holdfast --help` need not load a whole server.
    from holdfast.bench.load import Load
    from holdfast.cli.bench.measured import Wish, measured

    if url and not key:
        raise typer.BadParameter("--url needs --key, or HOLDFAST_TOKEN.")
    load = Load(
        chats=chats,
        turns=turns,
        words=words,
        tools=tools,
        payload_bytes=payload,
        rate=rate,
        storm=storm,
    )
    wish = Wish(
        load=load,
        replicas=replicas,
        workers=workers,
        bus_url=bus,
        baseline_s=baseline,
        urls=tuple(each.rstrip("/") for each in url or ()),
        key=key,
        model=model,
        connections=connections,
        patience_s=patience,
        json=json,
        html=html,
    )
    measured(wish)
