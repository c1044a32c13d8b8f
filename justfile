# The project's tasks. `just gate` is what CI runs.

set shell := ["bash", "-euo", "pipefail", "-c"]

# Images for containers often set it. Tests start hundreds of processes; without bytecode on disk each
# compiles all that it imports, and a server takes twice the CPU to start.
export PYTHONDONTWRITEBYTECODE := ""

_default:
    @just --list

# Every change: what `.ci/run` runs. Nightly stages are added where a file that they protect changed.
gate *options:
    uv run python -m scripts.gate {{ options }}

# The static checks of the gate.
check:
    uv run python -m scripts.gate check

# The tests of the gate.
test:
    uv run python -m scripts.gate test

# Before a release: everything but the published figures; its report is benchmarks/nightly.md.
nightly *options:
    uv run python -m scripts.gate nightly {{ options }}

# Weak code, committed secrets, and known weaknesses of packages where their data can be had.
secure:
    uv run --group secure python -m scripts.secure

# What the wheels and the page are made of: build/sbom/*.cdx.json, in CycloneDX.
sbom: _node_modules
    mkdir -p build/sbom
    uv export -q --locked --no-dev --preview --format cyclonedx1.5 -o build/sbom/python.cdx.json
    cd ui && npm sbom --sbom-format cyclonedx --omit dev > ../build/sbom/page.cdx.json

# One test, one file, one folder: `just one tests/unit/worker/test_lease.py -k heartbeat`.
one *tests:
    uv run pytest -n 0 {{ tests }}

