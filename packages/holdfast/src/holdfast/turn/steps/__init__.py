"""The steps of a turn, a module for each: `perform(session, step)` does its work and commits it.

None as the result: nothing was committed, or the answer of the commit was lost; the driver asks
`next_step` again.
"""

from typing import assert_never

from holdfast.chats.changes import Commit
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
            doing = generate.perform(session, step)
        case Compact():
            doing = compact.perform(session, step)
        case RunTools():
            doing = run_tools.perform(session, step)
        case AwaitOutside():
            doing = await_outside.perform(session, step)
        case Finish():
            doing = finish.perform(session, step)
        case KeepPartial():
            doing = keep_partial.perform(session, step)
        case _:
            assert_never(step)
    return await doing
