"""Which calls of a reply run at the same time."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.ports.tools import ToolSpec
from holdfast.turn.call_order import count_startable

READ = ToolSpec(name="read", description="", reads_only=True)
WRITE = ToolSpec(name="write", description="")


@given(st.data(), st.lists(st.sampled_from([READ, WRITE]), max_size=12), st.integers(1, 4))
def test_calls_start_in_order_and_a_writing_call_runs_alone(
    data: st.DataObject, specs: list[ToolSpec], parallel_max: int
) -> None:
    """Calls end in any order; whatever the order, every call is started, and the rules hold."""
    running: list[int] = []
    begun = 0
    while begun < len(specs) or running:
        room_before = len(running)
        number = count_startable([specs[at] for at in running], specs[begun:], parallel_max)
        running += range(begun, begun + number)
        begun += number

        assert 0 < len(running) <= max(parallel_max, room_before)
        assert len(running) == 1 or all(specs[at].reads_only for at in running)
        is_full = len(running) == parallel_max
        assert (
            is_full
            or begun == len(specs)
            or specs[begun] is WRITE
            or any(specs[at] is WRITE for at in running)
        ), "a call that only reads waits for nothing but a writing call"
        running.remove(data.draw(st.sampled_from(running)))


def test_no_call_starts_where_there_is_no_room() -> None:
    assert count_startable([READ], [READ], 1) == 0
    assert count_startable([READ], [], 4) == 0
