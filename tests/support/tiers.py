"""Which tests the gate runs, and the seed of a run.

The gate leaves out what is marked `nightly` (scripts/gate). Of a suite of mutants it runs one, the
canary: a suite that no longer notices anything is noticed at once, and the others every night.
"""

import os
import random
from collections.abc import Iterable
from typing import Final

import pytest

SEED_NAME: Final = "HOLDFAST_TEST_SEED"


def set_seed() -> int:
    """Of this run: as the environment has it, else drawn, and left there for other processes."""
    seed = os.environ.setdefault(SEED_NAME, str(random.SystemRandom().randrange(10**9)))
    return int(seed)


def with_canary(names: Iterable[str], canary: str) -> list[object]:
    """Parameters of a test of mutants: all but the canary are left to the nightly run."""
    chosen = list(names)
    assert canary in chosen, f"{canary!r} is none of {chosen}"
    return [
        pytest.param(name, id=name, marks=() if name == canary else pytest.mark.nightly)
        for name in chosen
    ]
