"""Workspaces anywhere: an administrator's own programs start, find, stop and delete them.

Each program is told in its environment which workspace is meant, and nothing else of ours. `start`
and `status` say where the agent listens, as one line of JSON: `{"address": "http://10.0.0.7:7070"}`.
`status` ends with 3 if nothing runs. All of them may be asked again for the same workspace.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from holdfast.adapters.workspaces.local import PATH
from holdfast.adapters.workspaces.provisioning import ProvisionFailed, agent_token, for_people
from holdfast.domain.workspaces import Workspace
from holdfast.ports.workspaces import Template

NOT_RUNNING: Final = 3
SAID_BYTES_MAX: Final = 64 * 1024
REST_S: Final = 1.0
"""How long to read on after a program has ended: what it left running may hold on to the pipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOptions:
    start: tuple[str, ...]
    stop: tuple[str, ...]
    status: tuple[str, ...]
    delete: tuple[str, ...]
    secret: str = field(repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    start_s: float = 120.0
    stop_s: float = 60.0
    status_s: float = 15.0

    def __post_init__(self) -> None:
        assert all((self.start, self.stop, self.status, self.delete))
        assert len(self.secret) >= 32


@dataclass(frozen=True, slots=True)
class ProgramResult:
    code: int
    out: bytes
    err: bytes


class _Said(BaseModel):
    model_config = ConfigDict(extra="ignore")

    address: Annotated[
        str, StringConstraints(max_length=500, pattern=r"^(https?://[^\s/]+/?|unix:/\S+)$")
    ]


class Command:
    """Implements `provisioning.Provisioner`."""

    def __init__(self, template: Template, options: CommandOptions) -> None:
        self._template = template
        self._options = options

    @property
    def template(self) -> Template:
        return self._template

    @property
    def start_s(self) -> float:
        return self._options.start_s

    def token(self, workspace: Workspace) -> str | None:
        return agent_token(self._options.secret, workspace)

    async def start(self, workspace: Workspace) -> str:
        ran = await self._run("start", self._options.start, workspace, self._options.start_s)
        self._check("start", ran)
        return self._address("start", ran)

    async def find(self, workspace: Workspace) -> str | None:
        ran = await self._run("status", self._options.status, workspace, self._options.status_s)
        if ran.code == NOT_RUNNING:
            return None
        self._check("status", ran)
        return self._address("status", ran)

    async def stop(self, workspace: Workspace) -> None:
        ran = await self._run("stop", self._options.stop, workspace, self._options.stop_s)
        self._check("stop", ran)

    async def delete(self, workspace: Workspace) -> None:
        ran = await self._run("delete", self._options.delete, workspace, self._options.stop_s)
        self._check("delete", ran)

    async def tidy(self) -> None:
        pass

    async def _run(
        self, verb: str, argv: tuple[str, ...], workspace: Workspace, within_s: float
    ) -> ProgramResult:
        try:
            async with asyncio.timeout(within_s):
                return await run(argv, self._environment(workspace))
        except TimeoutError:
            raise ProvisionFailed(
                f"{self._named(verb)} did not end within {within_s:g} s. Try again; if that does"
                " not help, ask an administrator to look at it."
            ) from None
        except OSError as error:
            raise ProvisionFailed(
                f"{self._named(verb)} cannot be run: {error.strerror}. Ask an administrator to look"
                " at HOLDFAST_TEMPLATES."
            ) from error

    def _environment(self, workspace: Workspace) -> dict[str, str]:
        name = workspace.workspace_id
        return {
            "PATH": PATH,
            "LANG": "C.UTF-8",
            **self._options.env,
            "HOLDFAST_WORKSPACE_ID": str(name),
            "HOLDFAST_WORKSPACE_NAME": f"holdfast-{name}",
            "HOLDFAST_WORKSPACE_TOKEN": agent_token(self._options.secret, workspace),
            "HOLDFAST_WORKSPACE_CHAT": str(workspace.chat_id),
            "HOLDFAST_WORKSPACE_OWNER": str(workspace.owner_id),
        }

    def _check(self, verb: str, ran: ProgramResult) -> None:
        if ran.code:
            said = for_people(ran.err or ran.out).strip()
            raise ProvisionFailed(
                f"{self._named(verb)} ended with {ran.code}. The last that it said:\n"
                + (said or "(nothing)")
            )

    def _address(self, verb: str, ran: ProgramResult) -> str:
        last = ran.out.strip().splitlines()[-1:] or [b""]
        try:
            return _Said.model_validate_json(last[0]).address
        except ValidationError:
            raise ProvisionFailed(
                f"{self._named(verb)} did not say where the agent listens. Its last line must be"
                ' like {"address": "http://host:port"}. Ask an administrator to look at it.'
            ) from None

    def _named(self, verb: str) -> str:
        return f"The {verb} command of the template {self._template.name!r}"


async def run(argv: tuple[str, ...], env: Mapping[str, str]) -> ProgramResult:
    """Run to the end, in a process group of its own. A caller that is cancelled ends the group."""
    async with _pipe() as out, _pipe() as err:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out.write_fd,
            stderr=err.write_fd,
            env=dict(env),
            start_new_session=True,
        )
        out.close_write_end()
        err.close_write_end()
        try:
            await process.wait()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise
        assert process.returncode is not None
        await asyncio.wait({out.ended, err.ended}, timeout=REST_S)
        return ProgramResult(process.returncode, bytes(out.kept), bytes(err.kept))


class _Tail(asyncio.Protocol):
    """The end of what a program says: there stand the address, and what went wrong."""

    def __init__(self, write_fd: int) -> None:
        self.write_fd = write_fd
        self.kept = bytearray()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:  # pyright: ignore[reportImplicitOverride]
        self.kept += data
        del self.kept[: max(0, len(self.kept) - SAID_BYTES_MAX)]

    def connection_lost(  # pyright: ignore[reportImplicitOverride] - 3.11 cannot say it
        self,
        exc: Exception | None,  # noqa: ARG002
    ) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def close_write_end(self) -> None:
        if self.write_fd >= 0:
            os.close(self.write_fd)
        self.write_fd = -1


@asynccontextmanager
async def _pipe() -> AsyncGenerator[_Tail]:
    """A pipe, closed at the end even if another process still holds its other end."""
    read_fd, write_fd = os.pipe()
    tail = _Tail(write_fd)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: tail, os.fdopen(read_fd, "rb", buffering=0)
    )
    try:
        yield tail
    finally:
        tail.close_write_end()
        transport.close()
