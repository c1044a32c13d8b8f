"""When a soak begins to judge what grows."""

from holdfast_lab.bench.load import Load
from holdfast_lab.bench.running import Target
from holdfast_lab.bench.soak import Moment, Soak
from holdfast_lab.bench.visits import VisitRun

MINUTES = 60
BOUND = 10_000
FILLS_UNTIL_MIN = 30


def a_soak(*, leaks_per_min: float, remembers: bool, bound_min: int = FILLS_UNTIL_MIN) -> Soak:
    """Memory that is spent on what is remembered, up to its bound; and what leaks on top."""
    run = VisitRun(Load(chats=2, turns=1, words=4), Target(urls=["http://127.0.0.1:1"], key=""), 60)
    soak = Soak(MINUTES, run, {})
    for minute in range(MINUTES):
        kept = min(bound_min, minute) / FILLS_UNTIL_MIN
        memory = 80 + 50 * kept + leaks_per_min * minute + minute % 2
        remembered = {"chats": BOUND * kept} if remembers else {"chats": 0.0}
        soak.moments.append(Moment(60.0 * minute, {"server memory": memory}, remembered))
    return soak


async def test_what_is_remembered_up_to_a_bound_does_not_grow() -> None:
    soak = a_soak(leaks_per_min=0.0, remembers=True)
    assert soak.full_s() == 60 * FILLS_UNTIL_MIN
    assert soak.growing() == []


async def test_what_leaks_beside_it_does() -> None:
    assert a_soak(leaks_per_min=0.5, remembers=True).growing() == ["server memory"]


async def test_where_nothing_is_remembered_a_third_is_enough() -> None:
    soak = a_soak(leaks_per_min=0.5, remembers=False)
    assert soak.full_s() == 0
    assert soak.growing() == ["server memory"]


async def test_what_is_remembered_without_a_bound_is_told() -> None:
    soak = a_soak(leaks_per_min=0.0, remembers=True, bound_min=10 * MINUTES)
    assert soak.growing() == ["server memory"]
