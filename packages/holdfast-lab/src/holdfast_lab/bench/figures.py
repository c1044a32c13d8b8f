"""The figures of a run: flat where programs read them, as a table where people do."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from holdfast_lab.bench.baselines import Baselines
from holdfast_lab.bench.load import Load
from holdfast_lab.bench.running import Outcome
from holdfast_lab.bench.scrape import summed
from holdfast_lab.bench.times import Times
from holdfast_lab.bench.watch import Watched

STATEMENTS_SHOWN: Final = 12
WRONG_SHOWN: Final = 20
BACKGROUND: Final = frozenset(
    {"heartbeat", "heads", "moved", "expired_awaits", "stopping_chats", "users_stopping"}
    | {"forget_workers"}
)
"""Statements that run on a timer, with or without load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    load: Load
    outcome: Outcome
    watched: Watched
    baselines: Baselines
    setup: Mapping[str, str | int]
    """What was measured: replicas, workers, bus, version."""
    idle_first_part_ms: float | None = None
    """The median of one chat alone."""

    @property
    def passed(self) -> bool:
        return not self.outcome.wrong and self.outcome.turns == self.load.all_turns


def times_of(outcome: Outcome) -> dict[str, Times]:
    return {
        "accepted": outcome.accepted,
        "told": outcome.told,
        "first_part": outcome.first_part,
        "follow_up_first_part": outcome.follow_up,
        "gap": outcome.gap,
        "turn": outcome.turn,
    }


def figures_of(result: Result) -> dict[str, Any]:
    """For JSON."""
    outcome, watched = result.outcome, result.watched
    return {
        "passed": result.passed,
        "load": asdict(result.load),
        "setup": dict(result.setup),
        "turns": outcome.turns,
        "seconds": round(outcome.seconds, 2),
        "turns_per_s": round(outcome.turns_per_s, 1),
        "lost": result.load.all_turns - outcome.turns,
        "doubled": outcome.doubled,
        "wrong": dict(list(outcome.wrong.items())[:WRONG_SHOWN]),
        "wrong_chats": len(outcome.wrong),
        "histories_checked": outcome.histories,
        "told_whole": outcome.told_whole,
        "retries": outcome.retries,
        "refused": outcome.refused,
        "sent_again": outcome.sent_again,
        "events_per_turn": _each(outcome.events, outcome),
        "parts_per_turn": _each(outcome.parts, outcome),
        "cpu_ms_per_turn": cpu_ms_per_turn(result),
        "memory_bytes_max": memory_max(watched),
        "connections_max": max((s.connections for s in watched.samples), default=0),
        "connections_busy_max": max((s.connections_busy for s in watched.samples), default=0),
        "statements_per_turn": statements_per_turn(result),
        "statements": [
            {**asdict(each), "per_turn": _each(each.calls, outcome)}
            for each in watched.statements[:STATEMENTS_SHOWN]
        ],
        "bus_operations_per_turn": _each(_bus_operations(watched), outcome),
        "stream_reads_per_turn": _each(
            summed(watched.counted, "holdfast_stream_reads_total"), outcome, places=3
        ),
        **_storm(result),
        "times_ms": {name: times.summary() for name, times in times_of(outcome).items()},
        "baselines": asdict(result.baselines),
        "ratios": ratios(result),
        "counted": {name: value for name, value in sorted(watched.counted.items()) if value},
    }


def _storm(result: Result) -> dict[str, float]:
    """Of the follow-ups alone."""
    watched, name = result.watched, "holdfast_stream_reads_total"
    follow_ups = result.outcome.turns - watched.turns_in_lull
    if watched.in_lull is None or follow_ups <= 0:
        return {}
    reads = summed(watched.counted, name) - summed(watched.in_lull, name)
    found = {"follow_up_stream_reads_per_turn": round(reads / follow_ups, 3)}
    times = result.outcome.follow_up.summary()
    if times and result.idle_first_part_ms:
        found["idle_first_part_ms"] = round(result.idle_first_part_ms, 2)
        found["storm_p99_to_idle"] = round(times["p99"] / result.idle_first_part_ms, 2)
    return found


def cpu_ms_per_turn(result: Result) -> dict[str, float]:
    """By part, and in all."""
    if not result.watched.samples:
        return {}
    parts = {
        part: _each(used * 1000, result.outcome) for part, used in result.watched.cpu_s().items()
    }
    return {**parts, "all": round(sum(parts.values()), 2)}


def memory_max(watched: Watched) -> dict[str, int]:
    parts = dict.fromkeys((part for sample in watched.samples for part in sample.memory), 0)
    for sample in watched.samples:
        for part, used in sample.memory.items():
            parts[part] = max(parts[part], used)
    return parts


def statements_per_turn(result: Result) -> float | None:
    """Those of turns. Where the server does not count them one by one, transactions: each of our
    statements is one, but then beats and polls are among them."""
    watched = result.watched
    if watched.statements:
        calls = sum(each.calls for each in watched.statements if each.name not in BACKGROUND)
        return _each(calls, result.outcome)
    return None if watched.transactions is None else _each(watched.transactions, result.outcome)


