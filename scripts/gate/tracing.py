"""A pytest plugin that traces only the tests which must cover the core. `-p scripts.gate.tracing`

`domain/` and `chats/` must be covered completely, branches included, by `TRACED` alone. Tracing
takes half as much CPU again, so the other tests of the session run without it. The plugin is
loaded before anything of ours is imported, and imports the core itself: lines of modules and
classes run then.

`python -m scripts.gate.tracing` combines what the test processes wrote, and fails below 100 %.
"""

import os
import sys
from collections.abc import Generator
from importlib import import_module
from pkgutil import walk_packages
from typing import Final

import pytest
from coverage import Coverage

TRACED: Final = ("tests/unit/", "tests/contract/", "tests/integration/chats/")
CORE: Final = ("holdfast.domain", "holdfast.chats")
FILE: Final = "build/gate/coverage"
BRANCHES_BY_MONITORING: Final = (3, 14)
"""From this Python on, sys.monitoring counts branches, too, and costs little."""


def tracing_coverage() -> Coverage:
    """Not by pyproject.toml, which also traces every process that a test starts."""
    if sys.version_info >= BRANCHES_BY_MONITORING:
        os.environ.setdefault("COVERAGE_CORE", "sysmon")
    coverage = Coverage(FILE, data_suffix=True, config_file=False, source=list(CORE), branch=True)
    # The controller of xdist runs no test.
    coverage.set_option("run:disable_warnings", ["module-not-imported", "no-data-collected"])
    return coverage


def import_core() -> None:
    for name in CORE:
        package = import_module(name)
        for module in walk_packages(package.__path__, f"{name}."):
            import_module(module.name)


class Tracer:
    def __init__(self) -> None:
        self._coverage = tracing_coverage()
        self._coverage.start()
        import_core()
        self._coverage.stop()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, object, object]:
        """Parameters of a test may call the core, too."""
        return (yield from self._traced(collector))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._traced(item))

    def _traced(self, node: pytest.Item | pytest.Collector) -> Generator[None, object, object]:
        if not node.nodeid.startswith(TRACED):
            return (yield)
        self._coverage.start()
        try:
            return (yield)
        finally:
            self._coverage.stop()

    def pytest_sessionfinish(self) -> None:
        self._coverage.save()


TRACER: Final = Tracer() if __name__ != "__main__" else None


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(TRACER, "gate-tracer")


def main() -> None:
    coverage = Coverage(FILE, source=list(CORE), branch=True)
    coverage.combine()
    covered = coverage.report(show_missing=True, skip_covered=True)
    if covered < 100:
        sys.exit(f"domain/ and chats/ must be covered by {', '.join(TRACED)}: {covered:.2f} %")


if __name__ == "__main__":
    main()
