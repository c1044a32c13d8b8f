"""What Ctrl-C does while a chat is followed: a ladder, never a surprise.

`run` started the turn, so the first Ctrl-C interrupts it and the second detaches. In `attach` the
first says that the agent keeps running, the second interrupts the turn, and `d` detaches. Without a
terminal at stdin there is no prompt: then the first Ctrl-C detaches at once.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

DETACH_KEY: Final = "d"


class InterruptStage(StrEnum):
    ASK = "ask"
    INTERRUPT = "interrupt"
    LEAVE = "leave"


class OnSigint(StrEnum):
    INTERRUPT = "interrupt"
    DETACH = "detach"


RUN: Final = (InterruptStage.INTERRUPT, InterruptStage.LEAVE)
RUN_DETACHING: Final = (InterruptStage.LEAVE,)
ATTACHED: Final = (InterruptStage.ASK, InterruptStage.INTERRUPT, InterruptStage.LEAVE)
ATTACHED_UNASKED: Final = (InterruptStage.LEAVE,)


def rungs_of_run(on_sigint: OnSigint) -> tuple[InterruptStage, ...]:
    return RUN if on_sigint is OnSigint.INTERRUPT else RUN_DETACHING


def rungs_attached() -> tuple[InterruptStage, ...]:
    return ATTACHED if sys.stdin.isatty() else ATTACHED_UNASKED


@contextmanager
def on_ctrl_c(climb: Callable[[], None]) -> Generator[None]:
    """Call `climb` on each Ctrl-C, in the loop, instead of what Python does."""
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, climb)
    except (NotImplementedError, RuntimeError):
        # Windows, and threads other than the main one: Ctrl-C stays what it is there, and leaves.
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextmanager
def on_key(pressed: Callable[[str], None]) -> Generator[None]:
    """Call `pressed` on each key at once, without Enter; only on a terminal."""
    try:
        import termios
        import tty
    except ImportError:
        yield
        return
    if not sys.stdin.isatty():
        yield
        return
    fd, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd, termios.TCSANOW)
    loop.add_reader(fd, lambda: pressed(sys.stdin.read(1)))
    try:
        yield
    finally:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSANOW, before)
