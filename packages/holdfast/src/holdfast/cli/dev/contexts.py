"""Where the command line finds the server: a context named `dev`, or `dev-PORT` beside another."""

from typing import Final
from urllib.parse import urlsplit

from holdfast_client.config import Config, Target, read_config, write_config
from holdfast_client.errors import ConfigurationError

NAME: Final = "dev"


def remember(url: str, key: str) -> str:
    """Save the context, and make it the current one if there is none: a user who is signed in at
    another server must not be switched silently. Returns what to type before a command works."""
    try:
        known = read_config()
        name = name_for(known, url, key)
        current = known.current if known.current in known.contexts else name
        write_config(Config({**known.contexts, name: Target(url, key)}, current))
    except (ConfigurationError, OSError) as error:
        return f"export HOLDFAST_URL={url} HOLDFAST_API_KEY=…  # {error}\n            "
    return "" if current == name else f"holdfast context use {name} && "


def name_for(known: Config, url: str, key: str) -> str:
    """`dev`, unless that is another server: another address, and another key. One address has one
    server; one key is one data folder, on whatever port."""
    there = known.contexts.get(NAME)
    if there is None or there.url == url or there.api_key == key:
        return NAME
    return f"{NAME}-{urlsplit(url).port}"
