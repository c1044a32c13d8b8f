"""What commands find around them: operating system and well-known programs. Nothing is run."""

import os
import platform
import re
import shutil
from typing import Final

from holdfast_agent.wire import Surroundings

COMMANDS: Final = (
    *("git", "gh", "python3", "pip", "uv", "node", "npm", "pnpm", "yarn", "bun", "deno"),
    *("go", "cargo", "java", "mvn", "gradle", "dotnet", "ruby", "php", "perl"),
    *("gcc", "clang", "make", "cmake", "docker", "rg", "fd", "jq", "curl", "wget"),
    *("sqlite3", "psql"),
)
"""Programs that a model asks for. A program that is not named may still be there."""
OS_CHARS_MAX: Final = 100
_VERSIONED: Final = re.compile(r"python3\.\d+")


def system_facts(path: str) -> Surroundings:
    """`path`: the PATH of commands."""
    return Surroundings(
        os=_os_name(),
        arch=platform.machine(),
        commands=tuple(name for each in COMMANDS if (name := _found(each, path)) is not None),
    )


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")[:OS_CHARS_MAX] or "Linux"
    except OSError:
        return platform.system()


def _found(command: str, path: str) -> str | None:
    """Its name, with the version where the file's own name tells it."""
    where = shutil.which(command, path=path)
    if where is None:
        return None
    target = os.path.basename(os.path.realpath(where))
    return target if _VERSIONED.fullmatch(target) else command
