"""The names of commands and options: one verb for one thing, in every group."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
import typer
from typer.testing import CliRunner

from holdfast.cli import api, organise
from holdfast.cli.app import app

ALIASES = {"ls": "list", "rm": "delete"}
WITHOUT_JSON = {
    "chat": "a dialogue on a terminal",
    "completion": "prints a script",
    "export": "has --format",
    "login": "a dialogue on a terminal",
    "logout": "prints nothing on stdout",
    "api": "prints nothing but JSON",
    "api-keys revoke": "prints nothing",
    "provider-keys delete": "prints nothing",
    "admin models delete": "prints nothing",
    "admin providers delete": "prints nothing",
    "dev": "a server",
    "serve": "a server",
    "worker": "a server",
    "workspace-agent": "a server",
    "admin init": "prints a key and nothing else",
    "db migrate": "prints one sentence",
    "lab eval oracle": "prints a line for each task; the exit code is the result",
    "lab eval swebench": "writes folders",
    "lab simulate": "a server",
}


def walk(command: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every command that runs something: its path, itself, and its group."""
    for name, each in command.commands.items():
        if hasattr(each, "commands"):
            yield from walk(each, f"{path} {name}".strip())
        else:
            yield f"{path} {name}".strip(), each, command


COMMANDS = list(walk(cast("Any", typer.main.get_command(app))))


def test_the_only_aliases_are_ls_and_rm() -> None:
    hidden = [(path, each, group) for path, each, group in COMMANDS if each.hidden]
    assert len(hidden) > 5
    for path, each, group in hidden:
        verb = ALIASES[path.split()[-1]]
        assert each.callback.__wrapped__ is group.commands[verb].callback.__wrapped__, path
    visible = {path.split()[-1] for path, each, _ in COMMANDS if not each.hidden}
    assert not visible & {*ALIASES, "mv", "take", "remove", "reset", "role"}


@pytest.mark.parametrize("alias", ALIASES)
def test_every_list_and_every_delete_has_its_alias(alias: str) -> None:
    for path, _, group in COMMANDS:
        if path.split()[-1] == ALIASES[alias]:
            assert group.commands[alias].hidden, path


def test_every_command_that_prints_something_takes_json() -> None:
    without = {
        path
        for path, each, _ in COMMANDS
        if not each.hidden
        and not {"--json", "--jsonl"} & {name for option in each.params for name in option.opts}
    }
    assert without == set(WITHOUT_JSON)


def test_the_first_screen_has_no_tool_of_the_lab() -> None:
    screen = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).output
    listed = {line.strip("│ ").partition(" ")[0] for line in screen.splitlines()}
    assert {"run", "list", "db", "lab", "api", "api-keys", "workspace-agent"} <= listed
    assert not {"prove", "bench", "simulate", "migrate", "verify", "ls"} & listed
    lab = CliRunner().invoke(app, ["lab", "--help"]).output
    assert all(name in lab for name in ("prove", "bench", "simulate"))


@pytest.mark.parametrize(
    ("kept", "given", "remove", "left"),
    [
        (["a", "b"], ["c", "a"], False, ["a", "b", "c"]),
        (["a", "b"], ["a", "c"], True, ["b"]),
        ([], ["b", "b"], False, ["b"]),
    ],
)
def test_labels_are_added_or_removed(
    kept: list[str], given: list[str], remove: bool, left: list[str]
) -> None:
    assert organise.labels_after(kept, given, remove=remove) == left


@pytest.mark.parametrize("given", ["chats?limit=5", "/chats?limit=5", "/api/v1/chats?limit=5"])
def test_a_path_of_the_api_needs_no_prefix(given: str) -> None:
    assert api.path_of(given) == "chats?limit=5"


@pytest.mark.parametrize(
    "command",
    [
        ("label", "@last", "--remove", "--set", "x"),
        ("label", "@last", "--remove"),
        ("api", "GET", "/chats", "--data", "{"),
        ("api", "BREW", "/chats"),
        ("pin", "@last", "--off"),
        ("approve", "@last", "--deny"),
    ],
)
def test_wrong_usage_ends_with_2(command: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, list(command)).exit_code == 2
