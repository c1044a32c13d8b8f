"""Runs the scripts of a task: fills its folder, solves it, and judges what is there.

The judged files were written by a model, and tests run them: the verifier runs behind bubblewrap,
without a network, and sees the workspace, the tests and nothing else of the machine.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from holdfast.domain.errors import HoldfastError
from holdfast_agent.sandbox.profile import namespaces, system_view
from holdfast_lab.eval.tasks import EvalTask

Sandbox: TypeAlias = Literal["bubblewrap", "external"]
"""`external`: none of ours, because the whole machine is one."""
SETUP_S: Final = 60.0
SAID_MAX: Final = 4_000
WORKSPACE: Final = "/workspace"
TESTS: Final = "/tests"
LOGS: Final = "/logs/verifier"
MESSAGE: Final = "/logs/agent/final-message.txt"
PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENVIRONMENT: Final[Mapping[str, str]] = {
    "PATH": PATH,
    "LANG": "C.UTF-8",
    "HOME": "/tmp",  # noqa: S108 - of a script that needs none
    "PYTHONDONTWRITEBYTECODE": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
}


class ScriptFailed(HoldfastError):
    """A script of a task did not do its work; says what it said."""


@dataclass(frozen=True, slots=True)
class Judgement:
    reward: float
    said: str
    """The last that the verifier said."""


@dataclass(frozen=True, slots=True)
class RunFolders:
    """Where a run is judged: the workspace's files, and a folder for logs and the last message."""

    root: Path
    logs: Path

    @property
    def message(self) -> Path:
        return self.logs / "final-message.txt"

    def variables(self) -> dict[str, str]:
        return {
            **ENVIRONMENT,
            "EVAL_ROOT": str(self.root),
            "EVAL_LOGS": str(self.logs),
            "EVAL_MESSAGE": str(self.message),
        }


async def set_up(task: EvalTask, root: Path) -> None:
    """Fill a fresh folder. Raises `ScriptFailed`."""
    command = ("sh", str(task.setup), str(root))
    code, said = await _finished(command, dict(ENVIRONMENT), root, SETUP_S)
    if code:
        raise ScriptFailed(f"{task.name}: environment/setup.sh failed: {said}")


async def solve(task: EvalTask, folders: RunFolders) -> None:
    """Run the task's own solution. Raises `ScriptFailed`."""
    command = ("sh", str(task.solution / "solve.sh"))
    code, said = await _finished(command, folders.variables(), folders.root, task.agent_s)
    if code:
        raise ScriptFailed(f"{task.name}: solution/solve.sh failed: {said}")


async def judge(
    task: EvalTask, folders: RunFolders, message: str, sandbox: Sandbox = "bubblewrap"
) -> Judgement:
    """`message`: the last that the model said. A verifier that fails, or writes no number from 0 to
    1, gives 0."""
    folders.logs.mkdir(parents=True, exist_ok=True)
    reward = folders.logs / "reward.txt"
    reward.unlink(missing_ok=True)
    if message or not folders.message.exists():
        folders.message.write_text(message, encoding="utf-8")
    if sandbox == "bubblewrap":
        command, variables = tuple(_walled(task, folders)), dict(ENVIRONMENT)
    else:
        command, variables = ("sh", str(task.tests / "test.sh")), folders.variables()
    _, said = await _finished(command, variables, folders.root, task.verifier_s)
    return Judgement(_number(reward), said)


def _walled(task: EvalTask, folders: RunFolders) -> Iterator[str]:
    yield "bwrap"
    yield from namespaces()
    yield "--unshare-net"
    yield from system_view()
    yield from ("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")  # noqa: S108 - its own
    yield from ("--bind", str(folders.root), WORKSPACE, "--ro-bind", str(task.tests), TESTS)
    yield from ("--bind", str(folders.logs), LOGS, "--ro-bind", str(folders.message), MESSAGE)
    inside = {"EVAL_ROOT": WORKSPACE, "EVAL_LOGS": LOGS, "EVAL_MESSAGE": MESSAGE}
    for name, value in {**ENVIRONMENT, **inside}.items():
        yield from ("--setenv", name, value)
    yield from ("--chdir", WORKSPACE, "sh", f"{TESTS}/test.sh")


def _number(path: Path) -> float:
    try:
        found = float(path.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return 0.0
    return found if 0.0 <= found <= 1.0 else 0.0


async def _finished(
    command: tuple[str, ...], variables: dict[str, str], folder: Path, within_s: float
) -> tuple[int, str]:
    """The exit code and the last words; after the time limit the whole process group is killed."""
    async with _started(command, variables, folder) as process:
        try:
            async with asyncio.timeout(within_s):
                said, _ = await process.communicate()
        except TimeoutError:
            return 124, f"It did not end within {within_s:g} s."
    assert process.returncode is not None
    return process.returncode, said.decode(errors="replace")[-SAID_MAX:].strip()


@asynccontextmanager
async def _started(
    command: tuple[str, ...], variables: dict[str, str], folder: Path
) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *command,
        env=variables,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        # Also what a script left in the background.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
