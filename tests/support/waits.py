"""How long a test waits for something that must happen."""

from typing import Final

HANG_S: Final = 120.0
"""Far longer than any wait takes on a busy machine, and shorter than the timeout of a test: only a
hang takes this long, and the test says what it waited for."""
LIFE_S: Final = 200.0
"""The same for a server that lives as long as its test."""
