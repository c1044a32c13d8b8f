"""Regular expressions whose cost is bounded: RE2, which never backtracks.

An administrator's pattern meets text that a model wrote. With the standard library's engine a
careless pattern, or a crafted text, would hold the event loop for hours.
"""

from functools import lru_cache
from typing import Any, Final

import re2  # pyright: ignore[reportMissingTypeStubs] - it has none

COMPILED_MAX: Final = 1_000
_re2: Final[Any] = re2


class Linear:
    """A pattern, compiled; raises `ValueError` for what is no regular expression."""

    def __init__(self, pattern: str) -> None:
        options = _re2.Options()
        options.log_errors = False  # which would go to stderr
        options.dot_nl = True
        try:
            self._pattern: Any = _re2.compile(pattern, options)
        except _re2.error as error:
            raise ValueError(f"not a regular expression that RE2 takes: {error}") from None

    def fits(self, text: str) -> bool:
        """Whether the whole text does."""
        return self._pattern.fullmatch(text) is not None


@lru_cache(COMPILED_MAX)
def compile_linear(pattern: str) -> Linear:
    return Linear(pattern)
