"""The master key of this process: from a file, or from a program such as a KMS client.

Never from the value of an environment variable: programs that the server starts inherit those.
"""

import logging
import os
import stat
import subprocess
from pathlib import Path
from typing import Final

from holdfast.adapters.postgres.pool import Pool
from holdfast.adapters.postgres.secrets import PostgresSecrets
from holdfast.admin.secrets.sealing import MasterKeys, parse_master_keys
from holdfast.admin.secrets.vault import Vault
from holdfast.ports.clock import Clock
from holdfast.settings import Settings, WrongSettings, env_name
from holdfast.telemetry.logs import LEARNED

COMMAND_S: Final = 30.0
OUTPUT_BYTES_MAX: Final = 64 * 1024
_LOG: Final = logging.getLogger(__name__)


async def open_vault(pool: Pool, clock: Clock, masters: MasterKeys | None) -> Vault:
    """Raises `WrongMasterKey`."""
    vault = Vault(PostgresSecrets(pool), clock, masters, LEARNED.learn)
    await vault.start()
    return vault


def master_keys(settings: Settings) -> MasterKeys | None:
    """None: there is no master key. Blocks. Raises `WrongSettings`, which never quotes a key."""
    file, command = settings.master_key_file, settings.master_key_command
    if file is None and not command:
        return None
    name = env_name("master_key_file" if file is not None else "master_key_command")
    text = _printed(command, name) if file is None else _read(file, name)
    try:
        found = parse_master_keys(text)
    except ValueError as error:
        raise WrongSettings(f"{name}: {error}.") from None
    LEARNED.learn(*(line.strip() for line in text.splitlines()))
    return found


def _read(path: Path, name: str) -> str:
    try:
        if path.stat().st_mode & stat.S_IROTH:
            _LOG.warning("secrets: every user of this machine can read the file of the master key")
        with path.open("rb") as file:
            return file.read(OUTPUT_BYTES_MAX).decode("ascii", "replace")
    except OSError as error:
        raise WrongSettings(f"{name}: {path} cannot be read: {error.strerror}.") from None


def _printed(command: tuple[str, ...], name: str) -> str:
    program = os.path.basename(command[0])
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own program, without a shell
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise WrongSettings(f"{name}: {program} did not end within {COMMAND_S:g} s.") from None
    except OSError as error:
        raise WrongSettings(f"{name}: {program} did not start: {error.strerror}.") from None
    if done.returncode:
        # What it printed is not shown: it may be a part of the key.
        raise WrongSettings(f"{name}: {program} ended with status {done.returncode}.")
    return done.stdout[:OUTPUT_BYTES_MAX].decode("ascii", "replace")
