"""Which tests of a run xdist keeps together.

Tests of a module that makes a fixture once for the module go to one worker, so that the fixture is
made once. Every other test goes to the worker that is free. xdist has groups for this
(`--dist loadgroup`), but writes the group into an attribute that pytest no longer reads since 9.1:
its groups have no effect.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from typing_extensions import override
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs]
from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]

SHARED_FIXTURE = re.compile(r"""(?<!loop_)scope=["'](module|class|package)["']""")


class ModulesTogether(LoadScopeScheduling):
    """`--dist loadscope`, where only a module with a shared fixture is a scope."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        # The order of the command line: suites that take long come first.
        config.option.loadscopereorder = False
        super().__init__(config, log)
        self._root = config.rootpath

    @override
    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return file if shares_a_fixture(self._root / file) else nodeid


@cache
def shares_a_fixture(file: Path) -> bool:
    """Whether the module, or the conftest.py of its folder, has a fixture for a whole module."""
    sources = (each for each in (file, file.with_name("conftest.py")) if each.exists())
    return any(SHARED_FIXTURE.search(each.read_text(encoding="utf-8")) for each in sources)
