"""Which server, and with which API key: arguments, else the environment, else a file of contexts.

The file is `config.toml` in the user's folder for configuration (`HOLDFAST_CONFIG_DIR` names
another), readable by its owner only:

    current = "work"

    [contexts.work]
    url = "https://holdfast.example"
    api_key = "hfst_…"

The only module of this package that reads the environment.
"""

import json
import os
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

from holdfast_client.errors import ConfigurationError

URL_NAME: Final = "HOLDFAST_URL"
CONTEXT_NAME: Final = "HOLDFAST_CONTEXT"
API_KEY_NAME: Final = "HOLDFAST_API_KEY"
FOLDER_NAME: Final = "HOLDFAST_CONFIG_DIR"
FILE_NAME: Final = "config.toml"


@dataclass(frozen=True, slots=True)
class Target:
    url: str
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Config:
    """Named servers, and which of them is the default."""

    contexts: Mapping[str, Target] = field(default_factory=dict[str, Target])
    current: str | None = None


def config_path() -> Path:
    folder = os.environ.get(FOLDER_NAME)
    return Path(folder or _user_folder()) / FILE_NAME


def _user_folder() -> Path:
    """Where this system keeps the configuration of a user's programs."""
    match sys.platform:
        case "win32":
            local = os.environ.get("LOCALAPPDATA")
            return Path(local or Path.home() / "AppData/Local") / "holdfast"
        case "darwin":
            return Path.home() / "Library/Application Support/holdfast"
        case _:
            given = os.environ.get("XDG_CONFIG_HOME", "").strip()
            return Path(given or Path.home() / ".config") / "holdfast"


def environment_without_ours(**more: str) -> dict[str, str]:
    """For a program that must not find the server and the settings of this one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return {**kept, **more}


def read_config(path: Path | None = None) -> Config:
    """No file is an empty one. A file that makes no sense is `ConfigurationError`."""
    path = path or config_path()
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Config()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    contexts = {name: _target(path, name, each) for name, each in said.get("contexts", {}).items()}
    return Config(contexts, said.get("current"))


def write_config(config: Config, path: Path | None = None) -> None:
    """All of it, or nothing; never readable by others, not even for a moment."""
    path = path or config_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines = [] if config.current is None else [f"current = {_quoted(config.current)}", ""]
    for name, target in config.contexts.items():
        lines += [f"[contexts.{_quoted(name)}]", f"url = {_quoted(target.url)}"]
        lines += [] if target.api_key is None else [f"api_key = {_quoted(target.api_key)}"]
        lines += [""]
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=FILE_NAME)  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        Path(made).replace(path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


def resolve(
    url: str | None = None, api_key: str | None = None, context: str | None = None
) -> Target:
    """Where to go. An API key of the file goes only to the server that it stands with."""
    if context is not None:
        named = _named(read_config(), context)
        return Target(_checked(url or named.url), api_key or named.api_key)
    url = url or os.environ.get(URL_NAME)
    api_key = api_key or os.environ.get(API_KEY_NAME)
    if url and api_key:
        return Target(_checked(url), api_key)
    config = read_config()
    if url:
        url = _checked(url)
        known = (each.api_key for each in config.contexts.values() if _checked(each.url) == url)
        return Target(url, next((each for each in known if each), None))
    name = os.environ.get(CONTEXT_NAME) or config.current
    if name is None:
        raise ConfigurationError(f"Which server? Give a url, or set {URL_NAME}, or log in.")
    found = _named(config, name)
    return Target(_checked(found.url), api_key or found.api_key)


def _named(config: Config, name: str) -> Target:
    found = config.contexts.get(name)
    if found is None:
        raise ConfigurationError(f"There is no context {name!r} in {config_path()}.")
    return found


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"{url!r} is not the URL of a server.")
    return url.rstrip("/")


def _target(path: Path, name: str, said: object) -> Target:
    if isinstance(said, dict):
        fields = cast("dict[str, Any]", said)
        url, api_key = fields.get("url"), fields.get("api_key")
        if isinstance(url, str) and isinstance(api_key, str | None):
            return Target(url, api_key)
    raise ConfigurationError(f"{path}: the context {name!r} needs a url, and may have an api_key.")


def _quoted(text: str) -> str:
    return json.dumps(text).replace("\x7f", "\\u007f")  # all that TOML sees differently
