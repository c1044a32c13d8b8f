"""The rules of a state machine as coroutines on the loop of its world."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeAlias

Rule: TypeAlias = Callable[..., Coroutine[Any, Any, None]]


def in_loop(method: Rule) -> Callable[..., None]:
    """A rule is a plain function to Hypothesis and a coroutine to us."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        self.loop.run_until_complete(method(self, *args, **kwargs))

    return call
