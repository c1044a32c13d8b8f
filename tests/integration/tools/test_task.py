"""A coding task from its beginning to its end: a server, a model that calls tools, a workspace."""

import subprocess
from pathlib import Path

import orjson

from holdfast.domain.chat import Status
from holdfast.domain.messages import Role
from holdfast.domain.parts import ToolCall, ToolResult
from holdfast_lab.chaos.harness.folders import short_folder
from tests.requirements import requirement
from tests.support.builders import user
from tests.support.replica import ask, at_rest, replicas
from tests.support.stage import valid

WRONG = "echo $(($1 - $2))\n"
TEST = '[ "$(sh add.sh 2 3)" = 5 ] || { echo "2 + 3 is $(sh add.sh 2 3)"; exit 1; }\necho passed\n'
WHO = "git -c user.name=Agent -c user.email=agent@example.com"
TEMPLATE = {"name": "local", "kind": "local", "sandbox": "external", "start_s": 60.0}


MENDED: tuple[str, dict[str, object]] = (
    "edit_file",
    {"path": "project/add.sh", "edits": [{"old_string": "-", "new_string": "+"}]},
)
TESTED: tuple[str, dict[str, object]] = ("execute", {"command": "sh test.sh", "cwd": "project"})


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


def bare_repository(folder: Path) -> Path:
    """With a program that subtracts where it should add, and a test that says so."""
    seed, bare = folder / "seed", folder / "origin.git"
    seed.mkdir()
    git(seed, "init", "-q", "-b", "main")
    (seed / "add.sh").write_text(WRONG)
    (seed / "test.sh").write_text(TEST)
    git(seed, "add", ".")
    git(seed, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "Add.")
    subprocess.run(["git", "clone", "-q", "--bare", str(seed), str(bare)], check=True)
    return bare


def task(bare: Path) -> str:
    steps: list[tuple[str, dict[str, object]]] = [
        ("create_workspace", {}),
        ("execute", {"command": f"git clone -q {bare} project && ls project"}),
        TESTED,
        ("search_files", {"pattern": "\\$1 - \\$2", "path": "project"}),
        ("read_file", {"path": "project/add.sh"}),
        MENDED,
        TESTED,
        (
            "execute",
            {"command": f"{WHO} commit -qam 'Add, not subtract.' && git push -q", "cwd": "project"},
        ),
    ]
    return script(*([step] for step in steps))


def script(*replies: list[tuple[str, dict[str, object]]]) -> str:
    """A message that makes the simulated model give these replies, each with its calls."""
    said = [
        " | ".join(f"call {tool} {orjson.dumps(arguments).decode()}" for tool, arguments in reply)
        for reply in replies
    ]
    return f'Mend it. [[sim: {" | then | ".join(said)} | then | say "Mended."]]'


WANTED = [
    ("create_workspace", "Files stay between turns."),
    ("execute", "add.sh\ntest.sh\n"),
    ("execute", "2 + 3 is -1"),
    ("search_files", "project/add.sh:1: echo $(($1 - $2))"),
    ("read_file", f"     1\t{WRONG.strip()}"),
    ("edit_file", "-echo $(($1 - $2))\n+echo $(($1 + $2))"),
    ("execute", "passed"),
    ("execute", "exit code 0"),
]


@requirement("F16", "F17", "L109")
async def test_a_failing_test_is_found_mended_and_committed(template: str) -> None:
    with short_folder() as folder:
        bare = bare_repository(folder)
        async with (
            replicas(template) as cell,
            cell.open(
                within_s=110,
                templates=[TEMPLATE],
                workspaces_folder=str(folder / "w"),
                foreign_text="allow",  # its commands have the network of this machine
            ) as server,
        ):
            begun = await ask(server, user(task(bare)))
            chat = await at_rest(server, begun.chat_id, within_s=90)
            page = await server.adapters.history.page(chat.chat_id, limit=100)

        assert chat.status is Status.IDLE
        assert valid(page.messages) == []
        parts = [part for message in page.messages for part in message.body.parts]
        results = [part for part in parts if isinstance(part, ToolResult)]
        for result, (tool, words) in zip(results, WANTED, strict=True):
            assert result.tool == tool
            assert words in str(result.output), result
        assert "exit code 1" in str(results[2].output)
        assert len([part for part in parts if isinstance(part, ToolCall)]) == len(WANTED)
        assert page.messages[-1].body.role is Role.ASSISTANT

        shown = git(bare, "show", "--format=%s", "main")
        assert shown.startswith("Add, not subtract.\n")
        assert "-echo $(($1 - $2))\n+echo $(($1 + $2))\n" in shown
        assert git(bare, "show", "--stat", "--format=", "main").count("|") == 1


async def test_a_test_sees_the_edit_that_the_same_reply_made_before_it(template: str) -> None:
    """The calls of a reply take effect in its order: write (slowly), read, edit, test."""
    with short_folder() as folder:
        (folder / "add.sh").write_text(WRONG)
        (folder / "test.sh").write_text(TEST)
        slowly = f"sleep 1; mkdir project; cp {folder}/*.sh project"
        words = script(
            [("create_workspace", {})],
            [
                ("execute", {"command": slowly}),
                ("read_file", {"path": "project/add.sh"}),
                TESTED,
                MENDED,
                TESTED,
            ],
        )
        async with (
            replicas(template) as cell,
            cell.open(
                within_s=110,
                templates=[TEMPLATE],
                workspaces_folder=str(folder / "w"),
                foreign_text="allow",  # its commands have the network of this machine
            ) as server,
        ):
            begun = await ask(server, user(words))
            chat = await at_rest(server, begun.chat_id, within_s=90)
            page = await server.adapters.history.page(chat.chat_id, limit=100)

    parts = [part for message in page.messages for part in message.body.parts]
    results = [str(part.output) for part in parts if isinstance(part, ToolResult)]
    assert [message.body.role for message in page.messages].count(Role.TOOL) == 2, "one commit each"
    _, _, read, before, _, after = results
    assert WRONG.strip() in read
    assert "2 + 3 is -1" in before
    assert "passed" in after
