"""A pytest plugin that records every test: outcome, seconds, CPU seconds.

Use it with `-p scripts.gate.recorder`.
`HOLDFAST_GATE_RECORDS` names the file; one JSON object per line. CPU seconds are those of the test
process and of the processes that it started and waited for; PostgreSQL and Redis are not in them.
"""

import os
import resource
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

FILE: Final = "HOLDFAST_GATE_RECORDS"
_CPU: Final = "cpu_s"


@dataclass
class Record:
    """One test of one session."""

    test: str
    outcome: str = "passed"
    seconds: float = 0.0
    cpu_s: float = 0.0
    why: str = ""

    @property
    def file(self) -> str:
        return self.test.split("::", 1)[0]


def read(file: Path) -> list[Record]:
    lines = file.read_bytes().splitlines() if file.exists() else []
    return [Record(**orjson.loads(line)) for line in lines]


def cpu_s() -> float:
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in spent)


def reason(text: str) -> str:
    """The line of a failure that says what was wrong."""
    lines = text.strip().splitlines() or [""]
    return next((line[2:].strip() for line in lines if line.startswith("E ")), lines[-1])[:300]


class Meter:
    """Where tests run: adds the CPU seconds of a test to its last report."""

    def __init__(self) -> None:
        self._began_s = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self._began_s = cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: "pytest.CallInfo[None]"
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((_CPU, cpu_s() - self._began_s))
        return report


class Recorder:
    """Where reports arrive: with xdist the controller, which also sees a worker crash."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._records: dict[str, Record] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.split("@", 1)[0]  # without the group that xdist appends
        record = self._records.setdefault(name, Record(name))
        record.seconds += report.duration
        record.cpu_s += sum(
            float(str(value)) for key, value in report.user_properties if key == _CPU
        )
        if report.failed:
            record.outcome = "failed"
            record.why = reason(report.longreprtext)
        elif report.skipped:
            record.outcome = "skipped"

    def pytest_sessionfinish(self) -> None:
        with self._file.open("ab") as file:
            for record in self._records.values():
                rounded: dict[str, Any] = asdict(record)
                rounded |= {"seconds": round(record.seconds, 3), "cpu_s": round(record.cpu_s, 3)}
                file.write(orjson.dumps(rounded) + b"\n")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Meter(), "gate-meter")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(os.environ[FILE])), "gate-recorder")
