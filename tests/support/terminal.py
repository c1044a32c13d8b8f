"""The `holdfast` command as people and scripts run it: on a terminal, and on pipes.

The terminal is a real pseudo-terminal; what a person would see is kept by an emulator in memory.
"""

import asyncio
import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyte
from typer.testing import CliRunner

from holdfast.cli.app import app

LIMIT_S: Final = 60
ROWS: Final = 60
CTRL_C: Final = "\x03"
CTRL_D: Final = "\x04"
_MASKS: Final = (
    (re.compile(r"\b[a-z]{3,4}_[0-9a-f]{32}\b"), "<id>"),
    (re.compile(r"\bchat_0[0-9a-f]{11}\b"), "<short-id>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "<minute>"),
    (re.compile(r"retrying in [\d.]+ s"), "retrying in <n> s"),
    (re.compile(r" · [\d.]+ s"), ""),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "<url>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<host>"),
    (re.compile(r"(?m)^(context +)[\d,]+ of"), r"\1<n> of"),
    (re.compile(r"toolu_\w+"), "<call>"),
)


def masked(text: str) -> str:
    """Without what differs from run to run."""
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@dataclass
class Terminal:
    """A process on a pseudo-terminal, seen from the chair."""

    process: asyncio.subprocess.Process
    master: int
    columns: int
    raw: bytearray = field(default_factory=bytearray)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.screen: Any = pyte.Screen(self.columns, ROWS)
        self._stream: Any = pyte.ByteStream(self.screen)

    def read(self) -> None:
        try:
            received = os.read(self.master, 65536)
        except BlockingIOError:
            return
        except OSError:  # the other side is gone
            received = b""
        if not received:
            asyncio.get_running_loop().remove_reader(self.master)
        self.raw += received
        self._stream.feed(received)
        self.changed.set()

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    async def until(self, text: str) -> None:
        """Wait until the screen shows it."""
        await self._until(lambda: text in self.text)

    async def until_prompt(self) -> None:
        """Wait until a line is asked for: keys that are pressed before may be lost."""
        await self._until(lambda: self.text.splitlines()[-1:] == ["›"])

    async def _until(self, is_shown: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not is_shown():
                assert self.process.returncode is None or self.changed.is_set(), self.text
                self.changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.wait(), 1)

    async def ended(self) -> int:
        async with asyncio.timeout(LIMIT_S):
            code = await self.process.wait()
        before = -1
        while len(self.raw) != before:  # what it wrote last may still be in the kernel
            before = len(self.raw)
            self.read()
        return code

    def styles(self, text: str) -> set[str]:
        """The colours of the line that shows this text."""
        for number, line in enumerate(self.screen.display):
            at = line.find(text)
            if at >= 0:
                cells = [self.screen.buffer[number][column] for column in range(at, at + len(text))]
                return {cell.fg for cell in cells} | ({"bold"} if cells[0].bold else set[str]())
        raise AssertionError(f"{text!r} is not on the screen:\n{self.text}")


@dataclass(frozen=True)
class Cli:
    """Somebody who uses the command line, with a config folder of their own."""

    folder: Path
    url: str | None = None
    token: str | None = None

    def environment(self, **more: str) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("HOLDFAST_")
            and name not in ("NO_COLOR", "COLUMNS", "LINES", "TERM")
        }
        given = {"HOLDFAST_URL": self.url, "HOLDFAST_API_KEY": self.token}
        return {
            **kept,
            "HOLDFAST_CONFIG_DIR": str(self.folder),
            "PYTHONUTF8": "1",
            "TZ": "UTC",
            **{name: value for name, value in given.items() if value is not None},
            **more,
        }

    @asynccontextmanager
    async def started(
        self, *command: str, stdin: int = asyncio.subprocess.DEVNULL, **more: str
    ) -> AsyncGenerator[asyncio.subprocess.Process]:
        """On pipes."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "holdfast", *command),
            env=self.environment(**more),
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**24,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def run(self, *command: str, stdin: str | None = None, **more: str) -> Done:
        """On pipes, to its end."""
        how = asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE
        async with self.started(*command, stdin=how, **more) as process, asyncio.timeout(LIMIT_S):
            out, err = await process.communicate(None if stdin is None else stdin.encode())
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())

    async def call(self, *command: str, stdin: str | None = None) -> Done:
        """On pipes, to its end, without a process of its own: most of one is Python's start."""
        runner = CliRunner()
        given = {"HOLDFAST_API_KEY": None, "HOLDFAST_URL": None, "HOLDFAST_CONTEXT": None}
        env = {**given, **self.environment()}
        done = await asyncio.to_thread(runner.invoke, app, list(command), stdin, env)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(done.exit_code, done.stdout, done.stderr)

    async def told(self, *command: str, stdin: str | None = None) -> str:
        """What it prints when all is well."""
        done = await self.call(*command, stdin=stdin)
        assert done.code == 0, done
        return done.out.rstrip("\n")

    @asynccontextmanager
    async def on_terminal(
        self, *command: str, columns: int = 80, term: str = "xterm-256color", **more: str
    ) -> AsyncGenerator[Terminal]:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "holdfast", *command),
            env=self.environment(TERM=term, **more),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            # So that Ctrl-C is a signal for it, as in a shell.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0) and None,
        )
        os.close(slave)
        os.set_blocking(master, False)
        terminal = Terminal(process, master, columns)
        loop = asyncio.get_running_loop()
        loop.add_reader(master, terminal.read)
        try:
            yield terminal
        finally:
            loop.remove_reader(master)
            if process.returncode is None:
                process.kill()
            await process.wait()
            os.close(master)


def golden(name: str, seen: str) -> None:
    """The look that was agreed on. `HOLDFAST_GOLDEN=write` agrees to the present one."""
    path = Path(__file__).resolve().parents[1] / "golden" / "cli" / f"{name}.txt"
    if os.environ.get("HOLDFAST_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(seen + "\n", encoding="utf-8")
    assert path.exists(), f"{path} is missing: run with HOLDFAST_GOLDEN=write, and read it"
    assert seen + "\n" == path.read_text(encoding="utf-8")
