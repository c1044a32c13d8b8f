"""How new the settings are that this process knows: a number that other statements return."""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeAlias

ReadGeneration: TypeAlias = Callable[[], Awaitable[int]]
"""The generation as it is in the database now: one statement."""
NEWEST: Final = 2**63 - 1


class SettingsGeneration(Protocol):
    """What a store compares with, and to whom it passes what its statements return."""

    @property
    def applied(self) -> int:
        """Every change up to this one is in memory here."""
        ...

    def saw(self, generation: int) -> None:
        """A statement returned it. From any thread; never waits."""
        ...

    async def catch_up(self) -> None:
        """Until what was seen is in memory. No statement if it is. May raise `Unavailable`."""
        ...

    async def refresh(self) -> None:
        """Read what the database has now. May raise `Unavailable`."""
        ...


class NoSettings:
    """Where no process keeps settings: in a simulation, or in a test. No fence refuses it."""

    applied = NEWEST

    def saw(self, generation: int) -> None:
        pass

    async def catch_up(self) -> None:
        pass

    async def refresh(self) -> None:
        pass
