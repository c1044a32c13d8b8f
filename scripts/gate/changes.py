"""Which nightly stages the gate adds, because a file that they protect has changed.

`PROTECTED` is the one table. A test that no row leaves to the night is in the gate always. A file
counts as changed if it differs from the commit at which the stage passed last: by itself, with
`--keep` (`benchmarks/stages.json`), or in a nightly run (`benchmarks/nightly.json`). Both files are
committed, so the same commit always gets the same gate. Until the first nightly run has passed, the
base is the commit that brought the tiers. `HOLDFAST_GATE_BASE` names another commit. Where there is
no base, every row applies.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import orjson

from scripts.gate.stages import DOCS_SITE, ROOT, Stage, prove, run, session

BASE: Final = "HOLDFAST_GATE_BASE"
NIGHTLY: Final = ROOT / "benchmarks" / "nightly.json"
KEPT: Final = ROOT / "benchmarks" / "stages.json"
"""Stages that passed since the last nightly run, each with its commit."""
SRC: Final = "packages/holdfast/src/holdfast"
AGENT: Final = "packages/holdfast-agent/src/holdfast_agent"
CLIENT: Final = "packages/holdfast-client/src/holdfast_client"
SIMULATOR: Final = "packages/holdfast-simulator/src/holdfast_simulator"
LAB: Final = "packages/holdfast-lab/src/holdfast_lab"


@dataclass(frozen=True)
class Protected:
    """`paths`: as fnmatch has them; `*` also matches slashes."""

    stage: Stage
    paths: tuple[str, ...]


def slow(name: str, *paths: str) -> Stage:
    """The tests of these files that the gate leaves to the night."""
    return session(name, "-m", "nightly", *paths, workers="2")


PROTECTED: Final = (
    Protected(
        slow("model-mutants", "tests/model"),
        (
            *(f"{SRC}/domain/*", f"{SRC}/adapters/postgres/store.py"),
            *(f"{SRC}/chats/changes.py", f"{SRC}/chats/ledger.py"),
            *(f"{SRC}/worker/idle_cache.py", f"{SRC}/worker/local_dispatch.py"),
            *(f"{SRC}/chats/answer.py", f"{SRC}/chats/outputs.py"),
            *(
                f"{SRC}/adapters/postgres/columns.py",
                f"{SRC}/adapters/postgres/commits.py",
                f"{SRC}/adapters/postgres/leases.py",
                f"{SRC}/adapters/postgres/queries/*",
                f"{SRC}/adapters/postgres/migrations/*",
            ),
            "tests/model/*",
        ),
    ),
    Protected(
        slow("random-edits", "tests/ergonomics"),
        (
            *(f"{AGENT}/files/{name}.py" for name in ("matching", "repairs", "diffs", "editing")),
            "tests/ergonomics/test_random_edits.py",
        ),
    ),
    Protected(
        slow("patches", "tests/integration/tools/test_patch.py"),
        (
            *(f"{SRC}/tools/workspace/{name}.py" for name in ("patches", "edits")),
            f"{SRC}/adapters/providers/wires/responses*",
            *("tests/integration/tools/test_patch.py", "tests/integration/tools/test_task.py"),
        ),
    ),
    Protected(
        slow("simulation-mutants", "tests/simulation"),
        (f"{SRC}/worker/*", f"{SRC}/turn/*", f"{SRC}/stream/*", "tests/simulation/*"),
    ),
    Protected(
        prove("proof-workers", "kills", "zombies", "hand-overs", "interrupts", "clock jumps"),
        (
            f"{SRC}/worker/*",
            f"{SRC}/adapters/postgres/leases.py",
            f"{LAB}/chaos/faults/workers/*",
            f"{LAB}/chaos/faults/clocks/*",
        ),
    ),
    Protected(
        prove("proof-streams", "streams", "bus loss", "slow readers", "storms", "bad lines"),
        (
            *(f"{SRC}/stream/*", f"{SRC}/adapters/bus/*", f"{SRC}/api/streaming.py"),
            *(f"{LAB}/chaos/faults/streams/*", f"{LAB}/chaos/faults/network/*"),
        ),
    ),
    Protected(
        prove("proof-commits", "database crashes", "lost answers", "used-up connections"),
        (
            *(f"{SRC}/adapters/postgres/*.py", f"{SRC}/chats/ledger.py"),
            *(f"{SRC}/chats/changes.py", f"{SRC}/worker/local_dispatch.py"),
            *(f"{LAB}/chaos/faults/database/*", f"{LAB}/chaos/faults/limits/*"),
        ),
    ),
    Protected(
        prove("proof-limits", "whales", "one floods"),
        (
            *(
                f"{SRC}/adapters/postgres/shares.py",
                f"{SRC}/adapters/postgres/pool.py",
                f"{SRC}/chats/listing.py",
            ),
            *(
                f"{SRC}/adapters/postgres/queries/*",
                f"{SRC}/adapters/postgres/history.py",
                f"{SRC}/domain/heads.py",
            ),
            *(f"{SRC}/stream/chat_reads.py", f"{SRC}/stream/snapshot_cache.py"),
            *(f"{SRC}/chats/queue.py", f"{SRC}/turn/reading.py"),
            *(f"{SRC}/worker/acquirer.py", f"{SRC}/api/streams.py"),
            *(f"{LAB}/chaos/faults/limits/{name}.py" for name in ("beside", "flood", "whales")),
        ),
    ),
    Protected(
        prove("proof-commands", "commands", "agents", "process trees", "escapes"),
        (
            *(f"{AGENT}/*", f"{SRC}/adapters/workspaces/*", f"{SRC}/tools/workspace/*"),
            *(f"{LAB}/chaos/faults/tools/*", f"{LAB}/chaos/faults/sandbox/*"),
        ),
    ),
    Protected(
        prove("proof-injections", "planted instructions"),
        (
            *(f"{AGENT}/files/*", f"{SRC}/domain/foreign.py", f"{SRC}/domain/approvals.py"),
            *(f"{SRC}/turn/call_policy.py", f"{SRC}/turn/step_policy.py"),
            *(f"{SRC}/turn/steps/generate.py", f"{SRC}/tools/workspace/binding.py"),
            *(f"{SRC}/tools/workspace/awareness.py", f"{LAB}/chaos/faults/injections/*"),
        ),
    ),
    Protected(
        prove("proof-borders", "borders"),
        (
            f"{SRC}/api/routes/*",
            f"{SRC}/identity/*",
            f"{SRC}/admin/*",
            f"{LAB}/chaos/faults/permissions/*",
        ),
    ),
    Protected(
        prove(
            "proof-fleet",
            *("changing primaries", "unreadable rows", "refused statements", "migrations"),
            "endless heads",
        ),
        (
            *(
                f"{SRC}/adapters/postgres/*.py",
                f"{SRC}/adapters/postgres/migrations/*",
                f"{SRC}/tasks.py",
                f"{SRC}/bootstrap/*",
            ),
            *(
                f"{SRC}/worker/health.py",
                f"{SRC}/worker/lease_scope.py",
                f"{SRC}/worker/acquirer.py",
            ),
            *(f"{SRC}/api/protocol.py", f"{SRC}/api/connections.py", f"{SRC}/api/serving.py"),
            f"{LAB}/chaos/faults/fleet/*",
        ),
    ),
    Protected(
        prove("proof-models", "failing models"),
        (f"{SRC}/adapters/providers/*", f"{SIMULATOR}/*", f"{LAB}/chaos/faults/models/*"),
    ),
    Protected(
        session("browser-all", "-m", "not essential", "tests/browser", workers="2"),
        ("ui/src/*", "ui/client/src/*", "ui/package-lock.json", "tests/browser/*"),
    ),
    Protected(
        run("ui-mutants", "_ui-mutants"),
        ("ui/client/src/*", "ui/src/engine/*", "ui/scripts/mutants.mjs"),
    ),
    Protected(
        run("browser-mutants", "ui-mutants"),
        ("ui/src/features/transcript/*", "ui/src/fonts.css", "tests/browser/mutants.py"),
    ),
    Protected(
        slow("pages", "tests/docs"),
        ("docs/how-to/*", "docs/tutorial/*", "README.md", "scripts/transcript.py", "tests/docs/*"),
    ),
    Protected(
        # All of their tests, as in `OWN_ROW`.
        session("agent", "tests/integration/agent", "tests/integration/sandbox"),
        (
            *(f"{AGENT}/*", f"{SRC}/adapters/workspaces/*", f"{AGENT}/addresses.py"),
            *("tests/integration/agent/*", "tests/integration/sandbox/*", "tests/support/agent*"),
        ),
    ),
    Protected(
        session("hands", "tests/fault/test_hands.py", workers="2"),
        (
            *(f"{AGENT}/*", f"{SRC}/adapters/workspaces/*", f"{SRC}/tools/workspace/*"),
            *(f"{SRC}/worker/*", f"{LAB}/chaos/faults/tools/*", "tests/fault/test_hands.py"),
        ),
    ),
    Protected(
        session("simulator", "tests/integration/simulator", workers="2"),
        (f"{SIMULATOR}/*", "tests/integration/simulator/*", "uv.lock"),
    ),
    Protected(
        session("providers", "tests/integration/providers"),
        (
            *(f"{SRC}/adapters/providers/*", f"{SRC}/adapters/http_client/*", f"{SIMULATOR}/*"),
            *(f"{SRC}/ports/*", f"{SRC}/domain/parts.py", f"{SRC}/domain/messages.py"),
            *(f"{SRC}/turn/*", f"{SRC}/settings/*", "uv.lock"),
            "tests/integration/providers/*",
        ),
    ),
    Protected(
        session("workspaces", "tests/integration/workspaces", "tests/integration/tools"),
        (
            *(f"{AGENT}/*", f"{SRC}/adapters/workspaces/*", f"{SRC}/tools/*"),
            *(f"{SRC}/domain/workspaces.py", f"{SRC}/turn/tool_runs.py"),
            *("tests/integration/workspaces/*", "tests/integration/tools/*"),
        ),
    ),
    Protected(
        slow("secrets", "tests/integration/postgres/test_secrets_kills.py"),
        (
            *(f"{SRC}/admin/secrets/*", f"{SRC}/domain/secrets.py"),
            *(
                f"{SRC}/adapters/postgres/secrets.py",
                f"{SRC}/adapters/postgres/queries/secrets.sql",
            ),
            "tests/integration/postgres/test_secrets_kills.py",
        ),
    ),
    Protected(
        slow("schema-requests", "tests/integration/api/test_schema.py"),
        (
            *(f"{SRC}/api/*", f"{SRC}/chats/*", f"{SRC}/identity/*", f"{SRC}/admin/*"),
            *("tests/integration/api/test_schema.py", "uv.lock"),
        ),
    ),
    Protected(
        slow("dev", "tests/integration/cli/test_dev.py"),
        (f"{SRC}/cli/dev/*", "tests/integration/cli/test_dev.py"),
    ),
    Protected(
        slow("alone", "tests/integration/cli/test_alone.py"),
        (
            *(
                f"{SRC}/worker/quarantine.py",
                f"{SRC}/worker/lease_scope.py",
                f"{SRC}/adapters/postgres/leases.py",
            ),
            *(
                f"{SRC}/adapters/postgres/queries/leases.sql",
                f"{SRC}/bootstrap/quarantine_processes.py",
                f"{SRC}/cli/worker.py",
            ),
            "tests/integration/cli/test_alone.py",
        ),
    ),
    Protected(
        DOCS_SITE,
        (
            *("docs/*", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
            "scripts/docs_site.py",
        ),
    ),
    Protected(
        slow("sdk", "tests/integration/client"),
        (
            *(f"{CLIENT}/*", f"{SRC}/api/streaming.py"),
            *(f"{SRC}/stream/{name}.py" for name in ("feed", "catch_up", "progress", "reorder")),
            *(f"{SRC}/stream/{name}.py" for name in ("opening", "retry", "snapshot_cache")),
            *("ui/client/*", "tests/integration/client/*"),
        ),
    ),
    Protected(
        slow("attach", "tests/integration/cli/test_attach.py"),
        (f"{SRC}/cli/attach.py", f"{SRC}/cli/follow.py", "tests/integration/cli/test_attach.py"),
    ),
    Protected(
        session(
            "bench",
            *("tests/integration/cli/test_bench.py", "tests/integration/cli/test_bench_modes.py"),
            workers="2",
        ),
        (f"{LAB}/bench/*", f"{LAB}/commands/bench/*", "tests/integration/cli/test_bench*"),
    ),
    Protected(
        session("eval", "tests/integration/eval", workers="2"),
        (
            *(f"{LAB}/eval/*.py", f"{LAB}/commands/eval/*"),
            "tests/integration/eval/*",
        ),
    ),
    Protected(
        slow("churn", "tests/integration/server/test_resources.py"),
        (
            *(
                f"{SRC}/stream/*",
                f"{SRC}/adapters/bus/*",
                f"{SRC}/api/streaming.py",
                f"{SRC}/api/serving.py",
            ),
            *("tests/support/churn.py", "tests/integration/server/test_resources.py"),
        ),
    ),
    Protected(
        slow("ended", "tests/integration/chaos"),
        (f"{LAB}/chaos/harness/*", f"{LAB}/commands/prove.py", "tests/integration/chaos/*"),
    ),
)


Changed: TypeAlias = Collection[str] | None
"""Files; None if there is no base to compare with."""


def added_stages(changed_for: Callable[[str], Changed]) -> list[Stage]:
    """The stages that protect a file which has changed since they passed; those without a base,
    too."""
    return [each.stage for each in PROTECTED if _touches(changed_for(each.stage.name), each.paths)]


def _touches(changed: Changed, paths: Collection[str]) -> bool:
    return changed is None or any(fnmatchcase(file, path) for file in changed for path in paths)


def changed_files(stage: str) -> Changed:
    """What differs from the base of this stage, the working tree included."""
    base = os.environ.get(BASE) or kept(KEPT).get(stage) or last_nightly(NIGHTLY) or introduction()
    return None if base is None else _difference(base)


@cache
def _difference(base: str) -> Changed:
    return git("diff", "--name-only", "--no-renames", base, "--")


def kept(file: Path) -> Mapping[str, str]:
    return orjson.loads(file.read_bytes()) if file.exists() else {}


def keep(file: Path, commit: str, passed: Iterable[str]) -> list[str]:
    """Note the stages of the table that passed at this commit. Returns their names."""
    if commit.endswith("+"):
        sys.exit("Nothing is kept: the tree holds changes that no commit has.")
    table = {each.stage.name for each in PROTECTED}
    names = sorted(table.intersection(passed))
    rows = {**kept(file), **dict.fromkeys(names, commit)}
    file.write_bytes(orjson.dumps(rows, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")
    return names


def introduction() -> str | None:
    """The commit that brought the tiers."""
    found = git("log", "--diff-filter=A", "--format=%H", "--", "scripts/gate/stages.py")
    return found[-1] if found else None


def git(*arguments: str) -> list[str] | None:
    asked = ["git", *arguments]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def last_nightly(file: Path) -> str | None:
    if not file.exists():
        return None
    commit: str = orjson.loads(file.read_bytes())["commit"]
    return commit
