"""Runs stages, two at a time, each with a log of its own; keeps how long everything took.

A stage starts when the stages that it names have passed. A stage that is marked `alone` starts
when nothing else runs. A stage that may only begin within some time is left out after that: the
run can pass without it, and names it. Tests that fail in a pytest stage are tried once more, one
after the other: every such test is printed and written to `second-tries.json`. A test that fails
twice fails the run. A stage that is marked `tried_again` is repeated as a whole, and told in the
same way.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scripts.gate import recorder
from scripts.gate.recorder import Record
from scripts.gate.stages import BUILD, ROOT, Stage

AT_ONCE: Final = 2
TESTS_FAILED: Final = 1
"""What pytest answers if tests failed, and not if it could not begin."""
TRIED_AGAIN_MAX: Final = 10
"""More failures than that are no accident."""
LOG_LINES_SHOWN: Final = 120


@dataclass
class Result:
    """What became of a stage."""

    stage: Stage
    code: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    skipped: str = ""
    """Why it was not run."""
    is_left_out: bool = False
    """Its time to begin was over: it has neither passed nor failed."""
    records: list[Record] = field(default_factory=list[Record])
    again: list[Record] = field(default_factory=list[Record])
    """Tests that failed once, with the outcome of the second try and the reason of the first."""

    @property
    def passed(self) -> bool:
        return self.code == 0 and not self.skipped and not self.is_left_out

    @property
    def failed(self) -> bool:
        return not self.passed and not self.is_left_out

    @property
    def log(self) -> Path:
        return BUILD / f"{self.stage.name}.log"

    def counted(self, outcome: str) -> int:
        """Tests with this outcome; one that passed at its second try has passed."""
        names = {each.test for each in self.records}
        saved = sum(each.outcome == "passed" and each.test in names for each in self.again)
        found = sum(each.outcome == outcome for each in self.records)
        return found + {"passed": saved, "failed": -saved}.get(outcome, 0)


class Runner:
    def __init__(
        self, stages: Sequence[Stage], seed: int, ended: Callable[[Result], None] = lambda _: None
    ) -> None:
        """`ended`: called with the result of each stage as soon as the stage is over."""
        self._stages = stages
        self._tell_ended = ended
        self._env = {
            **os.environ,
            "HOLDFAST_TEST_SEED": str(seed),
            # Images for containers often set it. Without bytecode on disk, each of the hundreds of
            # processes that tests start compiles all that it imports.
            "PYTHONDONTWRITEBYTECODE": "",
        }
        self._waiting = list(stages)
        self._running: set[asyncio.Task[None]] = set()
        self.results = {stage.name: Result(stage) for stage in stages}
        self._ended: set[str] = set()
        self._began_s = time.monotonic()

    async def run(self) -> None:
        """Whenever there is room, the first stage of the list that may start does."""
        BUILD.mkdir(parents=True, exist_ok=True)
        self._began_s = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            while self._waiting or self._running:
                while (stage := self._next()) is not None:
                    self._waiting.remove(stage)
                    self._running.add(tasks.create_task(self._run(stage)))
                _, self._running = await asyncio.wait(
                    self._running, return_when=asyncio.FIRST_COMPLETED
                )

    def _next(self) -> Stage | None:
        room = AT_ONCE - len(self._running)
        beside = [stage for stage in self._waiting if not stage.alone and self._may_start(stage)]
        if beside:
            return beside[0] if room else None
        # One that runs alone comes when everything else is over.
        return self._waiting[0] if self._waiting and not self._running else None

    def _may_start(self, stage: Stage) -> bool:
        return all(name in self._ended or name not in self.results for name in stage.after)

    async def _run(self, stage: Stage) -> None:
        result = self.results[stage.name]
        if self._is_too_late(stage):
            result.is_left_out = True
        elif missing := [name for name in stage.after if not self._is_there(name)]:
            result.skipped, result.code = f"{', '.join(missing)} failed", TESTS_FAILED
        else:
            await self._perform(stage, result)
        _tell(result)
        self._ended.add(stage.name)
        self._tell_ended(result)

    def _is_too_late(self, stage: Stage) -> bool:
        ran_s = time.monotonic() - self._began_s
        return stage.begins_within_s is not None and ran_s > stage.begins_within_s

    def _is_there(self, name: str) -> bool:
        return name not in self.results or self.results[name].passed

    async def _perform(self, stage: Stage, result: Result) -> None:
        print(f"{stage.name}: started", flush=True)
        began_s = time.monotonic()
        result.log.unlink(missing_ok=True)
        if stage.is_pytest:
            await self._test(stage, result)
        else:
            await self._command(stage.command, stage.env, result)
            if result.code != 0 and stage.tried_again:
                await self._try_again(stage, result)
        if result.code == 0 and stage.then:
            await self._command(stage.then, stage.env, result)
        result.seconds = time.monotonic() - began_s

    async def _try_again(self, stage: Stage, result: Result) -> None:
        why = f"exit {result.code}: {last_line(result.log)}"
        await self._command(stage.command, stage.env, result)
        outcome = "passed" if result.code == 0 else "failed"
        result.again.append(Record(stage.name, outcome, why=why))

    async def _test(self, stage: Stage, result: Result) -> None:
        cache = ("-o", f"cache_dir={BUILD / f'cache-{stage.name}'}")  # two sessions run at once
        command = (*stage.command, *cache, "-p", "scripts.gate.recorder")
        result.records = await self._recorded(command, stage, result, "first")
        failed = [each for each in result.records if each.outcome == "failed"]
        if result.code != TESTS_FAILED or not 0 < len(failed) <= TRIED_AGAIN_MAX:
            return
        chosen = BUILD / f"{stage.name}.again"
        chosen.write_text("\n".join(each.test for each in failed), encoding="utf-8")
        single = (sys.executable, "-m", "pytest", "-n", "0", *cache, "-p", "scripts.gate.recorder")
        outcomes = {
            each.test: each.outcome
            for each in await self._recorded((*single, f"@{chosen}"), stage, result, "second")
        }
        for each in failed:
            outcome = outcomes.get(each.test, "failed")
            result.again.append(Record(each.test, outcome, each.seconds, each.cpu_s, each.why))

    async def _recorded(
        self, command: Sequence[str], stage: Stage, result: Result, name: str
    ) -> list[Record]:
        file = BUILD / f"{stage.name}.{name}.jsonl"
        file.unlink(missing_ok=True)
        await self._command(command, {**stage.env, recorder.FILE: str(file)}, result)
        return recorder.read(file)

    async def _command(
        self, command: Sequence[str], env: Mapping[str, str], result: Result
    ) -> None:
        with result.log.open("ab") as log:
            log.write(f"$ {' '.join(command)}\n".encode())
            log.flush()
            process = await asyncio.create_subprocess_exec(
                "/usr/bin/env",
                *("bash", "-c", 'TIMEFORMAT="%U %S"; { time "$@" 2>&1; } 2>"$0"'),
                *(str(result.log.with_suffix(".cpu")), *command),
                cwd=ROOT,
                env={**self._env, **env},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                start_new_session=True,
            )
            try:
                result.code = await process.wait()
            finally:
                if process.returncode is None:  # the run is ended: so is all that it started
                    os.killpg(process.pid, signal.SIGTERM)
                    await process.wait()
        spent = result.log.with_suffix(".cpu").read_text().split()
        result.cpu_s += sum(float(each) for each in spent[-2:])


def last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip(" =") if lines else ""


def _tell(result: Result) -> None:
    stage = result.stage
    if result.is_left_out:
        print(f"{stage.name}: left out: its time to begin was over", flush=True)
        return
    if result.skipped:
        print(f"{stage.name}: not run: {result.skipped}", flush=True)
        return
    verdict = "passed" if result.passed else f"FAILED (exit {result.code})"
    counts = ", ".join(
        f"{number} {outcome}"
        for outcome in ("passed", "failed", "skipped")
        if result.records and (number := result.counted(outcome))
    )
    took = f"{result.seconds:.0f} s, {result.cpu_s:.0f} s of CPU"
    print(f"{stage.name}: {verdict} in {took}" + (f"; {counts}" if counts else ""), flush=True)
    for each in result.again:
        print(f"{stage.name}: second try {each.outcome}: {each.test}: {each.why}", flush=True)
    if not result.passed:
        lines = result.log.read_text(encoding="utf-8", errors="replace").splitlines()
        shown = lines[-LOG_LINES_SHOWN:]
        print(f"--- the last {len(shown)} of {len(lines)} lines of {result.log.name}")
        print("\n".join(shown))
        print(f"--- end of {result.log.name}", flush=True)
