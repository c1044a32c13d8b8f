#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
mkdir shop
python3 - <<'END'
import re
from pathlib import Path

text = Path("shop.py").read_text()


def piece(first, after):
    """From this text to before that one."""
    start = text.index(first)
    return text[start : text.index(after, start)].strip() + "\n"


def put(name, doc, *more):
    Path("shop", f"{name}.py").write_text(f'"""{doc}"""\n\n' + "\n\n".join(each.strip() + "\n" for each in more))


put("money", "Amounts.", piece("CURRENCY =", "\n\nclass ShopError"), piece("def shown", "\n\n\ndef report"))
put("errors", "Errors.", piece("class ShopError", "\n\n\n@dataclass(frozen"))
put("goods", "Goods.", "from dataclasses import dataclass", piece("@dataclass(frozen", "\n\n\ndef discount_01"))
put("rounding", "Rounding.", piece("def _rounding", "\n\nDISCOUNTS"))
use = "from shop.rounding import _rounding"
put("discounts_a", "The first discounts.", use, piece("def discount_01", "\n\n\ndef discount_10"))
put("discounts_b", "More discounts.", use, piece("def discount_10", "\n\n\ndef _rounding"))
tens = [f"discount_{n:02}" for n in range(1, 19)]
put("discounts", "All discounts.", f"from shop.discounts_a import {', '.join(tens[:9])}\nfrom shop.discounts_b import {', '.join(tens[9:])}", piece("DISCOUNTS =", "\n\n@dataclass\n"))
put("orders", "Orders.", "from dataclasses import dataclass, field\n\nfrom shop.discounts import best_discount\nfrom shop.errors import ShopError", piece("@dataclass\nclass Order", "\n\n\ndef shipping_zone_01"))
put("shipping", "Shipping.", "from shop.errors import ShopError", piece("def shipping_zone_01", "\n\n\ndef shown"))
put("reports", "Reports.", "from shop.money import CURRENCY, shown\nfrom shop.shipping import total", text[text.index("def report") :])
zones = [f"shipping_zone_{n:02}" for n in range(1, 13)]
lines = [
    f"from shop.discounts import DISCOUNTS, best_discount, {', '.join(tens)}",
    "from shop.errors import ShopError",
    "from shop.goods import Good",
    "from shop.money import CURRENCY, RATES, shown",
    "from shop.orders import Order",
    "from shop.reports import report",
    f"from shop.shipping import ZONES, total, {', '.join(zones)}",
]
Path("shop/__init__.py").write_text('"""A shop."""\n\n' + "\n".join(lines) + "\n")
END
rm shop.py
