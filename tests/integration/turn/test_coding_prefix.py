"""The coding tutorial in two turns, on a real workspace, while everything around the chat changes:
AGENTS.md, the organisation's instructions, the worker with its tools and templates. One reply is
cut at its limit. The model binds its thinking to the prompt that it was made with."""

import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import pytest

from holdfast.adapters.postgres.pool import PoolOptions, open_pool
from holdfast.adapters.providers.catalog import facts_of
from holdfast.adapters.providers.endpoints import VENDORS
from holdfast.adapters.workspaces.local import Local, LocalOptions
from holdfast.domain.chat import Chat, Status
from holdfast.domain.commands import SendMessage
from holdfast.domain.messages import Ending, Message, Role
from holdfast.domain.parts import ToolResult
from holdfast.ports.workspaces import Template
from holdfast.tools.toolbox import Combined
from holdfast.turn.interrupts import Interrupts
from holdfast_lab.chaos.harness.folders import short_folder
from holdfast_simulator.server import Config, Simulator, running
from tests.integration.turn.test_prefix import (
    LONG,
    Instructed,
    Worker,
    no_recovery,
    prefix_follows,
)
from tests.support.builders import user
from tests.support.hands import PATIENT, tools_of
from tests.support.turns import OPTIONS, Turns, turns_on
from tests.support.workspaces import Yard, end_all

FACTS = replace(facts_of(VENDORS["anthropic"], "claude-opus-5-5"), output_max=200)
"""A model that binds its thinking, with a limit that cuts the last reply of the first turn."""
IDENTITY = ("-c", "user.name=Agent", "-c", "user.email=agent@example.org")
AGENTS = "Write plain sh."


def call(tool: str, **arguments: object) -> str:
    return f'think "about {tool}" | call {tool} {orjson.dumps(arguments).decode()}'


def script(*steps: str) -> str:
    return f"[[sim: {' | then | '.join(steps)}]]"


def mend(origin: Path) -> str:
    """The task of the tutorial; the agent writes AGENTS.md as well."""
    change = {"old_string": "-", "new_string": "+"}
    return script(
        call("create_workspace"),
        call("execute", command=f"git clone -q {origin} project && ls project"),
        call("execute", command="sh test.sh", cwd="project"),
        call("search_files", pattern="1 - ", path="project"),
        call("edit_file", path="project/add.sh", edits=[change]),
        call("execute", command=f"echo '{AGENTS}' > AGENTS.md; sh test.sh", cwd="."),
        'think "how to put it" | count=250 | think "the rest" | say "Now it adds."',
    )


FINISH = script(
    call("execute", command="sh test.sh", cwd="project"),
    call("execute", command=f"git {' '.join(IDENTITY)} commit -q -am Mend", cwd="project"),
    'think "done" | say "Committed."',
)


def repository(folder: Path) -> Path:
    """As the tutorial makes it: a program with a mistake, and its test."""
    seed, origin = folder / "seed", folder / "origin.git"
    subprocess.run(["git", "init", "-q", "-b", "main", str(seed)], check=True)
    (seed / "add.sh").write_text("echo $(($1 - $2))\n")
    (seed / "test.sh").write_text('[ "$(sh add.sh 2 3)" = 5 ] || { echo wrong; exit 1; }\n')
    git = ["git", "-C", str(seed), *IDENTITY]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Add two numbers."], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(seed), str(origin)], check=True)
    return origin


def commits_of(folder: Path) -> list[str]:
    shown = ["git", "-C", str(folder), "log", "--format=%s"]
    return subprocess.run(shown, capture_output=True, text=True, check=True).stdout.splitlines()


