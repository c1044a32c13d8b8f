"""A long turn on a small window, read on another replica; and what a compaction costs."""

from tests.requirements import requirement
from tests.support.long_work import working_cell
from tests.support.replica import Replicas
from tests.support.scripted import Hold
from tests.support.windowed import WINDOW_TOKENS, WorkingModel, tokens_of

STEPS = 60


@requirement("L15", "L16", "L19")
async def test_readers_elsewhere_are_told_of_each_compaction_in_order(cell: Replicas) -> None:
    model = WorkingModel(STEPS, hold=Hold())
    async with working_cell(cell, model) as here:
        turn = await here.long_turn()
    assert not turn.wrong()
    assert turn.compactions >= 2
    assert model.refused == 0, "the decision came too late"
    assert max(map(tokens_of, model.asked)) <= WINDOW_TOKENS


@requirement("L15")
async def test_a_compaction_costs_one_statement(cell: Replicas) -> None:
    """That of its boundary: the decision rides in the commit of the results."""
    statements: list[int] = []
    for window in (WINDOW_TOKENS, 1_000_000):
        async with working_cell(cell, WorkingModel(STEPS, window=window)) as here:
            turn = await here.long_turn(late=False)
        assert not turn.wrong()
        assert (turn.compactions >= 2) == (window == WINDOW_TOKENS)
        statements.append(turn.commits_and_reads - turn.compactions)
    assert statements[0] == statements[1]
