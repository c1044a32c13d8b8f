"""A server to be looked at: a model that answers plain questions as if it were a real one, real
workspaces for it to run commands in, and two people."""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from holdfast_lab.chaos.harness.folders import short_folder
from holdfast_simulator.options import Options
from holdfast_simulator.script import parse_script
from holdfast_simulator.server import Config, running
from tests.support.browser import Site, a_site
from tests.support.database import migrated_template, temporary_database
from tests.support.identity import PASSWORD
from tests.support.replica import Replicas

LEASES: Final = "Why does the lease follow the database's clock?"
TESTS: Final = "Run the tests of the watcher and tell me what fails"
SLOW: Final = "Watch the log for a while: count slowly"
LONG: Final = "Write the release notes for 0.4"

_LEASES: Final = """\
Two machines never agree on the time, so **only one clock may decide** when a lease is over.

1. A worker writes `expires_at = now() + ttl`, and *the database* fills in `now()`.
2. Whoever wants the lease compares with `now()` as well: the same clock, the same answer.

```python
async def renew(lease: Lease) -> Lease:
    # The race: somebody may have rescued the chat a moment ago.
    return await store.extend(lease, if_epoch=lease.epoch)
```

| Clock of | Off by | What happens |
| --- | --- | --- |
| a worker | 40 s | nothing: it is never asked |
| the database | 40 s | every lease ends at the same wrong moment, together |

So a worker whose clock is wrong is late or early with its heartbeat, and nothing worse.
"""
_TESTS_SAID: Final = """\
One of four fails: `test_a_watcher_that_was_away_catches_up`.

It waits for an event that is told before the watcher subscribes. Subscribe first, then read the
snapshot, and both orders are safe.
"""
_MAKE: Final = r"""mkdir -p tests && cat > tests/run.sh <<'X'
for n in 'a watcher is told' 'a watcher that was away catches up' 'two agree' 'none is lost'; do
  sleep 0.4; case $n in *away*) echo "FAILED  $n";; *) echo "PASSED  $n";; esac; done
echo; echo "1 failed, 3 passed"; exit 1
X"""


def _item(word: str, text: str) -> str:
    return f"{word} {json.dumps(text)}"


def _call(name: str, arguments: dict[str, Any]) -> str:
    return f"call {name} {json.dumps(arguments)}"


def _when(prompt: str, step: int, *do: str) -> dict[str, Any]:
    return {"when": {"prompt": prompt, "step": step}, "do": list(do)}


_SCRIPT: Final = {
    "steps": [
        _when("lease follow", 0, _item("think", "Who decides?"), _item("say", _LEASES)),
        _when("Run the tests", 0, _item("say", "I look first."), _call("create_workspace", {})),
        _when("Run the tests", 1, _call("execute", {"command": _MAKE})),
        _when("Run the tests", 2, _call("execute", {"command": "bash tests/run.sh"})),
        _when("Run the tests", 3, _item("say", _TESTS_SAID)),
        _when("count slowly", 0, _call("create_workspace", {})),
        _when(
            "count slowly",
            1,
            _call("execute", {"command": "for n in $(seq 1 900); do echo $n; sleep 0.4; done"}),
        ),
        _when("release notes", 0, "words=400", "rate=40"),
        _when("key that does not hold", 0, "fault=401"),
    ]
}


@asynccontextmanager
async def a_stage() -> AsyncGenerator[Site]:
    script = parse_script(_SCRIPT)
    config = Config(hang_max_s=20, script=script, defaults=Options(rate=150))
    template = {
        "name": "local",
        "kind": "local",
        "sandbox": "external",
        "start_s": 120.0,
        "description": "Files and commands on the server's own machine.",
    }
    with short_folder() as folder:
        key_file = folder / "master.key"
        await asyncio.to_thread(_write, key_file, secrets.token_hex(32))
        async with (
            migrated_template() as migrated,
            temporary_database(migrated) as url,
            running(config) as simulator,
            a_site(
                Replicas(url, simulator),
                templates=[template],
                foreign_text="allow",  # its commands have the network of this machine
                workspaces_folder=str(folder / "w"),
                master_key_file=key_file,
            ) as site,
        ):
            await add(site, "Grace Hopper")
            yield site


def _write(key_file: Path, master: str) -> None:
    key_file.touch(mode=0o600)
    key_file.write_text(master)


async def add(site: Site, name: str) -> str:
    """A colleague; gives back their e-mail."""
    email = f"{name.split()[0].lower()}@acme.example"
    made = await site.admin.post("users", {"name": name, "email": email, "password": PASSWORD})
    assert made.status == 201, made.raw
    return email