@dataclass
class Project:
    """A chat on a workspace. Each turn runs in a new worker: its own keeper, pool and memory."""

    turns: Turns
    simulator: Simulator
    yard: Yard
    origin: Path
    chat: Chat | None = None
    read: list[Message] = field(default_factory=list[Message])

    async def turn(
        self, text: str, *, release: str, instructions: str, others: Sequence[str] = ()
    ) -> None:
        """`release`: of the worker. It is in the description of a tool, in a section of the system
        prompt and in the template. `others`: tools that only this release has."""
        template = Template(name="local", description=f"A folder, by release {release}.")
        options = LocalOptions(folder=self.yard.folder, sandbox="external", start_s=90.0)
        keeper = await self.yard.keeper(Local(template, options), options=PATIENT)
        versions = Worker(
            f"# Release\n\nThis is {release}.",
            version=f"Tell the release ({release}).",
            **dict.fromkeys(others, "Only of this release."),
        )
        driver = self.turns.process(
            tools=Combined(versions, tools_of(keeper)),
            options=replace(OPTIONS, system=(LONG,)),
            settings=Instructed(instructions),
            facts=FACTS,
        )
        world = self.turns.world
        if self.chat is None:
            chat = await world.running(user(text, model="anthropic", effort="low"))
        else:
            await world.do(self.chat.chat_id, SendMessage(user(text)))
            (chat,) = await world.acquire(await world.a_worker())
        self.chat = await driver.drive(chat, Interrupts(chat))
        assert self.chat.status is Status.IDLE, self.chat.error
        self.read = list(await world.read(self.chat.chat_id))

    async def files(self) -> Path:
        (row,) = await self.yard.rows()
        return self.yard.folder / str(row["id"]) / "files"


@pytest.fixture
async def project(template: str) -> AsyncGenerator[Project]:
    async with open_project(template) as opened:
        yield opened


@asynccontextmanager
async def open_project(template: str) -> AsyncGenerator[Project]:
    with short_folder() as folder:
        try:
            async with (
                running(Config()) as simulator,
                turns_on(template, simulator.url) as turns,
                open_pool(turns.tap.url, PoolOptions(connections_max=2)) as pool,
                AsyncExitStack() as stack,
            ):
                yard = Yard(turns.tap.url, pool, folder / "w", stack)
                yield Project(turns, simulator, yard, repository(folder))
        finally:
            await end_all(folder)


async def mended_in_two_turns(project: Project) -> int:
    """Returns how many requests the first turn took."""
    await project.turn(
        mend(project.origin), release="1", instructions="Be kind.", others=["retired"]
    )
    first = len(list(project.simulator.record))
    assert Ending.LENGTH in [message.body.ending for message in project.read]
    agents = await project.files() / "AGENTS.md"
    assert agents.read_text() == f"{AGENTS}\n"
    agents.write_text("Write portable sh, with tabs.\n")
    await project.turn(FINISH, release="2", instructions="Be brief.")
    return first


async def test_coding_task_of_two_turns_is_never_refused_and_hits_the_cache(
    project: Project,
) -> None:
    first = await mended_in_two_turns(project)

    record = list(project.simulator.record)
    assert [entry.rejected_by for entry in record if entry.status != 200] == []
    billed = [entry.billed for entry in record]
    assert None not in billed
    assert len(record) == first + 3
    last, following = billed[first - 1], billed[first]
    assert last is not None
    assert following is not None
    assert following.cache_read_tokens >= last.input_tokens

    bodies = [entry.body for entry in record if entry.body is not None]
    begins = {str([body["system"], body["tools"]]).replace("cache", "") for body in bodies}
    assert len(begins) == 1
    body = record[first].body
    assert body is not None
    news = str(body["messages"][-1])
    changes = ("Files stay between turns", "portable sh", "Be brief.", "release (2)", "This is 2")
    assert [told for told in changes if told not in news] == []
    assert 'name="Tool retired"' in news
    assert AGENTS not in news

    results = [part for m in project.read for part in m.body.parts if isinstance(part, ToolResult)]
    assert len(results) == 6 + 2
    assert commits_of(await project.files() / "project") == ["Mend", "Add two numbers."]
    assert project.chat is not None
    assert await project.turns.world.violations([project.chat.chat_id]) == []
    assert [m.body.role for m in project.read].count(Role.SYSTEM) == 1


MUTANTS = {
    "the prefix follows the workspace": (prefix_follows,),
    "the prefix follows the workspace, and refusals are final": (prefix_follows, no_recovery),
}


@pytest.mark.parametrize("name", MUTANTS)
async def test_mutant_is_caught(
    project: Project, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mutate in MUTANTS[name]:
        mutate(monkeypatch)
    with pytest.raises(AssertionError):
        await test_coding_task_of_two_turns_is_never_refused_and_hits_the_cache(project)
    assert "thinking-bound" in [entry.rejected_by for entry in project.simulator.record]
