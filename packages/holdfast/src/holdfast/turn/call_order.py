"""The order in which the calls of one reply are started.

A model may call `edit_file` and then `execute "pytest"` in one reply: the test must see the edit.
So calls start in the order of the reply. Neighbouring calls that only read run at the same time;
any other call runs alone, after all calls before it and before all calls after it.
"""

from collections.abc import Sequence

from holdfast.ports.tools import ToolSpec


def count_startable(
    running: Sequence[ToolSpec], waiting: Sequence[ToolSpec], parallel_max: int
) -> int:
    """How many calls of `waiting`, from its first on, may be started beside those of `running`."""
    if not all(spec.reads_only for spec in running):
        return 0
    room = max(0, parallel_max - len(running))
    reads = 0
    while reads < min(room, len(waiting)) and waiting[reads].reads_only:
        reads += 1
    is_alone = not running and not reads
    return 1 if is_alone and waiting and room else reads
