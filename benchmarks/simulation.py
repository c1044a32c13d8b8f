"""`just bench-simulation`: what a thousand seeds cost, counted into benchmarks/faults.json.

In CPU seconds of all test processes, their start included: on a machine that others use as well,
how long it took says how busy they were. A seed that breaks a promise ends the run with its reason.
"""

import os
import resource
import subprocess
import sys
import time

from benchmarks.report import write_json
from tests.simulation.test_simulation import SEEDS

PROCESSES = 2


def main() -> None:
    started = time.monotonic()
    subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", str(PROCESSES), "-o", "timeout=0"),
            *("tests/simulation", "-k", "seeds_keep_every_promise"),
        ],
        check=True,
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = {
        "simulation_seeds": SEEDS,
        "simulation_processes": PROCESSES,
        "simulation_cpu_s": round(used.ru_utime + used.ru_stime, 1),
        "simulation_wall_s": round(time.monotonic() - started, 1),
        "simulation_load": round(os.getloadavg()[0], 1),
    }
    write_json("faults", figures)
    print(figures)


if __name__ == "__main__":
    main()
