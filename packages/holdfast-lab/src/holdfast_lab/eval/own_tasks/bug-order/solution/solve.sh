#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
sed -i '/    done, doing, result/,$d' order.py
cat >>order.py <<'END'
    graph = {step: set(others) for step, others in needs.items()}
    for others in needs.values():
        for other in others:
            graph.setdefault(other, set())
    result, left = [], dict(graph)
    while left:
        ready = sorted(step for step, others in left.items() if not others & left.keys())
        if not ready:
            raise Cycle(_cycle(left))
        result.append(ready[0])
        del left[ready[0]]
    return result


def _cycle(left):
    """One cycle among steps that all wait."""
    seen, step = [], min(left)
    while step not in seen:
        seen.append(step)
        step = min(left[step] & left.keys())
    steps = seen[seen.index(step) :]
    first = steps.index(min(steps))
    return steps[first:] + steps[:first]
END
