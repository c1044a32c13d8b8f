#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
cat >order.py <<'END'
"""The order of build steps."""


class Cycle(Exception):
    """Steps that wait for each other: `steps` is the cycle, from its smallest name on, in the direction of
    the dependencies."""

    def __init__(self, steps):
        super().__init__(" -> ".join(steps))
        self.steps = steps


def order(needs):
    """The steps, each after all that it needs. `needs`: a step, and the steps that it needs.

    A step that is only needed is a step, too. Of the steps that could come next the smallest name comes first.
    Raises `Cycle`.
    """
    done, doing, result = set(), [], []

    def visit(step):
        if step in doing:
            raise Cycle(sorted(doing))
        doing.append(step)
        for other in set(needs[step]):
            if other in needs:
                visit(other)
        if step not in done:
            done.add(step)
            result.append(step)

    for step in needs:
        visit(step)
    return result
END
cat >test_order.py <<'END'
import unittest

from order import order


class OrderTest(unittest.TestCase):
    def test_steps_may_share_a_dependency(self):
        self.assertEqual(order({"a": ["c"], "b": ["c"], "c": []}), ["c", "a", "b"])


if __name__ == "__main__":
    unittest.main()
END
