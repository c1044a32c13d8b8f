# The project's tasks. `just check` and `just test` are what CI runs.

set shell := ["bash", "-euo", "pipefail", "-c"]

# Images for containers often set it. Tests start hundreds of processes; without bytecode on disk each
# compiles all that it imports, and a server takes twice the CPU to start.
export PYTHONDONTWRITEBYTECODE := ""

INTEGRATION := "--dist loadfile --no-loadscope-reorder --ignore tests/integration/chats " + \
    "tests/docs tests/integration/server tests/integration/cli tests/integration/providers " + \
    "tests/integration tests/architecture tests/requirements"

_default:
    @just --list

# Real processes, browsers and clocks on a shared machine are late now and then: what fails is told in a
# line, and tried once more, alone. What fails twice is wrong, and is told at length.
_twice processes tests:
    uv run pytest -n {{ processes }} --tb=line {{ tests }} \
        || uv run pytest -n 0 --last-failed --last-failed-no-failures none {{ tests }}

# All that is checked without running it; both halves at once, since either keeps one core busy.
[parallel]
check: ui-check server-check

# Formatting, lint, types, imports, dependencies and generated docs of the server.
server-check:
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
    cd ui && npm run api && npm run fix

# The page, built into src/holdfast/web/static: what the wheel ships and the server serves.
ui: _node_modules
    cd ui && npm run build

# Formatting, lint, types and tests of the page, and its API types against the contract.
ui-check: _node_modules
    cd ui && npm run lint && npm run types && npm run api-check && npm run test

# As locked; again only when the lock has changed. Not `npm ci`: it refuses a lock in which binaries
# of platforms are missing that the registry it was made from does not have.
_node_modules:
    cd ui && if [[ package-lock.json -nt node_modules/.holdfast ]]; then \
        npm install --no-save && touch node_modules/.holdfast; fi

# All tests.
test: _built unit integration simulate fault model browser wheel

[parallel]
_built: ui model-check

# What decides about a chat, whose every line and branch these tests must run.
unit:
    uv run coverage erase
    uv run coverage run --source holdfast.domain,holdfast.chats \
        -m pytest -n 2 tests/unit tests/contract tests/integration/chats
    uv run coverage combine --quiet
    uv run coverage report --fail-under 100

# A file stays on one worker, so that what its tests share is made once; files that take long go first.
# Not traced: that takes half as much CPU again, in every process that a test starts.

# Real PostgreSQL, Redis, servers, agents and pages.
integration: (_twice "3" INTEGRATION)

# Not in the gate, which it would make half as long again: run it before a release, or after adding
# a lot.

# At least 95 % of everything, run under a tracer.
coverage:
    uv run coverage erase
    uv run coverage run -m pytest -n 2 tests/unit tests/contract tests/integration tests/docs
    uv run coverage combine --quiet
    uv run coverage report --fail-under 95

# The proof counts seconds, and keeps the machine busy by itself: nothing runs beside it.

# Real processes killed, frozen and cut off; short runs of what `just kill-1000` does at length.
fault: (_twice "2" "tests/fault/test_hands.py") (_twice "0" "tests/fault/test_prove.py")

# What `holdfast prove` does, with the page and the figures that we publish: quick, full or soak.
prove profile="quick":
    uv run holdfast prove --{{ profile }} --page docs/promises.md --json benchmarks/prove.json

# The model test (at least 50,000 worker steps) and its mutants, on a real PostgreSQL.
model:
    uv run pytest -n 2 tests/model

# Replicas in virtual time, 1,000 seeds, and the mutants that some seed must notice.
simulate:
    uv run pytest -n 2 tests/simulation

# As many seeds as you like, from any: `just simulate-seeds 100000 1000`.
simulate-seeds number first="0":
    HOLDFAST_SIMULATION_SEEDS={{ number }} HOLDFAST_SIMULATION_FIRST={{ first }} uv run pytest -n 2 \
        -o timeout=0 tests/simulation/test_simulation.py -k seeds_keep_every_promise

# One seed again, with all that happened.
simulate-seed seed:
    uv run python -m tests.simulation {{ seed }}

# What a thousand seeds cost, in CPU seconds; counted into benchmarks/faults.json.
bench-simulation:
    uv run python -m benchmarks.simulation

# Lease, fence and interrupt under a model checker; needs `spin` and a C compiler.
model-check:
    models/check

