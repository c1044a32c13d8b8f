# The project's tasks. `just check` and `just test` are what CI runs.

set shell := ["bash", "-euo", "pipefail", "-c"]

_default:
    @just --list

# Formatting, lint, types, imports, dependencies, generated docs.
check:
    uv lock --check
    uv run ruff format --check .
    uv run ruff check .
    uv run pyright
    uv run lint-imports
    uv run deptry src
    uv run python scripts/generate_docs.py --check

# Put right what a machine can put right.
fix:
    uv run ruff format .
    uv run ruff check --fix .
    uv run python scripts/generate_docs.py

# All tests, with the coverage that domain/ and chats/ must have.
test: unit integration model-check model wheel

unit:
    uv run coverage erase
    uv run coverage run -m pytest -n 2 tests/unit tests/architecture tests/requirements

integration:
    uv run coverage run -m pytest -n 2 tests/contract tests/integration
    uv run coverage combine --quiet
    uv run coverage report --include 'src/holdfast/domain/*,src/holdfast/chats/*' --fail-under 100
    uv run coverage report --fail-under 95

# The model test (at least 50,000 worker steps) and its mutants, on a real PostgreSQL.
model:
    uv run pytest -n 2 tests/model

# Lease, fence and interrupt under a model checker; needs `spin` and a C compiler.
model-check:
    models/check

# The wheel, installed in an environment of its own, does what it should.
wheel:
    scripts/check_wheel

# Regenerate docs/architecture/state-machine.md and docs/reference/.
docs:
    uv run python scripts/generate_docs.py
    uv run python scripts/generate_provider_faults.py

# The ledger against pgbench with the same statements; writes benchmarks/ledger.md and .json.
bench-ledger *options:
    uv run python -m benchmarks.ledger {{ options }}

# Plans on 1 million chats and 20 million messages; writes benchmarks/plans.md and .json.
bench-plans *options:
    uv run python -m benchmarks.plans {{ options }}

# The model test and its mutants, counted; writes its figures into benchmarks/ledger.json.
bench-model:
    uv run python -m benchmarks.model

# CPU of the model layer beside bare aiohttp, the SDKs and pydantic-ai; writes benchmarks/providers.md.
bench-providers *options:
    uv run python -m benchmarks.providers {{ options }}

# Every fault on every wire and the bill of 1,000 turns, counted into benchmarks/providers.json.
bench-provider-proof:
    uv run python -m benchmarks.provider_proof

# How many short streams one core of the simulator serves.
bench-simulator *options:
    uv run python benchmarks/simulator.py {{ options }}
