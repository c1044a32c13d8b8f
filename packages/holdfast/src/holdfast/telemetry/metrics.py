"""Metrics: the table of all there are, and a registry of them for one server.

The parts of a server count in plain numbers, in a dataclass each (`BusCounters`, …). A row names
the part and the field it is read from; nothing is done until somebody asks. Durations are observed
as they happen. `docs/reference/metrics.md` is generated from the table.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeAlias

from prometheus_client import (
    CollectorRegistry,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, MetricsHandler, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from holdfast.domain.chat import ErrorKind

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

disable_created_metrics()  # a further name for each histogram, which nobody asked for
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One metric. `part` and `field`: where its number comes from, but for histograms."""

    name: str
    kind: Kind
    help: str
    part: str = ""
    field: str = ""
    labels: Mapping[str, str] | None = None  # fixed ones: rows of one name differ in them
    by: str = ""  # the field holds a number for each value of this label
    among: Sequence[str] = ()  # its values, shown even while they are 0
    buckets: Sequence[float] = ()

    def __post_init__(self) -> None:
        assert self.name.startswith("holdfast_"), self.name
        assert (self.kind is Kind.COUNTER) == self.name.endswith("_total"), self.name
        assert (self.kind is Kind.HISTOGRAM) == bool(self.buckets), self.name
        assert (self.kind is Kind.HISTOGRAM) != bool(self.part and self.field), self.name
        assert bool(self.by) == bool(self.among), self.name

    @property
    def label_names(self) -> tuple[str, ...]:
        return (*(self.labels or ()), *((self.by,) if self.by else ()))


_FAST: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SLOW: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)


def _count(name: str, source: str, said: str, **labels: str) -> Row:
    part, _, field = source.partition(".")
    return Row(
        name=f"holdfast_{name}_total",
        kind=Kind.COUNTER,
        help=said,
        part=part,
        field=field,
        labels=labels or None,
    )


def _now(name: str, source: str, said: str, **labels: str) -> Row:
    part, _, field = source.partition(".")
    return Row(
        name=f"holdfast_{name}",
        kind=Kind.GAUGE,
        help=said,
        part=part,
        field=field,
        labels=labels or None,
    )


def _times(name: str, said: str, buckets: Sequence[float]) -> Row:
    return Row(name=name, kind=Kind.HISTOGRAM, help=said, buckets=buckets)


COMMIT_S: Final = "holdfast_commit_seconds"
FIRST_PART_S: Final = "holdfast_model_first_part_seconds"
REPLY_S: Final = "holdfast_model_reply_seconds"
TOOL_S: Final = "holdfast_tool_seconds"
WORKSPACE_START_S: Final = "holdfast_workspace_start_seconds"
DRIVE_S: Final = "holdfast_drive_seconds"

BACKGROUND_TASKS: Final = (
    *("bus receiver", "bus sender", "clock", "feed", "forget expired", "list", "list poll"),
    *("overdue", "runner", "settings", "stream poll", "worker", "workspace", "workspaces"),
    "other",
)
"""As `holdfast.tasks` counts them."""

# Counters that parts of this process keep.

_SENT: Final = "What was sent on the bus."
_DROPPED: Final = "What the bus could not take: readers find it later, or see no preview."
_FULL: Final = "Connections refused, by the bound that was reached."
_TOKENS: Final = "Tokens that providers billed."

