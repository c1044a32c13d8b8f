"""The command `holdfast lab bench`. Heavy imports are inside functions: see `cli/app.py`."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

LOAD: Final = partial(typer.Option, rich_help_panel="Load")
SETUP: Final = partial(typer.Option, rich_help_panel="Setup")
REPORT: Final = partial(typer.Option, rich_help_panel="Report")

Chats: TypeAlias = Annotated[int, LOAD(min=1, help="Chats, each with its own reader.")]
Turns: TypeAlias = Annotated[int, LOAD(min=1, help="Turns of each chat.")]
Storm: TypeAlias = Annotated[
    bool,
    LOAD(
        "--storm",
        help="All chats wait for the slowest answer, then send at once.",
    ),
]
Words: TypeAlias = Annotated[int, LOAD(min=1, help="Words of each answer.")]
Rate: TypeAlias = Annotated[float, LOAD(min=0, help="Words per second of an answer; 0: at once.")]
Think: TypeAlias = Annotated[float, LOAD(min=0, help="Seconds before the first word of an answer.")]
ToolCalls: TypeAlias = Annotated[int, LOAD(min=0, help="Tool calls of each turn.")]
Payload: TypeAlias = Annotated[
    int, LOAD(min=0, max=500_000, help="Bytes of padding in each message.")
]
Connections: TypeAlias = Annotated[
    int, LOAD(min=1, help="Connections to each replica for sending messages.")
]
Patience: TypeAlias = Annotated[float, LOAD(min=1, help="Timeout of each wait, in seconds.")]
Replicas: TypeAlias = Annotated[int, SETUP(min=1, help="Processes that serve HTTP.")]
Workers: TypeAlias = Annotated[
    int, SETUP(min=0, help="Worker processes; 0: the replicas drive turns.")
]
Bus: TypeAlias = Annotated[
    str, SETUP(help="URL of a Redis server (default: the bus on PostgreSQL).")
]
Baseline: TypeAlias = Annotated[
    int, SETUP(min=0, help="Seconds of pgbench, for comparison; 0: none.")
]
Urls: TypeAlias = Annotated[
    list[str] | None,
    SETUP(help="Measure this running server, once per replica; its model must be the simulator."),
]
Key: TypeAlias = Annotated[
    str, SETUP(envvar="HOLDFAST_API_KEY", help="API key for the server of --url.")
]
Model: TypeAlias = Annotated[
    str | None, SETUP(help="Model of the server of --url (default: its default model).")
]
Json: TypeAlias = Annotated[Path | None, REPORT(help="Write the figures here.")]
Html: TypeAlias = Annotated[Path | None, REPORT(help="Write a page with plots here.")]


def bench(
    context: typer.Context,
    *,
    chats: Chats = 100,
    turns: Turns = 5,
    storm: Storm = False,
    words: Words = 10,
    rate: Rate = 0.0,
    think: Think = 0.0,
    tools: ToolCalls = 0,
    payload: Payload = 0,
    connections: Connections = 16,
    patience: Patience = 60.0,
    replicas: Replicas = 1,
    workers: Workers = 1,
    bus: Bus = "",
    baseline: Baseline = 5,
    url: Urls = None,
    key: Key = "",
    model: Model = None,
    json: Json = None,
    html: Html = None,
) -> None:
    """Measure turns over HTTP, against the simulator, with a reader for each chat.

    Starts its own PostgreSQL server, replicas, workers and simulator and removes them afterwards,
    unless --url names a server. Every word of every answer is numbered and checked, and so is every
    history at the end.

    Exit codes: 0 every check passed, 1 a word was lost, doubled or out of order, or the measurement
    failed, 2 wrong usage.
    """
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    # Here, not above: `holdfast --help` need not load a whole server.
    from holdfast_lab.bench.load import Load
    from holdfast_lab.commands.bench.measured import Wish, measured

    if url and not key:
        raise typer.BadParameter("--url needs --key, or HOLDFAST_API_KEY.")
    load = Load(chats=chats, turns=turns, words=words, tools=tools, rate=rate, storm=storm)
    measured(
        Wish(
            load=replace(load, payload_bytes=payload, think_s=think),
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
    )


def _refuse_options(context: typer.Context) -> None:
    """Refuse options of `bench` itself before the name of a mode."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(
                f"--{name} belongs behind `{context.invoked_subcommand}`, if it takes that."
            )
