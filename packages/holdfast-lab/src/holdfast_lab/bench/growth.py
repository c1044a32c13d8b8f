"""Whether a turn costs more where there are more chats: the same turns of the same people, while
ever more silent chats exist and are watched."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast_lab.bench import svg
from holdfast_lab.bench.figures import Result, cpu_ms_per_turn, memory_max, statements_per_turn
from holdfast_lab.bench.load import Load
from holdfast_lab.bench.page import document, plots
from holdfast_lab.bench.processes import memory_bytes
from holdfast_lab.bench.told import Told
from holdfast_lab.bench.watch import POSTGRES
from holdfast_lab.bench.whole import Asked, Telling, run_whole

FLAT: Final = 1.25
OURS: Final = ("server", "worker", POSTGRES)
"""What a turn costs an operator: not the simulator, nor us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    chats: int
    cpu_ms: float
    by_part: Mapping[str, float]
    statements: float
    bytes_per_chat: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    load: Load
    sizes: Sequence[Size]
    wrong: Mapping[str, str]
    setup: Mapping[str, str | int]

    def ratios(self) -> dict[str, float]:
        """The largest to the smallest. Memory to the one before it: what few chats hold is less
        than what a process takes and gives back by chance."""
        first, before, last = self.sizes[0], self.sizes[-2], self.sizes[-1]
        ends = f"{last.chats}_over_{first.chats}"
        found = {
            f"growth_cpu_{ends}": last.cpu_ms / first.cpu_ms,
            f"growth_statements_{ends}": last.statements / first.statements,
        }
        if before.bytes_per_chat > 0:
            name = f"growth_memory_{last.chats}_over_{before.chats}"
            found[name] = last.bytes_per_chat / before.bytes_per_chat
        return {name: round(value, 3) for name, value in found.items()}


async def measure_growth(asked: Asked, telling: Telling, sizes: Sequence[int]) -> Told:
    """`asked.load`: who speaks, and how often; `sizes`: chats in all, from few to many."""
    pids, load = asked.sources.pids["server"], asked.load
    plain = replace(asked, engines=None)
    warm = replace(load, silent=0)
    wrong = dict((await run_whole(replace(plain, load=warm), telling)).outcome.wrong)
    empty = memory_bytes(pids)
    found: list[Size] = []
    for size in sizes:
        given = replace(load, silent=size - load.chats)
        result = await run_whole(replace(plain, load=given), telling)
        wrong |= result.outcome.wrong
        found.append(_size(result, empty))
    return told(Growth(load=load, sizes=found, wrong=wrong, setup=asked.setup))


def _size(result: Result, empty: int) -> Size:
    by_part = cpu_ms_per_turn(result)
    chats = result.load.watched
    return Size(
        chats=chats,
        cpu_ms=round(sum(by_part[part] for part in OURS if part in by_part), 3),
        by_part=by_part,
        statements=statements_per_turn(result) or 0.0,
        bytes_per_chat=round((memory_max(result.watched)["server"] - empty) / chats),
    )


def told(found: Growth) -> Told:
    lines, passed = list(_lines(found)), not found.wrong
    figures: dict[str, Any] = {
        "passed": passed,
        "setup": dict(found.setup),
        "turns": found.load.all_turns,
        **found.ratios(),
        "sizes": [
            {
                "chats": size.chats,
                "cpu_ms_per_turn": size.cpu_ms,
                "by_part": size.by_part,
                "statements_per_turn": size.statements,
                "bytes_per_chat": size.bytes_per_chat,
            }
            for size in found.sizes
        ],
        "wrong": dict(found.wrong),
    }
    title = f"The same {found.load.all_turns:,} turns among ever more chats"
    page = document(title, found.setup, "\n".join(lines), plots(_plots(found)), passed=passed)
    return Told(passed=passed, figures=figures, lines=lines, page=page)


def _lines(found: Growth) -> Iterator[str]:
    load = found.load
    yield f"{load.all_turns:,} turns of {load.chats:,} people; all chats are watched"
    for size in found.sizes:
        yield (
            f"  {size.chats:>7,} chats: {size.cpu_ms:>7.2f} ms of CPU and {size.statements:.2f}"
            f" statements per turn, {size.bytes_per_chat:>9,.0f} bytes per chat"
        )
    for name, value in found.ratios().items():
        said = "flat" if value <= FLAT else "GROWS"
        yield f"  {name.removeprefix('growth_').replace('_', ' '):<28} {value:.3f}  {said}"
    for chat_id, reason in found.wrong.items():
        yield f"FAILED: chat {chat_id}: {reason}"


def _plots(found: Growth) -> Iterator[str]:
    def over(values: Sequence[float]) -> list[svg.Point]:
        return [(size.chats, value) for size, value in zip(found.sizes, values, strict=True)]

    sizes = found.sizes
    cpu = {"ours": over([size.cpu_ms for size in sizes])}
    for part in OURS:
        cpu[part] = over([size.by_part.get(part, 0.0) for size in sizes])
    yield svg.lines("CPU per turn", cpu, "ms", across="chats")
    each = over([size.statements for size in sizes])
    yield svg.lines("Statements per turn", {"statements": each}, "statements", across="chats")
    held = over([max(size.bytes_per_chat, 0) / 1_000 for size in sizes])
    yield svg.lines("Memory of the server per chat", {"memory": held}, "KB", across="chats")
