"""An agent that listens: its lock, its journal, its launcher, its processes, its socket.

    async with serving(config) as address: …

In this order, and closed in reverse: the socket first, the processes after it, the lock last.
"""

import fcntl
import os
import resource
import secrets
import stat
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from aiohttp import web

from holdfast_agent.environment import PLAIN, inherited
from holdfast_agent.external import External, Tree
from holdfast_agent.files import http as files
from holdfast_agent.files.beneath import Beneath
from holdfast_agent.git_env import git_env
from holdfast_agent.http import Routes, application
from holdfast_agent.journal import open_journal, open_journal_id
from holdfast_agent.launching import find_shell
from holdfast_agent.processes import Ground, Limits, Processes
from holdfast_agent.sandbox.egress import egress_rules
from holdfast_agent.sandbox.opening import open_bubblewrap
from holdfast_agent.sandbox.options import SandboxOptions
from holdfast_agent.sandbox.person import Person, ourselves
from holdfast_agent.sandbox.profile import WORKSPACE
from holdfast_agent.saved import SavedOutputs
from holdfast_agent.surroundings import system_facts
from holdfast_agent.trees import adopt_orphans
from holdfast_agent.wire import About, Surroundings

if TYPE_CHECKING:
    from collections.abc import Generator

    from holdfast_agent.launching import Launcher

CONNECTIONS_WAITING_MAX: Final = 1024
FILES_OPEN_MIN: Final = 8192
GRACE_S: Final = 1.0
"""For answers that are being written when the agent is told to end."""
IDLE_S: Final = 3600.0
"""Longer than any client keeps a line: so it is never we who close one that is being used."""
TOKEN_CHARS_MIN: Final = 16


class WrongFlags(Exception):
    """The agent cannot be started like this; the words say what to change."""


@dataclass(frozen=True, slots=True)
class Unix:
    path: Path

    @property
    def address(self) -> str:
        return f"unix:{self.path}"


@dataclass(frozen=True, slots=True)
class Tcp:
    host: str
    port: int

    @property
    def address(self) -> str:
        return (
            f"http://[{self.host}]:{self.port}"
            if ":" in self.host
            else f"http://{self.host}:{self.port}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    wall: SandboxOptions
    """With the folders of the workspace and of the agent, in either sandbox."""
    listen: Unix | Tcp
    token: str | None = field(default=None, repr=False)
    sandbox: Literal["bubblewrap", "external"] = "bubblewrap"
    tree: Tree | None = None
    """How commands are kept together in an external sandbox; None: as the kernel allows."""
    person: Person | None = None
    """As whom they run there, and whose files the workspace's are; None: the agent's user."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The agent's own; an external sandbox passes it on."""
    limits: Limits = field(default_factory=Limits)

    @property
    def root(self) -> Path:
        return self.wall.root

    @property
    def state(self) -> Path:
        return self.wall.state


@asynccontextmanager
async def serving(config: AgentConfig) -> AsyncGenerator[str]:
    """Gives the address. Raises `WrongFlags`."""
    if isinstance(config.listen, Tcp) and config.token is None:
        raise WrongFlags("A network address needs a token: give --token-file, or listen on unix:.")
    if not config.root.is_dir():
        raise WrongFlags(f"--root: {config.root} is no folder.")
    if config.person is not None and (config.sandbox != "external" or not config.person.can_be):
        raise WrongFlags(
            "--run-as: it needs --sandbox external, and an agent that is root or has the"
            " capabilities SETUID, SETGID and KILL."
        )
    _files_allowed()
    adopt_orphans()
    async with AsyncExitStack() as stack:
        stack.enter_context(_alone(config.state))
        launcher = await stack.enter_async_context(_launcher(config))
        boot_id = secrets.token_hex(16)
        report = await launcher.check()
        seen_as = str(config.root.resolve()) if launcher.mode == "external" else WORKSPACE
        base_env = _base_env(config)
        shell = find_shell()
        ground = Ground(
            launcher=launcher,
            report=report,
            base_env=base_env,
            shell=shell,
            git_guard=_git_guard(config, seen_as, base_env),
            boot_id=boot_id,
            now=lambda: datetime.now(UTC),  # noqa: TID251 - the agent is its own composition root
            limits=config.limits,
            outputs=SavedOutputs(config.root, person=config.person),
        )
        journal = config.state / "journal"
        journal_id = open_journal_id(journal)
        processes = await stack.enter_async_context(Processes(ground, *open_journal(journal)))
        about = About(
            version=metadata.version("holdfast"),
            boot_id=boot_id,
            journal_id=journal_id,
            root=seen_as,
            sandbox=report,
            surroundings=surroundings(config, base_env),
            shell=os.path.basename(shell),
            tmp="machine" if launcher.mode == "external" else "workspace",
        )
        guards_git = config.wall.git == "guarded"
        of_files = files.routes(
            config.root, seen_as=seen_as, guards_git=guards_git, person=config.person
        )
        routes = (*Routes(processes, about).all(), *of_files)
        app = application(routes, config.token)
        yield await stack.enter_async_context(_listening(app, config.listen))


@asynccontextmanager
async def _launcher(config: AgentConfig) -> AsyncGenerator["Launcher"]:
    if config.sandbox == "external":
        yield External(config.root, config.tree, config.person)
        return
    try:
        rules = egress_rules(config.wall)
    except ValueError as error:
        raise WrongFlags(f"--allow-host, --private-host: {error}.") from None
    async with open_bubblewrap(config.wall, rules) as wall:
        yield wall


def surroundings(config: AgentConfig, base_env: Mapping[str, str]) -> Surroundings:
    """In an external sandbox the container or machine decides about the network."""
    facts = system_facts(base_env.get("PATH", ""))
    if config.sandbox == "external":
        return facts
    hosts = (*config.wall.allow_hosts, *config.wall.private_hosts)
    network = {"network": "hosts" if hosts else "none", "hosts": hosts}
    return facts.model_copy(update=network)


def _base_env(config: AgentConfig) -> dict[str, str]:
    return inherited(config.environment) if config.sandbox == "external" else dict(PLAIN)


def _git_guard(
    config: AgentConfig, seen_as: str, base_env: Mapping[str, str]
) -> Callable[[], dict[str, str]] | None:
    if config.wall.git == "open":
        return None
    beneath = Beneath(config.root, seen_as=seen_as)
    person = config.person or ourselves()

    def guard() -> dict[str, str]:
        with person.files():
            return git_env(beneath, seen_as, base_env)

    return guard


@contextmanager
def _alone(state: Path) -> "Generator[None]":
    """One agent per state: two would each believe that they know every key."""
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise WrongFlags(f"--state: {state} cannot be used: {error.strerror}.") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise WrongFlags(f"--state: another agent runs with {state}.") from None
    try:
        yield
    finally:
        os.close(fd)


@asynccontextmanager
async def _listening(app: web.Application, listen: Unix | Tcp) -> AsyncGenerator[str]:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=GRACE_S, keepalive_timeout=IDLE_S)
    await runner.setup()
    try:
        if isinstance(listen, Unix):
            await _listen_unix(runner, listen.path)
            yield listen.address
        else:
            site = web.TCPSite(runner, listen.host, listen.port, backlog=CONNECTIONS_WAITING_MAX)
            await site.start()
            host, port = runner.addresses[0][:2]
            yield Tcp(host, port).address
    except OSError as error:
        raise WrongFlags(f"--listen: {listen.address} cannot be used: {error.strerror}.") from error
    finally:
        await runner.cleanup()


