"""Run one seed again and print everything that happened: `just simulate-seed 42`."""

import sys

from tests.simulation.world import run

ran = run(int(sys.argv[1]))
print("\n".join(ran.trace))
print("\n".join(ran.problems) or f"seed {ran.seed}: nothing wrong, {ran.counts}")
sys.exit(bool(ran.problems))
