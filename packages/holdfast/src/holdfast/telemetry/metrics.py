"""Metrics: the table of all there are, and a registry of them for one server.

The parts of a server count in plain numbers, in a dataclass each (`BusCounters`, …). A row names
the part and the field it is read from; nothing is done until a scrape. Durations are observed
as they happen. `docs/reference/metrics.md` is generated from the table.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeAlias, cast

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
from holdfast.telemetry.background_tasks import BACKGROUND_TASKS
from holdfast.telemetry.metric_row import MetricKind, MetricRow

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

disable_created_metrics()  # they add a name per histogram that no dashboard uses
CONTENT_TYPE: Final = CONTENT_TYPE_LATEST


_FAST: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SLOW: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)


def _count(name: str, source: str, said: str, **labels: str) -> MetricRow:
    part, _, field = source.partition(".")
    return MetricRow(
        name=f"holdfast_{name}_total",
        kind=MetricKind.COUNTER,
        help=said,
        part=part,
        field=field,
        labels=labels or None,
    )


def _now(name: str, source: str, said: str, **labels: str) -> MetricRow:
    part, _, field = source.partition(".")
    return MetricRow(
        name=f"holdfast_{name}",
        kind=MetricKind.GAUGE,
        help=said,
        part=part,
        field=field,
        labels=labels or None,
    )


def _times(name: str, said: str, buckets: Sequence[float]) -> MetricRow:
    return MetricRow(name=name, kind=MetricKind.HISTOGRAM, help=said, buckets=buckets)


COMMIT_S: Final = "holdfast_commit_seconds"
FIRST_PART_S: Final = "holdfast_model_first_part_seconds"
REPLY_S: Final = "holdfast_model_reply_seconds"
TOOL_S: Final = "holdfast_tool_seconds"
ADVICE_S: Final = "holdfast_advisor_seconds"
WORKSPACE_START_S: Final = "holdfast_workspace_start_seconds"
DRIVE_S: Final = "holdfast_drive_seconds"

# Counters that parts of this process keep.

_SENT: Final = "Hints and live parts sent on the bus."
_DROPPED: Final = "Hints and live parts dropped before the bus: readers poll, or see no preview."
_REFUSED_FRAMES: Final = "Bus frames refused because no process of this deployment made them."
_FULL: Final = "Connections refused, by the limit that was reached."
_TOKENS: Final = "Tokens that providers billed."
_TEXT_TOKENS: Final = "Tokens that providers billed for titles, turn labels and summaries."
_ADVISOR_TOKENS: Final = "Tokens that providers billed for advice."

METRICS: Final[Sequence[MetricRow]] = (
    # The process.
    _now("tasks", "loop.tasks", "Tasks in the event loop of this process."),
    MetricRow(
        name="holdfast_task_failures_total",
        kind=MetricKind.COUNTER,
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
    _count("bus_reconnects", "bus.reconnects", "Reconnections to the bus."),
    _count(
        "bus_lagged",
        "bus.lagged",
        "Bus events lost because a follower in this process was too slow.",
    ),
    _count("bus_refused_frames", "bus.refused_frames", _REFUSED_FRAMES),
    _now("bus_chats_watched", "bus.watching", "Chats that this process watches on the bus."),
    # The database.
    _now("database_connections", "pool.idle", "Connections of the pool.", state="idle"),
    _now("database_connections", "pool.used", "Connections of the pool.", state="used"),
    _now(
        "statements_waiting",
        "shares.waiting",
        "Statements that wait because their user reached the per-user limit.",
    ),
    _count(
        "statements_waited", "shares.waited", "Statements that had to wait for the per-user limit."
    ),
    _count(
        "statements_refused",
        "shares.refused",
        "Statements refused: too many of the same user waited (`too_many_statements`).",
    ),
    _count(
        "lists_too_slow", "lists.too_slow", "Lists and searches that timed out (`list_too_slow`)."
    ),
    _count("chats_refused", "quotas.chats_refused", "Chats not created: their owner has too many."),
    _count(
        "storage_refused",
        "quotas.storage_refused",
        "Messages and chats not stored: their owner has too many bytes (`too_many_bytes`).",
    ),
    _now("commits_waiting", "commits.waiting", "Commits that wait for a free slot."),
    _count(
        "commits_together",
        "commits.together",
        "Commits sent in one transaction with others (group commit).",
    ),
    _count(
        "commits_apart",
        "commits.apart",
        "Of these, retried alone because one commit of the group was refused.",
    ),
    # The caches of a process that both serves and drives; bounded.
    _now(
        "remembered_chats",
        "remembered.chats",
        "Idle chats in the cache: their next message needs no load.",
    ),
    _now(
        "remembered_histories_bytes",
        "remembered.bytes",
        "Approximate size of the cached histories, in bytes.",
    ),
    # The worker.
    _now("worker_chats_driven", "worker.driven", "Chats that this worker drives."),
    _now("worker_capacity", "server.capacity", "Chats that this worker may drive at once."),
    _count("worker_acquired", "worker.acquired", "Chats acquired."),
    _count(
        "worker_taken",
        "worker.taken",
        "Of these, acquired by the commit that made the chat runnable.",
    ),
    _count(
        "worker_taken_in_doubt",
        "worker.taken_in_doubt",
        "Such commits without an answer; the worker released the chats.",
    ),
    _count("worker_released", "worker.released", "Chats released."),
    _count(
        "worker_lost",
        "worker.lost",
        "Chats that another worker took over while this one drove them.",
    ),
    _count("worker_crashed", "worker.crashed", "Chats whose driver failed with an internal error."),
    _count("worker_stuck", "worker.stuck", "Runners that did not end after their cancellation."),
    _count("worker_acquires", "worker.acquires", "Queries for runnable chats."),
    _count("worker_acquires_failed", "worker.acquires_failed", "Of these, failed or not answered."),
    _count("worker_syncs", "worker.syncs", "Queries for changes whose hints were lost."),
    _count(
        "chats_set_aside",
        "worker.set_aside",
        "Chats set aside: this version cannot read them, and leaves them to a newer one.",
    ),
    _count("worker_expired", "worker.expired", "Approvals and results whose deadline passed."),
    _count("worker_stopped", "worker.stopped", "Chats stopped because their owner was disabled."),
    _count("worker_forgotten", "worker.forgotten", "Rows of dead workers removed."),
    _count("worker_heartbeats", "worker.heartbeats", "Heartbeats that were answered."),
    _count(
        "worker_heartbeats_failed", "worker.heartbeats_failed", "Heartbeats that were not answered."
    ),
    _count(
        "worker_leases", "worker.leases", "Leases begun: one at the start, and one after each loss."
    ),
    _count("worker_lease_losses", "worker.lease_losses", "Leases lost: not renewed in time."),
    _count(
        "worker_leases_given_up",
        "worker.leases_given_up",
        "Leases given up: renewed, but no commit was answered for a lease's length.",
    ),
    _count(
        "worker_alone_started",
        "worker.alone_started",
        "Isolated processes started for chats that lost three workers in a row.",
    ),
    _count("worker_alone_died", "worker.alone_died", "Of these, killed or ended by an error."),
    # Turns.
    _count("turns", "turn.turns", "Turns that ended in this process."),
    _count("turn_steps", "turn.steps", "Steps committed."),
    _count("turn_attempts", "turn.attempts", "Attempts at a reply."),
    _count("turn_retries", "turn.retries", "Attempts that failed and are retried."),
    _count(
        "turn_fallback_replies",
        "turn.fallback_replies",
        "Replies of a fallback model, in place of the model of the chat.",
    ),
    _count(
        "models_reloads", "models.reloads", "Times that the file with the models was read again."
    ),
    _count("models_refused", "models.refused", "Times that it was wrong; the models stayed."),
    MetricRow(
        name="holdfast_provider_errors_total",
        kind=MetricKind.COUNTER,
        help="Attempts that failed, by vendor, kind of error and HTTP status. `none`: no answer;"
        " `other`: an unusual status.",
        part="turn",
        field="provider_errors",
        by_all=("vendor", "kind", "status"),
    ),
    MetricRow(
        name="holdfast_provider_breaker_changes_total",
        kind=MetricKind.COUNTER,
        help="Circuit breakers of provider endpoints that changed to a state.",
        part="turn",
        field="breaker_changes",
        by="state",
        among=("open", "closed"),
    ),
    MetricRow(
        name="holdfast_turn_failures_total",
        kind=MetricKind.COUNTER,
        help="Turns that failed, by kind of error.",
        part="turn",
        field="failures",
        by="kind",
        among=tuple(ErrorKind),
    ),
    _count("turn_bugs", "turn.bugs", "Steps that ended with an internal error."),
    _count("turn_interrupts", "turn.interrupts", "Turns that users interrupted."),
    _count(
        "turn_handovers",
        "turn.handovers",
        "Chats released in the middle of a step, for another worker.",
    ),
    _count(
        "turn_continued",
        "turn.continued",
        "Partial replies of dead workers that were kept and continued.",
    ),
    _count("turn_overtaken", "turn.overtaken", "Steps discarded because the chat was edited."),
    _count(
        "turn_uncertain_commits",
        "turn.uncertain_commits",
        "Commits without an answer of the database: the outcome was looked up.",
    ),
    _count("turn_live_parts", "turn.live_parts", "Live parts published."),
    _count(
        "turn_partials_missed",
        "turn.partials_missed",
        "Interrupts whose partial reply could not be read from the bus.",
    ),
    _count("turn_compactions", "turn.compactions", "Compactions committed."),
    _count("turn_tokens", "turn.input_tokens", _TOKENS, direction="input"),
    _count("turn_tokens", "turn.output_tokens", _TOKENS, direction="output"),
    MetricRow(
        name="holdfast_chat_texts_total",
        kind=MetricKind.COUNTER,
        help="Titles, turn labels and summaries asked of a model, by what became of them. `late`:"
        " the chat had moved on, or a user had named it.",
        part="texts",
        field="texts",
        by_all=("kind", "outcome"),
    ),
    _count("chat_texts_dropped", "texts.dropped", "Of these, left out: too many waited."),
    _count("chat_text_tokens", "texts.input_tokens", _TEXT_TOKENS, direction="input"),
    _count("chat_text_tokens", "texts.output_tokens", _TEXT_TOKENS, direction="output"),
    _count("advisor_calls", "advisor.calls", "Calls of the advisor that were run."),
    _count("advisor_failures", "advisor.failures", "Of these, calls without advice."),
    _count("advisor_tokens", "advisor.input_tokens", _ADVISOR_TOKENS, direction="input"),
    _count("advisor_tokens", "advisor.output_tokens", _ADVISOR_TOKENS, direction="output"),
    _count("tool_runs", "turn.tool_runs", "Tool calls run."),
    _count("tool_failures", "turn.tool_failures", "Tool results that report a failure."),
    _count(
        "tool_bugs", "turn.tool_bugs", "Tool runs that ended with an exception in the tool's code."
    ),
    _count("tool_deadlines", "turn.tool_deadlines", "Tool runs ended at their deadline."),
    _count(
        "tool_stuck", "turn.tools_stuck", "Tool runs that did not end after their cancellation."
    ),
    _count(
        "tool_unknown_outcomes",
        "turn.unknown_outcomes",
        "Calls with unknown outcome: a dead worker may have run them, and they are not repeated.",
    ),
    _count(
        "tool_sources_left_out",
        "tool_sources.left_out",
        "Tool sources left out of a turn: they failed to open, or not in time.",
    ),
    _count(
        "tool_sources_left_behind",
        "tool_sources.left_behind",
        "Tasks of tool sources that did not end after their cancellation.",
    ),
    _count(
        "tool_cut_outputs", "turn.cut_outputs", "Tool results truncated to fit the context window."
    ),
    # Readers.
    _now("stream_readers", "stream.readers", "Readers that follow a chat in this process."),
    _now("stream_chats_followed", "stream.feeds", "Chats with readers in this process."),
    _count(
        "stream_events",
        "stream.events",
        "Events sent to readers: an event to ten readers counts ten times.",
    ),
    _count(
        "stream_commits",
        "stream.commits",
        "Commits delivered from hints, without a read of the database.",
    ),
    _count("stream_reads", "stream.reads", "Reads of the database for readers of streams."),
    _count("stream_live_reads", "stream.live_reads", "Reads of the bus's live log."),
    _count("stream_snapshots", "stream.snapshots", "Snapshots sent to readers."),
    _count(
        "stream_lagged",
        "stream.lagged",
        "Times a reader was too slow, and resumed from the store at its cursor.",
    ),
    _count("stream_gaps", "stream.gaps", "Gaps that the bus reported."),
    _count("stream_polls", "stream.polls", "Polls of all followed chats."),
    _count(
        "stream_found_by_poll",
        "stream.found_by_poll",
        "Chats with changes that a poll found before a hint.",
    ),
    _count("stream_failed_reads", "stream.failed_reads", "Reads that failed or were not answered."),
    # Watched lists.
    _now("watch_watchers", "watch.watchers", "Chat lists watched in this process."),
    _count("watch_events", "watch.events", "Events sent to watchers of lists."),
    _count("watch_reads", "watch.reads", "Reads of the database because a list changed."),
    _count("watch_snapshots", "watch.snapshots", "Snapshots sent to watchers of lists."),
    _count("watch_polls", "watch.polls", "Polls of all watched lists."),
    _count(
        "watch_failed_reads",
        "watch.failed_reads",
        "Reads and polls that failed or were not answered.",
    ),
    _now("streams_open", "places.open", "Streams open in this process."),
    _count("streams_ended", "places.ended", "Streams ended because their user opened too many."),
    # Connections of clients.
    _now("http_connections", "http.open", "Client connections open in this process."),
    _count("http_connections_refused", "http.refused_process", _FULL, bound="process"),
    _count("http_connections_refused", "http.refused_address", _FULL, bound="address"),
    _count("http_heads_refused", "http.heads_refused", "Requests whose headers were too large."),
    _count(
        "http_silent",
        "http.silent",
        "Connections closed because no complete request arrived in time.",
    ),
    # Workspaces.
    _now(
        "workspace_work",
        "workspaces.under_way",
        "Workspaces that this process is starting or stopping.",
    ),
    _count(
        "workspace_starts", "workspaces.starts", "Starts of workspaces that ended in this process."
    ),
    _count("workspace_starts_failed", "workspaces.starts_failed", "Of these, failed."),
    _count(
        "workspace_stops", "workspaces.stops", "Stops of workspaces that ended in this process."
    ),
    _count("workspace_stops_failed", "workspaces.stops_failed", "Of these, failed."),
    _count("workspace_deletions", "workspaces.deletions", "Workspaces removed."),
    _count("workspace_expired", "workspaces.expired", "Workspaces stopped because they were idle."),
    _count(
        "workspace_repairs",
        "workspaces.repairs",
        "Workspace agents that did not answer and were restarted.",
    ),
    _count(
        "workspace_passed_on",
        "workspaces.passed_on",
        "Starts and stops that another server took over.",
    ),
    _count(
        "workspace_refused",
        "workspaces.refused",
        "Workspaces not created: their owner has too many.",
    ),
    # How long things take.
    _times(
        COMMIT_S, "Duration of a commit, from the decision to the answer of the database.", _FAST
    ),
    _times(FIRST_PART_S, "From the request to a model to the first part of its reply.", _SLOW),
    _times(
        REPLY_S, "From the request to a model to the end of its reply or of the attempt.", _SLOW
    ),
    _times(WORKSPACE_START_S, "From the claim of a workspace until its agent answers.", _SLOW),
    _times(TOOL_S, "Duration of one run of a tool call.", _SLOW),
    _times(ADVICE_S, "Duration of one call of the advisor, with its retries.", _SLOW),
    _times(DRIVE_S, "From the acquisition of a chat to its release.", _SLOW),
)

LabelValues: TypeAlias = str | tuple[str, ...]
Numbers: TypeAlias = Mapping[str, float | Mapping[str, float] | Mapping[tuple[str, ...], float]]
Source: TypeAlias = Callable[[], Numbers]
"""The numbers of a part, as they are now, by field."""
Observe: TypeAlias = Callable[[float], None]


def numbers_of(counters: "DataclassInstance") -> Numbers:
    """The numbers of a part that counts in a dataclass."""
    return {field.name: getattr(counters, field.name) for field in fields(counters)}


class Metrics:
    """The metrics of one server; not the process's, so that tests can have several."""

    def __init__(self, rows: Sequence[MetricRow] = METRICS) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._histograms = {
            row.name: Histogram(row.name, row.help, buckets=row.buckets, registry=self._registry)
            for row in rows
            if row.kind is MetricKind.HISTOGRAM
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
        # A short interval: it bounds how long a stop waits.
        serving = Thread(target=server.serve_forever, args=(0.05,), name="metrics", daemon=True)
        serving.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            server.server_close()
            serving.join()


class _Counted(Collector):
    def __init__(self, rows: Sequence[MetricRow], sources: Mapping[str, Source]) -> None:
        self._rows = [row for row in rows if row.kind is not MetricKind.HISTOGRAM]
        self._sources = sources

    def collect(self) -> Iterator[Metric]:  # pyright: ignore[reportImplicitOverride] - 3.11
        numbers = {part: source() for part, source in self._sources.items()}
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for row in self._rows:
            if row.part not in numbers:
                continue  # this process has no such part
            family = families.get(row.name)
            if family is None:
                make = CounterMetricFamily if row.kind is MetricKind.COUNTER else GaugeMetricFamily
                family = families[row.name] = make(row.name, row.help, labels=row.label_names)
            fixed = list((row.labels or {}).values())
            number = numbers[row.part][row.field]
            if isinstance(number, Mapping):
                by_labels = cast(Mapping[LabelValues, float], number)
                for values in row.among or by_labels:
                    told = (values,) if isinstance(values, str) else values
                    family.add_metric([*fixed, *told], by_labels.get(values, 0))
            else:
                family.add_metric(fixed, number)
        yield from families.values()
