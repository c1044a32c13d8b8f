"""`python -m holdfast.prove.stage.mutated MUTANT serve`: the command without a protection."""

import runpy
import sys

from holdfast.prove.mutants import MUTANTS

if __name__ == "__main__":
    MUTANTS[sys.argv.pop(1)]()
    runpy.run_module("holdfast", run_name="__main__", alter_sys=True)
