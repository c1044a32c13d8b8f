"""Progress of a run: a bar with live figures on a terminal, no output elsewhere."""

import time
from typing import Final, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column

from holdfast_lab.bench.load import Load
from holdfast_lab.bench.running import LoadRun
from holdfast_lab.bench.times import percentile
from holdfast_lab.bench.watch import Watch
from holdfast_lab.bench.whole import Telling

REFRESHES_PER_S: Final = 2
RECENT: Final = 500
"""Number of the latest turns that the shown figures cover."""


class Progress:
    def __init__(self, load: Load) -> None:
        console = Console(stderr=True)
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(table_column=Column(ratio=1)),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[live]}"),
            console=console,
            transient=True,
            auto_refresh=False,
            disable=not console.is_terminal,
        )
        self._task = self._bars.add_task("…", total=load.all_turns, live="")
        self._run: LoadRun | None = None
        self._refreshed_s = 0.0

    @property
    def telling(self) -> Telling:
        return Telling(self.stage, self._begun)

    def stage(self, name: str) -> None:
        self._bars.update(self._task, description=name)
        self._bars.refresh()

    def _begun(self, run: LoadRun, watch: Watch) -> None:
        self._run = run
        watch.sampled = self._show
        self.stage("turns")

    def _show(self) -> None:
        run, now_s = self._run, time.perf_counter()
        if run is None or self._bars.disable or now_s - self._refreshed_s < 1 / REFRESHES_PER_S:
            return
        self._refreshed_s = now_s
        outcome = run.outcome
        took_s = now_s - outcome.began_s
        recent = sorted(outcome.turn.values[-RECENT:])
        told = f"{outcome.turns / took_s:,.0f} turns/s" if took_s > 0 else ""
        if recent:
            told += (
                f", p50 {percentile(recent, 0.5):,.0f} ms, p99 {percentile(recent, 0.99):,.0f} ms"
            )
        if outcome.wrong:
            told += f", {len(outcome.wrong)} chats wrong"
        self._bars.update(self._task, completed=outcome.turns, live=told)
        self._bars.refresh()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()
