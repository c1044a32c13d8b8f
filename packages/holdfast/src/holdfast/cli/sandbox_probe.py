"""Whether commands of a local workspace can run on this machine, and what to do if not."""

import shutil
import subprocess
from typing import Final

PROBE_S: Final = 10.0
NOT_INSTALLED: Final = "bubblewrap is not installed: apt install bubblewrap"
NO_NAMESPACE: Final = "bubblewrap cannot make a user namespace ({why}): see docs/how-to/sandbox.md"
_TRUE: Final = ("--unshare-all", "--ro-bind", "/", "/", "true")


def why_no_commands() -> str | None:
    """None: bubblewrap is there and can make its namespaces. The agent itself checks far more."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return NOT_INSTALLED
    try:
        tried = subprocess.run(  # noqa: S603 - bubblewrap, as the agent starts it
            [bwrap, *_TRUE], capture_output=True, text=True, timeout=PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return NO_NAMESPACE.format(why=error)
    if tried.returncode == 0:
        return None
    return NO_NAMESPACE.format(why=tried.stderr.strip() or f"exit code {tried.returncode}")
