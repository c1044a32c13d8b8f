"""The server's approval rules, from its settings: a JSON object, or a JSON or TOML file."""

import tomllib
from pathlib import Path
from typing import Final

import orjson
from pydantic import TypeAdapter, ValidationError

from holdfast.domain.approvals import ALLOW_ALL, Policy
from holdfast.settings import Settings, WrongSettings, env_name

_POLICY: Final = TypeAdapter(Policy)


def approval_policy(settings: Settings) -> Policy:
    """Raises `WrongSettings`: a server whose rules cannot be read must not run without them."""
    name, given = env_name("approvals"), settings.approvals.strip()
    if not given:
        return ALLOW_ALL
    try:
        return _POLICY.validate_python(_read(given))
    except OSError as error:
        raise WrongSettings(f"{name}: {given} cannot be read: {error.strerror}.") from None
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False, include_context=False)
        raise WrongSettings(
            *(_sentence(name, each["loc"], each["msg"]) for each in wrong)
        ) from None
    except ValueError as error:  # of both readers
        raise WrongSettings(f"{name}: neither JSON nor TOML as it should be: {error}.") from None


def _read(given: str) -> object:
    if given.startswith("{"):
        return orjson.loads(given)
    path = Path(given)
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else orjson.loads(text)


def _sentence(name: str, where: tuple[int | str, ...], said: str) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in where)
    return f"{name}{path}: {said.removeprefix('Value error, ')}."