def ratios(result: Result) -> dict[str, float]:
    """Ours to the bare engine's; 1 is as good as without us."""
    bare, outcome, found = result.baselines, result.outcome, dict[str, float]()
    if bare.pgbench_turns_per_s:
        found["turns_to_pgbench"] = round(outcome.turns_per_s / bare.pgbench_turns_per_s, 3)
    if bare.bus and outcome.seconds:
        told = _bus_operations(result.watched) / outcome.seconds
        found["bus_events_to_bare_bus"] = round(told / bare.bus.events_per_s, 3)
    if bare.asgi:
        found["turns_to_bare_asgi"] = round(outcome.turns_per_s / bare.asgi.turns_per_s, 3)
        used = cpu_ms_per_turn(result).get("server")
        if used:
            found["server_cpu_to_bare_asgi"] = round(bare.asgi.server_cpu_ms / used, 3)
    return found


def _bus_operations(watched: Watched) -> float:
    return summed(watched.counted, "holdfast_bus_sent_total")


def _each(total: float, outcome: Outcome, places: int = 2) -> float:
    return round(total / outcome.turns, places) if outcome.turns else 0.0


def lines(result: Result) -> Iterator[str]:
    """For people, at the end of a run."""
    outcome, load, figures = result.outcome, result.load, figures_of(result)
    yield (
        f"{outcome.turns:,} of {load.all_turns:,} turns in {outcome.seconds:.1f} s:"
        f" {outcome.turns_per_s:,.1f} turns/s"
    )
    for name, times in figures["times_ms"].items():
        if times:
            yield (
                f"  {name.replace('_', ' '):<22} p50 {times['p50']:>9,.1f} ms"
                f"   p99 {times['p99']:>9,.1f} ms   max {times['max']:>9,.1f} ms"
            )
    if figures["cpu_ms_per_turn"]:
        yield "CPU per turn, ms"
        for part, used in figures["cpu_ms_per_turn"].items():
            yield f"  {part:<22} {used:>9.2f}"
    yield from _counts(figures)
    yield from _beside(result, figures)
    yield from _verdict(result)


def _counts(figures: Mapping[str, Any]) -> Iterator[str]:
    statements = figures["statements_per_turn"]
    if statements is not None:
        yield (
            f"Statements per turn {statements:.2f}, bus operations"
            f" {figures['bus_operations_per_turn']:.2f}, reads for streams"
            f" {figures['stream_reads_per_turn']:.3f}; database connections at most"
            f" {figures['connections_max']}, {figures['connections_busy_max']} of them busy"
        )
    if "follow_up_stream_reads_per_turn" in figures:
        yield f"Reads for streams per follow-up {figures['follow_up_stream_reads_per_turn']:.3f}"
    if "storm_p99_to_idle" in figures:
        yield (
            f"First part of a follow-up: p99 is {figures['storm_p99_to_idle']:.1f} times the median"
            f" of one chat alone ({figures['idle_first_part_ms']:.1f} ms)"
        )
    memory = figures["memory_bytes_max"]
    if memory:
        told = ", ".join(f"{part} {used / 2**20:,.0f}" for part, used in memory.items())
        yield f"Memory at most, MiB: {told}"


def _beside(result: Result, figures: Mapping[str, Any]) -> Iterator[str]:
    bare, found = result.baselines, figures["ratios"]
    if bare.pgbench_turns_per_s:
        yield (
            f"Beside bare PostgreSQL ({bare.pgbench_turns_per_s:,.0f} turns/s by pgbench):"
            f" {found['turns_to_pgbench']:.3f}"
        )
    if bare.bus:
        yield (
            f"Beside the bare bus ({bare.bus.events_per_s:,.0f} events/s,"
            f" {bare.bus.cpu_us:.1f} µs each): {found['bus_events_to_bare_bus']:.3f}"
        )
    if bare.asgi:
        yield (
            f"Beside a bare ASGI stream ({bare.asgi.turns_per_s:,.0f} turns/s,"
            f" {bare.asgi.server_cpu_ms:.2f} ms of its CPU each): {found['turns_to_bare_asgi']:.3f}"
        )


def _verdict(result: Result) -> Iterator[str]:
    outcome = result.outcome
    again = (
        f"{outcome.told_whole} answers were there before their first part was;"
        f" {outcome.retries} retries, {outcome.refused} told to come again,"
        f" {outcome.sent_again} sent again"
    )
    yield again
    if result.passed:
        yield (
            f"Every message once and in order in {outcome.histories:,} histories,"
            f" every stream complete: {outcome.events:,} events."
        )
        return
    yield f"FAILED: {len(outcome.wrong):,} of {result.load.chats:,} chats are wrong."
    for chat_id, reason in list(outcome.wrong.items())[:WRONG_SHOWN]:
        yield f"  chat {chat_id}: {reason}"