# What a machine can check of the server without running it, types apart.
_lint:
    uv lock --check
    uv run ruff format --check .
    uv run ruff check .
    uv run lint-imports
    for package in packages/*; do (cd "$package" && uv run deptry src); done

_types:
    uv run pyright

# Put right what a machine can put right.
fix:
    uv run ruff format .
    uv run ruff check --fix .
    uv run python scripts/generate_docs.py
    cd ui && npm run api && npm run fix

# The page, built into the server's package: what the wheel ships and the server serves.
ui: _node_modules
    cd ui && npm run build

# Formatting, lint (with cycles and layers), types, dead code and tests of the page, and its API types
# against the contract.
ui-check: _node_modules
    cd ui && npm run lint && npm run types && npm run dead && npm run api-check && npm run test

# As locked; again only when the lock has changed. Not `npm ci`: it refuses a lock in which binaries
# of platforms are missing that the registry it was made from does not have.
_node_modules:
    cd ui && if [[ package-lock.json -nt node_modules/.holdfast ]]; then \
        npm install --no-save && touch node_modules/.holdfast; fi

# The tests of domain/, chats/ and all that needs no server; fast enough to run after every edit.
unit:
    uv run pytest -n 2 --dist loadscope tests/unit tests/contract tests/integration/chats

# Real PostgreSQL, Redis, servers, agents and pages.
integration:
    uv run pytest -n 3 --dist loadscope tests/integration tests/docs

# Combine what traced processes wrote; fail below 95 %.
_coverage-report:
    uv run coverage combine --quiet
    uv run coverage report --fail-under 95

# At least 95 % of everything, run under a tracer: a stage of the nightly run.
coverage:
    uv run python -m scripts.gate page coverage

# What `holdfast lab prove` does, with the page and the figures that we publish: quick, full or soak.
prove profile="quick":
    uv run holdfast lab prove --{{ profile }} --page docs/promises.md --json benchmarks/prove.json

# The model test at the size of the nightly run, and its mutants, on a real PostgreSQL.
model steps="50000":
    HOLDFAST_MODEL_STEPS={{ steps }} uv run pytest -n 2 tests/model

# Replicas in virtual time, and the mutants that some seed must notice.
simulate seeds="1000":
    HOLDFAST_SIMULATION_SEEDS={{ seeds }} uv run pytest -n 2 tests/simulation

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
        uv run pytest -s -o timeout=0 tests/integration/api/test_schema.py

# Thousands of disturbed turns on one server, which must hold no more afterwards, memory included.
churn turns="2000":
    HOLDFAST_CHURN_TURNS={{ turns }} uv run pytest -n 2 -o timeout=0 \
        tests/integration/server/test_resources.py

# The page in Debian's Chromium, before a real server; `just ui` first. `just browser -m essential`.
browser *options:
    uv run pytest -n 2 --dist loadscope {{ options }} tests/browser

# Mutants of the page that only a browser can notice; a minute each. `just ui` first.
ui-mutants *words:
    uv run python -m tests.browser.mutants {{ words }}

# Mutants of the page's log, which its own tests notice.
_ui-mutants: _node_modules
    cd ui && npm run mutants

# The canaries of the page's mutants; `just ui` first.
_ui-canaries: _node_modules
    canary="$(uv run python -c 'from scripts.gate.canaries import PAGE; print(PAGE)')" \
        && cd ui && npm run mutants -- --canary "$canary"
    uv run python -m tests.browser.mutants --canary \
        "$(uv run python -c 'from scripts.gate.canaries import BROWSER; print(BROWSER)')"

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

# The documents as a static site with search, in build/docs-site; fails on a broken link. Isolated:
# its packages do not change the environment in which tests run.
docs-site:
    uv run --isolated --locked --only-group docs python -m scripts.docs_site

# What an id of a requirement says, and the tests that prove it: `just requirement L133`.
requirement *ids:
    @uv run python scripts/requirements_report.py {{ ids }}

# What the gate costs: the timings.json of several runs; writes benchmarks/gate.md and .json.
bench-gate *options:
    uv run python -m benchmarks.gate {{ options }}

# Pronouns as actors, repeated class names, sizes; writes benchmarks/house.md and .json.
bench-house *options:
    uv run python -m benchmarks.house {{ options }}

# The functions that a message, a delta and a tool call pass through, counted by a run; writes keys of
# benchmarks/house.json.
bench-walks *options:
    uv run python -m benchmarks.walks {{ options }}

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

# The attacks on a fleet, with their mutants, and simulation seeds; writes benchmarks/fleet.md and .json.
bench-fleet *options:
    uv run python -m benchmarks.fleet {{ options }}

# The route × actor matrix and schemathesis, counted into benchmarks/http.json.
bench-borders *options:
    uv run python -m benchmarks.borders {{ options }}

# First answer, secrets at rest, settings under load; writes benchmarks/admin.md and .json.
bench-admin *options: ui
    uv run python -m benchmarks.admin_figures {{ options }}

# What of the safety figures is counted: planted instructions, routes x actors, keys, answers.
bench-safety-counts: ui
    uv run python -m benchmarks.safety_counts

# How long the actions of a disabled user go on, on two replicas.
bench-safety *options:
    uv run python -m benchmarks.safety {{ options }}

# Statements of a turn and reads of who watches it, counted into benchmarks/faults.json.
bench-watching:
    uv run python -m benchmarks.watching

# Compactions and titles: a long turn, kills at each boundary, costs; writes benchmarks/long-work.md.
bench-long-work *options:
    uv run python -m benchmarks.long_work {{ options }}

# Plans on 1 million chats and 20 million messages; writes benchmarks/plans.md and .json.
bench-plans *options:
    uv run python -m benchmarks.plans {{ options }}

# The public contract, counted; writes benchmarks/contract.md and .json.
bench-contract: ui
    uv run python -m benchmarks.contract

# CPU of a turn with and without hash partitions, and at COMMIT; writes keys of benchmarks/contract.json.
bench-partitions commit *options:
    uv run python -m benchmarks.partitions --before {{ commit }} {{ options }}

# The model test and its mutants, counted; writes its figures into benchmarks/ledger.json.
bench-model:
    uv run python -m benchmarks.model

# CPU of the model layer beside bare aiohttp, the SDKs and pydantic-ai; writes benchmarks/providers.md.
bench-providers *options:
    uv run python -m benchmarks.providers {{ options }}

# Real models, as far as they can be shown without a key (10 minutes); writes benchmarks/models.md.
bench-models *options:
    uv run python -m benchmarks.models {{options}}

# A thousand cuts of the network around Send; writes its figures into benchmarks/safety.json.
bench-sends *options: ui
    uv run python -m benchmarks.send_cuts {{ options }}

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

# What the ergonomics suite counts without a model; into benchmarks/agent.json and agent.md.
bench-agent-quality *options:
    uv run python -m benchmarks.agent_quality {{ options }}

# Nasty process trees, stopped: none may survive, in either way to keep a tree together; the same.
agent-kill trials="100":
    uv run python -m benchmarks.agent_kill --trials {{ trials }}