METRICS: Final[Sequence[Row]] = (
    # The process.
    _now("tasks", "loop.tasks", "Tasks of this process's event loop."),
    Row(
        name="holdfast_task_failures_total",
        kind=Kind.COUNTER,
        help="Errors of background tasks, which the process survived. Each is a bug.",
        part="loop",
        field="failures",
        by="task",
        among=BACKGROUND_TASKS,
    ),
    # The bus.
    _count("bus_sent", "bus.sent_hints", _SENT, kind="hint"),
    _count("bus_sent", "bus.sent_parts", _SENT, kind="part"),
    _count("bus_dropped", "bus.dropped_hints", _DROPPED, kind="hint"),
    _count("bus_dropped", "bus.dropped_parts", _DROPPED, kind="part"),
    _count("bus_reconnects", "bus.reconnects", "Connections to the bus made anew."),
    _count("bus_lagged", "bus.lagged", "Events that a follower in this process was too slow for."),
    _now("bus_chats_watched", "bus.watching", "Chats that this process watches on the bus."),
    # The database.
    _now("database_connections", "pool.idle", "Connections of the pool.", state="idle"),
    _now("database_connections", "pool.used", "Connections of the pool.", state="used"),
    _now("statements_waiting", "shares.waiting", "Statements of people that wait for their turn."),
    _count("statements_waited", "shares.waited", "Statements of people that had to wait for it."),
    _count(
        "statements_refused",
        "shares.refused",
        "Statements not made: too many of the same person's waited (`too_many_statements`).",
    ),
    _count("lists_too_slow", "lists.too_slow", "Lists and searches ended (`list_too_slow`)."),
    _count("chats_refused", "quotas.chats_refused", "Chats not made: their owner has too many."),
    _count(
        "storage_refused",
        "quotas.storage_refused",
        "Messages and chats not stored: their owner has too many bytes (`too_many_bytes`).",
    ),
    _now("commits_waiting", "commits.waiting", "Commits that are made as soon as others are done."),
    _count(
        "commits_together", "commits.together", "Commits that shared a transaction with others."
    ),
    _count("commits_apart", "commits.apart", "Of these, made once more alone: one was refused."),
    # What is remembered where one process serves and drives; bounded.
    _now("remembered_chats", "remembered.chats", "Chats at rest whose next message needs no load."),
    _now(
        "remembered_histories_bytes",
        "remembered.bytes",
        "About what the histories weigh that the next turn need not read.",
    ),
    # The worker.
    _now("worker_chats_driven", "worker.driven", "Chats that this worker drives."),
    _now("worker_capacity", "server.capacity", "Chats that this worker may drive at once."),
    _count("worker_acquired", "worker.acquired", "Chats acquired."),
    _count("worker_taken", "worker.taken", "Of these, by the very commit that made them runnable."),
    _count(
        "worker_taken_in_doubt",
        "worker.taken_in_doubt",
        "Such commits whose answer got lost; the chats were released.",
    ),
    _count("worker_released", "worker.released", "Chats given back."),
    _count("worker_lost", "worker.lost", "Chats that passed on while they were driven."),
    _count("worker_crashed", "worker.crashed", "Chats whose driver failed by a fault of ours."),
    _count("worker_stuck", "worker.stuck", "Runners that did not end after they were cancelled."),
    _count("worker_acquires", "worker.acquires", "Times this worker looked for chats."),
    _count("worker_acquires_failed", "worker.acquires_failed", "Of these, without an answer."),
    _count("worker_syncs", "worker.syncs", "Times it looked for what hints had lost."),
    _count(
        "chats_set_aside",
        "worker.set_aside",
        "Chats set aside: this version cannot read them, and leaves them to a newer one.",
    ),
    _count("worker_expired", "worker.expired", "Waits ended because their deadline had passed."),
    _count("worker_forgotten", "worker.forgotten", "Dead workers removed."),
    _count("worker_heartbeats", "worker.heartbeats", "Heartbeats that were answered."),
    _count("worker_heartbeats_failed", "worker.heartbeats_failed", "Heartbeats that were not."),
    _count("worker_leases", "worker.leases", "Times this worker began, or began anew."),
    _count("worker_lease_losses", "worker.lease_losses", "Leases lost: not renewed in time."),
    _count(
        "worker_leases_given_up",
        "worker.leases_given_up",
        "Leases given up: renewed, but no commit was answered for a lease's length.",
    ),
    _count(
        "worker_alone_started",
        "worker.alone_started",
        "Processes started for chats that were taken over from dead workers three times in a row.",
    ),
    _count("worker_alone_died", "worker.alone_died", "Of these, killed or ended by an error."),
    # Turns.
    _count("turns", "turn.turns", "Turns that ended here."),
    _count("turn_steps", "turn.steps", "Steps committed."),
    _count("turn_attempts", "turn.attempts", "Attempts at a reply."),
    _count("turn_retries", "turn.retries", "Attempts that failed and are made again."),
    Row(
        name="holdfast_turn_failures_total",
        kind=Kind.COUNTER,
        help="Turns that failed, by why.",
        part="turn",
        field="failures",
        by="kind",
        among=tuple(ErrorKind),
    ),
    _count("turn_bugs", "turn.bugs", "Steps that ended in a fault of ours."),
    _count("turn_interrupts", "turn.interrupts", "Turns that people ended early."),
    _count("turn_handovers", "turn.handovers", "Chats let go in mid-step, for another worker."),
    _count(
        "turn_continued",
        "turn.continued",
        "Replies of dead workers that were kept and gone on from.",
    ),
    _count("turn_overtaken", "turn.overtaken", "Steps dropped because of an edit."),
    _count(
        "turn_uncertain_commits",
        "turn.uncertain_commits",
        "Commits of which the database did not say whether they happened.",
    ),
    _count("turn_live_parts", "turn.live_parts", "Live parts said."),
    _count(
        "turn_partials_missed",
        "turn.partials_missed",
        "Interrupts for which the bus could not tell what had been said.",
    ),
    _count("turn_compactions", "turn.compactions", "Compactions committed."),
    _count("turn_tokens", "turn.input_tokens", _TOKENS, direction="input"),
    _count("turn_tokens", "turn.output_tokens", _TOKENS, direction="output"),
    _count("tool_runs", "turn.tool_runs", "Tool calls run."),
    _count("tool_failures", "turn.tool_failures", "Results that say that the tool failed."),
    _count("tool_bugs", "turn.tool_bugs", "Runs that ended in a fault of the tool's code."),
    _count("tool_deadlines", "turn.tool_deadlines", "Runs ended at their deadline."),
    _count("tool_stuck", "turn.tools_stuck", "Runs that outlived their cancellation."),
    _count(
        "tool_unknown_outcomes",
        "turn.unknown_outcomes",
        "Calls that a dead worker may have run, and that must not be run twice.",
    ),
    _count("tool_cut_outputs", "turn.cut_outputs", "Results cut to fit the model's window."),
    # Readers.
    _now("stream_readers", "stream.readers", "Readers that follow a chat here."),
    _now("stream_chats_followed", "stream.feeds", "Chats with readers in this process."),
    _count("stream_events", "stream.events", "Events given to readers; each counts."),
    _count("stream_commits", "stream.commits", "Commits taken from hints, without a read."),
    _count("stream_reads", "stream.reads", "Reads of the database for readers of streams."),
    _count("stream_live_reads", "stream.live_reads", "Reads of the bus's live log."),
    _count("stream_snapshots", "stream.snapshots", "Snapshots given to readers."),
    _count("stream_lagged", "stream.lagged", "Readers told that they were too slow."),
    _count("stream_gaps", "stream.gaps", "Gaps that the bus told of."),
    _count("stream_polls", "stream.polls", "Times all followed chats were looked at."),
    _count(
        "stream_found_by_poll",
        "stream.found_by_poll",
        "Chats that this look found ahead of what the bus had told.",
    ),
    _count("stream_failed_reads", "stream.failed_reads", "Reads that were not answered."),
    # Who watches their lists.
    _now("watch_watchers", "watch.watchers", "Lists of chats that are watched here."),
    _count("watch_events", "watch.events", "Events given to those who watch a list."),
    _count("watch_reads", "watch.reads", "Reads of the database because a list changed."),
    _count("watch_snapshots", "watch.snapshots", "Snapshots given to those who watch a list."),
    _count("watch_polls", "watch.polls", "Times all watched lists were looked at."),
    _count("watch_failed_reads", "watch.failed_reads", "Of both, without an answer."),
    _now("streams_open", "places.open", "Streams of people that are open here."),
    _count("streams_ended", "places.ended", "Streams ended because their reader opened too many."),
    # Connections of clients.
    _now("http_connections", "http.open", "Connections of clients that are open here."),
    _count("http_connections_refused", "http.refused_process", _FULL, bound="process"),
    _count("http_connections_refused", "http.refused_address", _FULL, bound="address"),
    _count("http_heads_refused", "http.heads_refused", "Requests whose headers were too large."),
    _count("http_silent", "http.silent", "Connections closed: no whole request came in time."),
    # Workspaces.
    _now("workspace_work", "workspaces.under_way", "Workspaces started or stopped here now."),
    _count("workspace_starts", "workspaces.starts", "Starts that ended here."),
    _count("workspace_starts_failed", "workspaces.starts_failed", "Of these, failed."),
    _count("workspace_stops", "workspaces.stops", "Stops that ended here."),
    _count("workspace_stops_failed", "workspaces.stops_failed", "Of these, failed."),
    _count("workspace_deletions", "workspaces.deletions", "Workspaces removed."),
    _count("workspace_expired", "workspaces.expired", "Stopped because they lay idle."),
    _count("workspace_repairs", "workspaces.repairs", "Agents that were gone, started anew."),
    _count("workspace_passed_on", "workspaces.passed_on", "Work that others took over."),
    _count("workspace_refused", "workspaces.refused", "Not made: their owner has too many."),
    # How long things take.
    _times(COMMIT_S, "A commit, from deciding to the database's word.", _FAST),
    _times(FIRST_PART_S, "From asking a model to the first part of its reply.", _SLOW),
    _times(REPLY_S, "From asking a model to the end of its reply, or of the attempt.", _SLOW),
    _times(WORKSPACE_START_S, "From the claim of a workspace until its agent answers.", _SLOW),
    _times(TOOL_S, "One run of one tool call.", _SLOW),
    _times(DRIVE_S, "From acquiring a chat until it is let go.", _SLOW),
)