async def _listen_unix(runner: web.AppRunner, path: Path) -> None:
    check_folder(path.parent)
    # Ours alone from its first moment on: made with the mask, not changed afterwards.
    before = os.umask(0o177)
    try:
        _clear_away(path)
        await web.UnixSite(runner, path, backlog=CONNECTIONS_WAITING_MAX).start()
    finally:
        os.umask(before)


def _clear_away(path: Path) -> None:
    """A socket that is there was left by an agent that is dead: we have its lock."""
    if path.is_socket():
        path.unlink()


def check_folder(folder: Path) -> None:
    """No other user may replace our socket by another one."""
    try:
        found = folder.stat()
    except OSError as error:
        raise WrongFlags(f"--listen: {folder} cannot be used: {error.strerror}.") from None
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if found.st_uid not in (0, os.geteuid()) or (writable and not found.st_mode & stat.S_ISVTX):
        raise WrongFlags(f"--listen: others may write to {folder}; use one that is yours alone.")


def read_token(path: Path, *, once: bool = False) -> str:
    """Raises `WrongFlags`. `once`: the file is gone afterwards."""
    try:
        mode = path.stat().st_mode
        token = path.read_text(encoding="utf-8").strip()
        if once:
            path.unlink()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongFlags(f"--token-file: {path} cannot be read: {error}.") from None
    if mode & 0o077:
        raise WrongFlags(f"--token-file: others may read {path}; chmod 600 it.")
    if len(token) < TOKEN_CHARS_MIN or not token.isascii() or not token.isprintable():
        message = f"a token has {TOKEN_CHARS_MIN} characters at least, all of them plain ASCII"
        raise WrongFlags(f"--token-file: {path}: {message}.")
    return token


def _files_allowed() -> None:
    """A line and a wait are a descriptor each; what most systems give by default is too little."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_OPEN_MIN if hard == resource.RLIM_INFINITY else min(FILES_OPEN_MIN, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
