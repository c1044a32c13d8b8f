"""Prices from a file of the operator, in the form that genai-prices publishes (`data.json`).

The list that is installed is as old as its release. A newer file replaces all of it.
"""

from pathlib import Path
from typing import Any, Final, cast

import orjson
import pydantic
from genai_prices.data_snapshot import DataSnapshot, set_custom_snapshot
from genai_prices.types import (
    Provider,
    _providers_from_raw,  # pyright: ignore[reportPrivateUsage] - as its own updater reads the data
)

BYTES_MAX: Final = 64 * 1024 * 1024


class PriceFileWrong(Exception):
    """Why the file cannot be used, in a sentence for the operator."""


def use_price_file(path: Path) -> None:
    """Take all prices from this file; raises `PriceFileWrong`."""
    set_custom_snapshot(DataSnapshot(providers=_read(path), from_auto_update=False))


def _read(path: Path) -> list[Provider]:
    try:
        if path.stat().st_size > BYTES_MAX:
            raise PriceFileWrong(f"{path} has more than {BYTES_MAX // 1024 // 1024} MB")
        raw: Any = orjson.loads(path.read_bytes())
    except OSError as error:
        raise PriceFileWrong(f"{path} cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise PriceFileWrong(f"{path} is not JSON: {error}") from None
    if not isinstance(raw, list) or not raw:
        raise PriceFileWrong(f"{path} is no list of providers, as genai-prices publishes it")
    try:
        return _providers_from_raw(cast(list[Any], raw))
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise PriceFileWrong(f"{path}: {place}: {first['msg']}") from None
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise PriceFileWrong(f"{path} is not in the form of genai-prices: {error}") from None
