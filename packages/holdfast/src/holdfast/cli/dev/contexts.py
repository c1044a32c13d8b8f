"""Where the command line finds the server: a context of its own, named `dev`."""

from typing import Final

from holdfast_client.config import Config, Target, read_config, write_config
from holdfast_client.errors import ConfigurationError

NAME: Final = "dev"


def remember(url: str, key: str) -> str:
    """Save the context, and make it the current one if there is none: a user who is signed in at
    another server must not be switched silently. Returns what to type before a command works."""
    try:
        known = read_config()
        current = known.current if known.current in known.contexts else NAME
        write_config(Config({**known.contexts, NAME: Target(url, key)}, current))
    except (ConfigurationError, OSError) as error:
        return f"export HOLDFAST_URL={url} HOLDFAST_API_KEY=…  # {error}\n            "
    return "" if current == NAME else f"holdfast context use {NAME} && "
