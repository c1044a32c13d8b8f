"""`just agent-kill`: nasty process trees, stopped; none may survive, in either way to keep a tree.

Written into benchmarks/tools.json.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path

from benchmarks.tools_page import write_tools
from tests.integration.agent.test_kill import survivors


async def alive_after(trials: int) -> int:
    alive = 0
    for tree in ("namespace", "keeper"):
        with tempfile.TemporaryDirectory() as folder:
            alive += await survivors(Path(folder), tree, trials)
    return alive


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    trials = parser.parse_args().trials
    figures = {
        "agent_kill_trials": trials,
        "agent_kill_survivors": asyncio.run(alive_after(trials)),
    }
    print(figures)
    write_tools("agent_kill", figures)


if __name__ == "__main__":
    main()
