"""`holdfast lab eval` and its modes."""

import typer

from holdfast_lab.commands.eval import command, modes

eval_ = typer.Typer(invoke_without_command=True)
eval_.callback()(command.eval_)
eval_.command("oracle")(modes.oracle)
eval_.command("swebench")(modes.swebench)
