"""The commands `holdfast lab bench latency`, `idle`, `growth` and `soak`."""

from typing import Annotated, Final, TypeAlias

import typer

from holdfast_lab.commands.bench import command as given

SIZES: Final = (100, 1_000, 10_000)
Streams: TypeAlias = Annotated[int, given.LOAD(min=1, help="Number of concurrent answers.")]
Long: TypeAlias = Annotated[int, given.LOAD(min=2, help="Words of each answer.")]
Pace: TypeAlias = Annotated[float, given.LOAD(min=1, help="Words per second of an answer.")]
Rounds: TypeAlias = Annotated[
    int, given.LOAD(min=1, help="Number of rounds, directly and through the server.")
]
Several: TypeAlias = Annotated[int, given.LOAD(min=2, help="Turns of each stream in a round.")]
Readers: TypeAlias = Annotated[
    int, given.LOAD(min=2, help="Number of readers, each of its own chat.")
]
Rest: TypeAlias = Annotated[float, given.LOAD(min=0, help="Seconds before memory is measured.")]
Minutes: TypeAlias = Annotated[float, given.LOAD(min=0.05, help="Length of the run, in minutes.")]
PerMinute: TypeAlias = Annotated[float, given.LOAD(min=1, help="Chats started per minute.")]
Sample: TypeAlias = Annotated[float, given.LOAD(min=0.2, help="Seconds between samples.")]
Sizes: TypeAlias = Annotated[
    list[int] | None, given.LOAD("--size", min=1, help="Number of chats; repeat it for each size.")
]
Speakers: TypeAlias = Annotated[int, given.LOAD(min=1, help="Chats that send messages.")]


def latency(
    *,
    streams: Streams = 100,
    words: Long = 300,
    rate: Pace = 30.0,
    turns: Several = 3,
    rounds: Rounds = 2,
    replicas: given.Replicas = 1,
    workers: given.Workers = 1,
    bus: given.Bus = "",
    json: given.Json = None,
    html: given.Html = None,
) -> None:
    """Measure what Holdfast adds to an answer.

    The same client asks the simulator directly and through a server, alternately, and measures the
    time to the first part and between parts. Every word is checked in both cases.
    """
    from holdfast_lab.bench.latency import measure_latency
    from holdfast_lab.bench.load import Load
    from holdfast_lab.commands.bench.measured import Wish, measured

    load = Load(chats=streams, turns=turns, words=words, rate=rate)
    wish = Wish(load=load, replicas=replicas, workers=workers, bus_url=bus, json=json, html=html)
    measured(wish, lambda asked, telling: measure_latency(asked, telling.stage, rounds))


def idle(
    *,
    readers: Readers = 1_000,
    rest: Rest = 20.0,
    workers: given.Workers = 1,
    bus: given.Bus = "",
    json: given.Json = None,
    html: given.Html = None,
) -> None:
    """Measure the memory of idle readers.

    Compares the memory of the server's process per reader with that of a bare app on the same HTTP
    server, and measures how soon a message reaches a reader.
    """
    from holdfast_lab.bench.idle import measure_idle
    from holdfast_lab.bench.load import Load
    from holdfast_lab.commands.bench.measured import Wish, measured

    load = Load(chats=1, turns=1, silent=readers - 1)
    wish = Wish(load=load, workers=workers, bus_url=bus, json=json, html=html)
    measured(wish, lambda asked, telling: measure_idle(asked, telling.stage, rest))


def growth(
    *,
    sizes: Sizes = None,
    speakers: Speakers = 100,
    turns: given.Turns = 10,
    workers: given.Workers = 1,
    bus: given.Bus = "",
    json: given.Json = None,
    html: given.Html = None,
) -> None:
    """Measure whether a turn costs more with more chats (100, 1,000, 10,000).

    The same chats send messages at the same rate while more chats exist and are watched. Measures
    CPU and statements per turn, and memory of the server per chat.
    """
    from holdfast_lab.bench.growth import measure_growth
    from holdfast_lab.bench.load import Load
    from holdfast_lab.commands.bench.measured import Wish, measured

    wanted = sorted(sizes or SIZES)
    if len(wanted) < 2 or wanted[0] < speakers:
        raise typer.BadParameter("--size: two at least, and no less than --speakers.")
    load = Load(chats=speakers, turns=turns, silent=wanted[-1] - speakers)
    wish = Wish(load=load, workers=workers, bus_url=bus, json=json, html=html)
    measured(wish, lambda asked, telling: measure_growth(asked, telling, wanted))


def soak(
    *,
    minutes: Minutes = 60.0,
    per_minute: PerMinute = 200.0,
    sample: Sample = 10.0,
    turns: given.Turns = 2,
    words: Long = 40,
    rate: Pace = 20.0,
    workers: given.Workers = 1,
    bus: given.Bus = "",
    json: given.Json = None,
    html: given.Html = None,
) -> None:
    """Look for leaks: check that nothing grows during a long run.

    Clients start chats, send messages and read; half of the readers disconnect in the middle of an
    answer. Memory, tasks, open files, connections and the entries of the bus are sampled. After a
    third of the time a line fitted to the samples must not rise; for memory, after the caches are
    full. Every answer is checked, and every history at the end.

    Exit codes: 0 every check passed and nothing grows, 1 otherwise, 2 wrong usage.
    """
    from holdfast_lab.bench.load import Load
    from holdfast_lab.bench.soak import measure_soak
    from holdfast_lab.commands.bench.measured import Wish, measured

    load = Load(chats=max(1, round(minutes * per_minute)), turns=turns, words=words, rate=rate)
    wish = Wish(load=load, workers=workers, bus_url=bus, json=json, html=html)
    measured(
        wish,
        lambda asked, telling: measure_soak(
            asked,
            telling.stage,
            minutes=minutes,
            per_minute=per_minute,
            sample_s=sample,
            bus_url=bus,
        ),
    )
