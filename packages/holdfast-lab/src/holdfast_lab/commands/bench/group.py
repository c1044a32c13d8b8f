"""`holdfast lab bench` and its modes."""

import typer

from holdfast_lab.commands.bench import command, modes

bench = typer.Typer(invoke_without_command=True)
bench.callback()(command.bench)
bench.command("latency")(modes.latency)
bench.command("idle")(modes.idle)
bench.command("growth")(modes.growth)
bench.command("soak")(modes.soak)
