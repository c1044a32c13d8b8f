"""Which server, and with which token: arguments, else the environment, else a file of contexts.

The file is `config.toml` in the user's folder for configuration (`HOLDFAST_CONFIG_DIR` names
another), readable by its owner only:

    current = "work"

    [contexts.work]
    url = "https://holdfast.example"
    token = "hf_…"

The only module of this package that reads the environment.
"""

import json
import os
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import platformdirs

from holdfast_client.errors import NotConfigured

URL_NAME: Final = "HOLDFAST_URL"
CONTEXT_NAME: Final = "HOLDFAST_CONTEXT"
TOKEN_NAME: Final = "HOLDFAST_TOKEN"  # noqa: S105 - the name of one
FOLDER_NAME: Final = "HOLDFAST_CONFIG_DIR"
FILE_NAME: Final = "config.toml"


@dataclass(frozen=True, slots=True)
class Target:
    url: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Config:
    """Named servers, and which of them is the default."""

    contexts: Mapping[str, Target] = field(default_factory=dict[str, Target])
    current: str | None = None


def config_path() -> Path:
    folder = os.environ.get(FOLDER_NAME)
    return Path(folder or platformdirs.user_config_path("holdfast", appauthor=False)) / FILE_NAME


def read_config(path: Path | None = None) -> Config:
    """No file is an empty one. A file that makes no sense is `NotConfigured`."""
    path = path or config_path()
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Config()
    except (OSError, ValueError) as error:
        raise NotConfigured(f"{path} cannot be read: {error}") from error
    contexts = {name: _target(path, name, each) for name, each in said.get("contexts", {}).items()}
    return Config(contexts, said.get("current"))


def write_config(config: Config, path: Path | None = None) -> None:
    """All of it, or nothing; never readable by others, not even for a moment."""
    path = path or config_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines = [] if config.current is None else [f"current = {_quoted(config.current)}", ""]
    for name, target in config.contexts.items():
        lines += [f"[contexts.{_quoted(name)}]", f"url = {_quoted(target.url)}"]
        lines += [] if target.token is None else [f"token = {_quoted(target.token)}"]
        lines += [""]
    handle, made = tempfile.mkstemp(dir=path.parent, prefix=FILE_NAME)  # mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        Path(made).replace(path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


def resolve(url: str | None = None, token: str | None = None, context: str | None = None) -> Target:
    """Where to go. A token of the file goes only to the server that it stands with."""
    if context is not None:
        named = _named(read_config(), context)
        return Target(_checked(url or named.url), token or named.token)
    url = url or os.environ.get(URL_NAME)
    token = token or os.environ.get(TOKEN_NAME)
    if url and token:
        return Target(_checked(url), token)
    config = read_config()
    if url:
        url = _checked(url)
        known = (each.token for each in config.contexts.values() if _checked(each.url) == url)
        return Target(url, next((each for each in known if each), None))
    name = os.environ.get(CONTEXT_NAME) or config.current
    if name is None:
        raise NotConfigured(f"Which server? Give a url, or set {URL_NAME}, or log in.")
    found = _named(config, name)
    return Target(_checked(found.url), token or found.token)


def _named(config: Config, name: str) -> Target:
    found = config.contexts.get(name)
    if found is None:
        raise NotConfigured(f"There is no context {name!r} in {config_path()}.")
    return found


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NotConfigured(f"{url!r} is not the URL of a server.")
    return url.rstrip("/")


def _target(path: Path, name: str, said: object) -> Target:
    if isinstance(said, dict):
        fields = cast("dict[str, Any]", said)
        url, token = fields.get("url"), fields.get("token")
        if isinstance(url, str) and isinstance(token, str | None):
            return Target(url, token)
    raise NotConfigured(f"{path}: the context {name!r} needs a url, and may have a token.")


def _quoted(text: str) -> str:
    return json.dumps(text).replace("\x7f", "\\u007f")  # all that TOML sees differently