Numbers: TypeAlias = Mapping[str, float | Mapping[str, float]]
Source: TypeAlias = Callable[[], Numbers]
"""The numbers of a part, as they are now, by field."""
Observe: TypeAlias = Callable[[float], None]


def numbers_of(counters: "DataclassInstance") -> Numbers:
    """The numbers of a part that counts in a dataclass."""
    return {field.name: getattr(counters, field.name) for field in fields(counters)}


class Metrics:
    """The metrics of one server; not the process's, so that tests can have several."""

    def __init__(self, rows: Sequence[Row] = METRICS) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._histograms = {
            row.name: Histogram(row.name, row.help, buckets=row.buckets, registry=self._registry)
            for row in rows
            if row.kind is Kind.HISTOGRAM
        }
        self._sources: dict[str, Source] = {}
        self._registry.register(_Counted(rows, self._sources))
        ProcessCollector(registry=self._registry)

    def bind(self, part: str, source: Source) -> None:
        """Read the numbers of `part` from there from now on."""
        self._sources[part] = source

    def observe(self, name: str) -> Observe:
        """Where to tell durations, in seconds."""
        return self._histograms[name].observe

    def text(self) -> bytes:
        """All of them, as Prometheus reads them (`CONTENT_TYPE`)."""
        return generate_latest(self._registry)

    def value(self, name: str, **labels: str) -> float:
        """One of them; 0 if it is not there."""
        return self._registry.get_sample_value(name, labels) or 0.0

    @contextmanager
    def served(self, host: str, port: int) -> Generator[int]:
        """On HTTP, from a thread of its own: to be asked while the loop is busy is the point."""
        handler = MetricsHandler.factory(self._registry)
        server = ThreadingHTTPServer((host, port), handler)
        # Polled often: whoever stops it waits for that long.
        serving = Thread(target=server.serve_forever, args=(0.05,), name="metrics", daemon=True)
        serving.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            server.server_close()
            serving.join()


class _Counted(Collector):
    def __init__(self, rows: Sequence[Row], sources: Mapping[str, Source]) -> None:
        self._rows = [row for row in rows if row.kind is not Kind.HISTOGRAM]
        self._sources = sources

    def collect(self) -> Iterator[Metric]:  # pyright: ignore[reportImplicitOverride] - 3.11
        numbers = {part: source() for part, source in self._sources.items()}
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for row in self._rows:
            if row.part not in numbers:
                continue  # this process has no such part
            family = families.get(row.name)
            if family is None:
                make = CounterMetricFamily if row.kind is Kind.COUNTER else GaugeMetricFamily
                family = families[row.name] = make(row.name, row.help, labels=row.label_names)
            fixed = list((row.labels or {}).values())
            number = numbers[row.part][row.field]
            if isinstance(number, Mapping):
                for value in row.among:
                    family.add_metric([*fixed, value], number.get(value, 0))
            else:
                family.add_metric(fixed, number)
        yield from families.values()
