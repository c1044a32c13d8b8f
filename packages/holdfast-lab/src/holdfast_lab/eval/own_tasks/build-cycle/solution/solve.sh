#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >store/item.py <<'END'
"""An item."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    name: str
    cents: int
END
cat >store/items.py <<'END'
"""Items."""

from store.basket import Basket
from store.item import Item

__all__ = ["Item", "describe"]


def describe(thing):
    if isinstance(thing, Basket):
        return f"{len(thing.items)} items, {thing.cents} cents"
    return f"{thing.name}, {thing.cents} cents"
END
sed -i 's/from store.items import Item/from store.item import Item/' store/basket.py
