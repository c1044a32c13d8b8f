"""The steps of a turn, a module for each: `perform(session, step)` does its work and commits it.

None as the result: nothing was committed, or the answer of the commit was lost; the driver asks
`next_step` again.
"""

from typing import assert_never

from holdfast.chats.ledger import Commit
from holdfast.domain.next_step import (
    AwaitOutside,
    Compact,
    Finish,
    Generate,
    KeepPartial,
    RunTools,
    Step,
)
from holdfast.turn.session import TurnSession
from holdfast.turn.steps import (
    await_outside,
    compact,
    finish,
    generate,
    keep_partial,
    run_tools,
)


async def perform(session: TurnSession, step: Step) -> Commit | None:
    match step:
        case Generate():
            return await generate.perform(session, step)
        case Compact():
            return await compact.perform(session, step)
        case RunTools():
            return await run_tools.perform(session, step)
        case AwaitOutside():
            return await await_outside.perform(session, step)
        case Finish():
            return await finish.perform(session, step)
        case KeepPartial():
            return await keep_partial.perform(session, step)
        case _:
            assert_never(step)
