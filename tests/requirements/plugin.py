"""Hold the tests against the manifest while pytest runs.

A file with a test that names an unknown id fails to be collected. At the end of a whole run one
line says how many sentences are proven: named by a test that passed, and by none that failed.
"""

from collections.abc import Collection, Generator
from typing import Final

import pytest

from tests.requirements.manifest import known_ids

_MARKER: Final = "requirement"
_NARROWED_BY: Final = ("keyword", "markexpr", "collectonly", "deselect", "ignore", "lf")


class Tally:
    """Which ids were named by tests that passed, and which by tests that failed."""

    def __init__(self) -> None:
        self._passed: set[str] = set()
        self._failed: set[str] = set()
        self._uncollected = 0

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._uncollected += report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ids = {str(value) for name, value in report.user_properties if name == _MARKER}
        if report.failed:
            self._failed |= ids
        elif report.passed and report.when == "call":
            self._passed |= ids

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
    ) -> None:
        whole_ends = [pytest.ExitCode.OK]
        if not config.option.maxfail:
            whole_ends.append(pytest.ExitCode.TESTS_FAILED)
        if is_whole_run(config) and not self._uncollected and exitstatus in whole_ends:
            proven = self._passed - self._failed
            open_ = known_ids() - proven
            terminalreporter.write_line(
                f"requirements: {len(proven)} proven by tests, {len(open_)} open"
            )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Tally(), "requirements-tally")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    # A collection error, not an exception: xdist would report that as its own crash.
    report = yield
    known = known_ids()
    unknown: list[str] = []
    for item in report.result:
        if isinstance(item, pytest.Item):
            ids = _ids_of(item)
            unknown += [f"{item.nodeid} names {id_!r}" for id_ in ids if id_ not in known]
            # Properties travel with the test's report, so the tally works under xdist too.
            item.user_properties += [(_MARKER, id_) for id_ in ids]
    if unknown:
        report.outcome = "failed"
        report.result = []
        report.longrepr = "\n".join(["not in tests/requirements/requirements.toml:", *unknown])
    return report


def _ids_of(item: pytest.Item) -> Collection[str]:
    return dict.fromkeys(str(id_) for mark in item.iter_markers(_MARKER) for id_ in mark.args)


def is_whole_run(config: pytest.Config) -> bool:
    """Whether every test was asked for: a part of the tests says nothing about what is open."""
    if any(config.getoption(name, default=None) for name in _NARROWED_BY):
        return False
    testpaths: list[str] = config.getini("testpaths")
    everything = {config.rootpath, *(config.rootpath / path for path in testpaths)}
    started_in = config.invocation_params.dir
    return any((started_in / argument).resolve() in everything for argument in config.args)
