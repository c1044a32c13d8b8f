#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
python3 - <<'END'
from pathlib import Path

parts = ['"""A shop: goods, prices, orders and reports."""\n\nfrom dataclasses import dataclass, field\n\n']
parts.append('CURRENCY = "EUR"\nRATES = {"EUR": 100, "USD": 108, "SEK": 1130}\n\n')
parts.append('class ShopError(Exception):\n    """Something that a customer is told."""\n\n')
parts.append('@dataclass(frozen=True)\nclass Good:\n    """Something to buy; the price is in cents."""\n\n    name: str\n    cents: int\n    weight_g: int = 0\n\n')
for n in range(1, 19):
    parts.append(f'def discount_{n:02}(cents):\n    """Discount number {n}, in cents."""\n    return cents * {n} // 1000 + _rounding(cents, {n})\n\n')
parts.append('def _rounding(cents, number):\n    return 1 if (cents + number) % 7 == 0 else 0\n\n')
parts.append('DISCOUNTS = [' + ", ".join(f"discount_{n:02}" for n in range(1, 19)) + ']\n\n')
parts.append('def best_discount(cents):\n    """The largest discount."""\n    return max(each(cents) for each in DISCOUNTS)\n\n')
parts.append('@dataclass\nclass Order:\n    """Goods, and how many of each."""\n\n    goods: dict = field(default_factory=dict)\n\n    def add(self, good, count=1):\n        if count < 1:\n            raise ShopError("add at least one")\n        self.goods[good] = self.goods.get(good, 0) + count\n        return self\n\n    def cents(self):\n        whole = sum(good.cents * count for good, count in self.goods.items())\n        return whole - best_discount(whole)\n\n    def weight_g(self):\n        return sum(good.weight_g * count for good, count in self.goods.items())\n\n')
for n in range(1, 13):
    parts.append(f'def shipping_zone_{n:02}(order):\n    """Shipping to zone {n}, in cents."""\n    return {n * 90} + order.weight_g() * {n} // 100\n\n')
parts.append('ZONES = {' + ", ".join(f'{n}: shipping_zone_{n:02}' for n in range(1, 13)) + '}\n\n')
parts.append('def total(order, zone):\n    """Goods and shipping. Raises ShopError for an unknown zone."""\n    if zone not in ZONES:\n        raise ShopError(f"no zone {zone}")\n    return order.cents() + ZONES[zone](order)\n\n')
parts.append('def shown(cents, currency=CURRENCY):\n    """An amount for people."""\n    amount = cents * RATES[currency] // RATES[CURRENCY]\n    return f"{amount // 100}.{amount % 100:02} {currency}"\n\n')
parts.append('def report(order, zone, currency=CURRENCY):\n    """Lines for a receipt."""\n    lines = [f"{count} x {good.name}: {shown(good.cents * count, currency)}" for good, count in order.goods.items()]\n    return lines + [f"total: {shown(total(order, zone), currency)}"]\n')
text = "".join(parts)
for word in ("class ", "def ", "@dataclass"):
    text = text.replace("\n\n" + word, "\n\n\n" + word)
Path("shop.py").write_text(text)
END
cat >shop_report.py <<'END'
"""Prints receipts."""

import shop
from shop import Good, Order, ShopError, report

order = Order().add(Good("tea", 450, 120), 3).add(Good("pot", 2999, 900))
for zone in shop.ZONES:
    for currency in shop.RATES:
        print(zone, *report(order, zone, currency), sep="\n  ")
print([each(12345) for each in shop.DISCOUNTS], shop.best_discount(12345))
try:
    shop.total(order, 99)
except ShopError as error:
    print(error)
END
