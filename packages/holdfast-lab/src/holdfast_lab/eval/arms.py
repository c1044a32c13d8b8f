"""Arms: settings of the server that are compared with each other."""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from holdfast.domain.errors import HoldfastError

BASE: Final = "base"
"""The arm without settings of its own."""
OURS: Final = frozenset(
    {"database_url", "port", "host", "role", "templates", "templates_file", "workspaces_folder"}
)
"""Settings that say where the server is: the runner chooses them."""
SECRET: Final = ("key", "secret", "password", "token", "models", "providers", "oidc", "proxy")
HIDDEN: Final = "(not shown)"
VALUE_CHARS_MAX: Final = 2_000


class WrongArm(HoldfastError):
    """An arm that cannot be run; says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSettings:
    name: str = BASE
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """By the lower-case name of the setting, without `HOLDFAST_`."""

    @property
    def environment(self) -> dict[str, str]:
        return {f"HOLDFAST_{name.upper()}": _text(value) for name, value in self.given.items()}

    @property
    def shown(self) -> dict[str, str]:
        """For a report, without secrets."""
        return {
            name: HIDDEN if any(word in name for word in SECRET) else _text(value)[:VALUE_CHARS_MAX]
            for name, value in self.given.items()
        }


def read_arm(option: str, known: Collection[str]) -> ArmSettings:
    """`NAME=FILE.toml`. `known`: the names of all settings. Raises `WrongArm`."""
    name, equals, path = option.partition("=")
    if not (equals and name.strip() and path):
        raise WrongArm(f"--arm is NAME=FILE.toml, not {option!r}.")
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WrongArm(f"{path} cannot be read: {error}") from error
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise WrongArm(f"{path}: there is no setting {', '.join(unknown)}.")
    refused = sorted(set(given) & OURS)
    if refused:
        raise WrongArm(f"{path}: the runner chooses {', '.join(refused)}.")
    return ArmSettings(name=name.strip(), given=given)


def check_names(arms: Collection[ArmSettings]) -> None:
    """Raises `WrongArm` if two arms have one name."""
    names = [arm.name for arm in arms]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise WrongArm(f"Two arms are called {', '.join(twice)}.")


def _text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return str(value)
        case _:
            return orjson.dumps(value).decode()
