"""`python -m holdfast_lab.chaos.stage.mutated MUTANT serve`: the command without a protection."""

import runpy
import sys

from holdfast_lab.chaos.mutants import MUTANTS

if __name__ == "__main__":
    MUTANTS[sys.argv.pop(1)]()
    runpy.run_module("holdfast", run_name="__main__", alter_sys=True)
