"""`just bench-borders`: the route × actor matrix and schemathesis, counted.

Runs the tests themselves, and writes what they say into benchmarks/http.json.
"""

import argparse
import os
import re
import subprocess
import sys

from benchmarks.report import write_json

MATRIX = "tests/integration/api/test_matrix.py"
SCHEMA = "tests/integration/api/test_schema.py"


def run(test: str, **environment: str) -> tuple[int, str]:
    """How many tests failed, and all that was said."""
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-o", "timeout=0", test]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    failed = re.search(r"(\d+) (?:failed|error)", done.stdout)
    assert failed is not None or done.returncode == 0, done.stdout + done.stderr
    return 0 if failed is None else int(failed[1]), done.stdout


def matrix() -> dict[str, int]:
    """A leak fails its test, so each failure counts as one at least."""
    leaks, said = run(MATRIX)
    found = re.search(r"matrix: (\d+) routes, (\d+) actors, (\d+) checks", said)
    assert found is not None, said
    routes, actors, checks = map(int, found.groups())
    return {"routes": routes, "actors": actors, "authz_checks": checks, "authz_leaks": leaks}


def schema(examples: int) -> dict[str, int]:
    failed, said = run(
        SCHEMA,
        HOLDFAST_SCHEMATHESIS_EXAMPLES=str(examples),
        HOLDFAST_SCHEMATHESIS_PHASES="examples,coverage,fuzzing,stateful",
    )
    cases = sum(int(number) for number in re.findall(r"(\d+) generated", said))
    return {
        "schemathesis_5xx": len(re.findall(r"Server error", said)),
        "schemathesis_failures": failed,
        "schemathesis_cases": cases,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=20)
    given = parser.parse_args()
    figures = matrix() | schema(given.examples)
    write_json("http", figures)
    print(figures)


if __name__ == "__main__":
    main()
