"""The two clocks of the simulator, given from outside so that tests can own them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    wall_s: Callable[[], float]
    """Seconds since the epoch; used for the `retry-after` date and for the end of keys."""
    mono_s: Callable[[], float]
    """Seconds that never jump; used for prompt-cache lifetimes and durations."""


# The simulator is its own composition root: it imports nothing else of the project.
SYSTEM_CLOCK: Final = Clock(wall_s=time.time, mono_s=time.monotonic)  # noqa: TID251