# Requests by the thousand, made from the OpenAPI document, against a running server.
schemathesis examples="100" seed="1":
    HOLDFAST_SCHEMATHESIS_EXAMPLES={{ examples }} HOLDFAST_SCHEMATHESIS_SEED={{ seed }} \
        HOLDFAST_SCHEMATHESIS_PHASES=examples,coverage,fuzzing,stateful \
        uv run pytest -s -o timeout=0 tests/integration/web/test_schema.py

# Thousands of disturbed turns on one server, which must hold no more afterwards, memory included.
churn turns="2000":
    HOLDFAST_CHURN_TURNS={{ turns }} uv run pytest -n 2 -o timeout=0 \
        tests/integration/server/test_resources.py

# The page in Debian's Chromium, before a real server; `just ui` first.
browser: (_twice "2" "--dist loadfile tests/browser")

# Mutants of the page that only a browser can notice; a minute each. `just ui` first.
ui-mutants *words:
    uv run python -m tests.browser.mutants {{ words }}

# Pictures of the page, light, dark and on a phone; look at them before committing. `just ui` first.
ui-pictures folder="docs/pictures":
    uv run python -m scripts.ui_pictures {{ folder }}

# The wheel, installed in an environment of its own, does what it should.
wheel: ui
    scripts/check_wheel

# The README's transcript, made anew: a server killed in mid-answer, and the answer to its end.
transcript:
    uv run python scripts/transcript.py

# From a clone, and from the wheel, to the first words of an answer, timed.
first-answer *options:
    uv run python -m scripts.first_answer {{ options }}

# Agree to how the command line looks now (tests/golden/cli); read the difference before committing.
golden:
    HOLDFAST_GOLDEN=write uv run pytest -n 2 --dist loadfile tests/integration/cli

# Regenerate docs/architecture/state-machine.md and docs/reference/.
docs:
    uv run python scripts/generate_docs.py
    uv run python scripts/generate_provider_faults.py

# The ledger against pgbench with the same statements; writes benchmarks/ledger.md and .json.
bench-ledger *options:
    uv run python -m benchmarks.ledger {{ options }}

# CPU of a live event on either bus beside the bare engine; writes benchmarks/bus.md and .json.
bench-bus *options:
    uv run --group bench python -m benchmarks.bus {{ options }}

# A sent message and a told event over HTTP beside a bare app; writes benchmarks/http.md and .json.
bench-http *options:
    uv run python -m benchmarks.http {{ options }}

# Turns, storm, added latency, idle readers, growth: one machine; writes benchmarks/scale.md and .json.
bench-scale *options:
    uv run python -m benchmarks.scale {{ options }}

# The page's performance budget at full and quarter speed; writes benchmarks/ui.md and .json.
bench-ui *options: ui
    uv run python -m benchmarks.ui {{ options }}

# The route × actor matrix and schemathesis, counted into benchmarks/http.json.
bench-borders *options:
    uv run python -m benchmarks.borders {{ options }}

# Statements of a turn and reads of who watches it, counted into benchmarks/faults.json.
bench-watching:
    uv run python -m benchmarks.watching

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

# A thousand workers killed, a thousand frozen, at every boundary; writes benchmarks/faults.md.
kill-1000 *options:
    uv run python -m benchmarks.faults {{ options }}

# Commands while servers and agents die, and what `execute` costs; writes benchmarks/tools.md.
exactly-once *options:
    uv run python -m benchmarks.tools {{ options }}

# What the wall around commands costs, and what gets through it; writes into benchmarks/tools.json.
bench-sandbox *options:
    uv run python -m benchmarks.sandbox {{ options }}

# How many short streams one core of the simulator serves.
bench-simulator *options:
    uv run python benchmarks/simulator.py {{ options }}

# Readers over 100,000 events while workers, replicas and bus break; counted into benchmarks/faults.json.
stream-harness *options:
    uv run python -m benchmarks.faults_stream {{ options }}

# Opening beneath the workspace beside a plain open, and 40,000 races; writes into benchmarks/tools.json.
bench-agent-files *options:
    uv run python -m benchmarks.agent_files {{ options }}

# A command through the workspace agent beside a bare one, 500 waits, 10 GB of output; the same.
bench-agent *options:
    uv run python -m benchmarks.agent {{ options }}

# Nasty process trees, stopped: none may survive, in either way to keep a tree together; the same.
agent-kill trials="100":
    uv run python -m benchmarks.agent_kill --trials {{ trials }}
