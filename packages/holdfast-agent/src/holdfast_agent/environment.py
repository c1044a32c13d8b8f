"""The environment of every command: nothing that waits for a person, nothing that paints."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from holdfast_agent.faults import Refused
from holdfast_agent.wire import FaultCode

ENV_BYTES_MAX: Final = 64 * 1024
OWN_PREFIX: Final = "HOLDFAST_"
"""Of the agent itself, which may name secrets; never passed on."""

NEUTRAL: Final[Mapping[str, str]] = MappingProxyType(
    {
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "MANPAGER": "cat",
        "SYSTEMD_PAGER": "cat",
        "DELTA_PAGER": "cat",
        "EDITOR": "true",
        "VISUAL": "true",
        "GIT_EDITOR": "true",
        "GIT_SEQUENCE_EDITOR": "true",
        "GIT_TERMINAL_PROMPT": "0",
        "DEBIAN_FRONTEND": "noninteractive",
        "PIP_NO_INPUT": "1",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "CLICOLOR": "0",
        "FORCE_COLOR": "0",
    }
)
PLAIN: Final[Mapping[str, str]] = MappingProxyType(
    {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
)


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """What a container's or a machine's own environment gives to commands."""
    passed = {name: value for name, value in environment.items() if not name.startswith(OWN_PREFIX)}
    return {**PLAIN, **passed}


def environment(
    base: Mapping[str, str], asked: Mapping[str, str], guard: Mapping[str, str]
) -> dict[str, str]:
    """Requested variables come last and take precedence. `guard`: the settings for git."""
    size = 0
    for name, value in asked.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise Refused(
                FaultCode.BAD_REQUEST,
                f"{name!r} is not a valid environment variable. Leave it out.",
            )
        size += len(name.encode()) + len(value.encode())
    if size > ENV_BYTES_MAX:
        message = f"The environment is too large: {ENV_BYTES_MAX} bytes at most. Use a file."
        raise Refused(FaultCode.TOO_LARGE, message)
    return {**base, **NEUTRAL, **guard, **asked}
