"""Entry point of the `holdfast` command: which command is found in which file.

Modules here import nothing heavy at their top. What talks to a server loads the SDK when it runs,
what is a server loads itself; `holdfast --help` loads neither.
"""

import sys
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from holdfast.cli import approve, organise, send, show, status, steer
from holdfast.cli.admin import admin
from holdfast.cli.api import api
from holdfast.cli.api_keys import api_keys
from holdfast.cli.attach import attach
from holdfast.cli.chat import chat
from holdfast.cli.client_context import ClientCommand
from holdfast.cli.completion import completion
from holdfast.cli.context import context
from holdfast.cli.database import db
from holdfast.cli.dev.command import dev
from holdfast.cli.doctor import doctor
from holdfast.cli.list_chats import list_chats
from holdfast.cli.login import login, logout, whoami
from holdfast.cli.models import models
from holdfast.cli.plugins import lab_commands
from holdfast.cli.provider_keys import provider_keys
from holdfast.cli.queue import queue
from holdfast.cli.run import run
from holdfast.cli.secrets import secrets
from holdfast.cli.serve import serve
from holdfast.cli.watch import watch
from holdfast.cli.worker import worker
from holdfast.cli.workspace import templates, workspace
from holdfast_agent.command import agent

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",  # paragraphs are filled to the width of the terminal
    help="AI agent chats that never lose a turn.",
)

WORK: Final = "Work"
READ: Final = "Read"
CHANGE: Final = "Change"
ACCOUNT: Final = "Server and account"
OPERATE: Final = "Operate a server"

CLIENT: Final[dict[str, dict[str, Callable[..., Any]]]] = {
    WORK: {
        "run": run,
        "chat": chat,
        "attach": attach,
        "send": send.send,
        "wait": send.wait,
        "interrupt": steer.interrupt,
        "retry": steer.retry,
        "compact": steer.compact,
        "respond": steer.respond,
        "approve": approve.approve,
        "deny": approve.deny,
    },
    READ: {"list": list_chats, "show": show.show, "export": show.export, "watch": watch},
    CHANGE: {
        "rename": organise.rename,
        "pin": organise.pin,
        "unpin": organise.unpin,
        "label": organise.label,
        "metadata": organise.metadata,
        "archive": organise.archive,
        "unarchive": organise.unarchive,
        "fork": organise.fork,
        "share": organise.share,
        "unshare": organise.unshare,
    },
    ACCOUNT: {
        "login": login,
        "logout": logout,
        "whoami": whoami,
        "status": status.status,
        "version": status.version,
        "doctor": doctor,
        "api": api,
    },
}
SERVER: Final[dict[str, Callable[..., Any]]] = {
    "dev": dev,
    "serve": serve,
    "worker": worker,
    "workspace-agent": agent,
}


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,  # noqa: FBT002
) -> None:
    if show:
        from importlib import metadata

        typer.echo(f"holdfast {metadata.version('holdfast')}")
        raise typer.Exit


for panel, commands in CLIENT.items():
    for name, command in commands.items():
        app.command(name, cls=ClientCommand, rich_help_panel=panel)(command)
app.command("ls", cls=ClientCommand, hidden=True)(list_chats)
app.add_typer(queue, name="queue", rich_help_panel=CHANGE)
app.add_typer(workspace, name="workspace", rich_help_panel=CHANGE)
app.add_typer(models, name="models", rich_help_panel=READ)
app.add_typer(templates, name="workspace-templates", rich_help_panel=READ)
app.add_typer(api_keys, name="api-keys", rich_help_panel=ACCOUNT)
app.add_typer(provider_keys, name="provider-keys", rich_help_panel=ACCOUNT)
app.add_typer(context, name="context", rich_help_panel=ACCOUNT)
app.command("completion", rich_help_panel=ACCOUNT)(completion)
for name, command in SERVER.items():
    app.command(name, rich_help_panel=OPERATE)(command)
app.add_typer(db, name="db", rich_help_panel=OPERATE)
app.add_typer(secrets, name="secrets", rich_help_panel=OPERATE)
app.add_typer(admin, name="admin", rich_help_panel=OPERATE)
app.add_typer(lab_commands(), name="lab", rich_help_panel=OPERATE)


def main() -> None:
    if not __debug__:
        # The asserts are the last wall before the disk.
        sys.stderr.write("holdfast does not run under python -O: its asserts are part of it.\n")
        raise SystemExit(2)
    app()
