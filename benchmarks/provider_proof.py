"""`just bench-provider-proof`: every fault on every wire, and the bill of 1,000 turns, counted.

Writes its figures into benchmarks/providers.json, beside what `just bench-providers` measures.
"""

import asyncio

from benchmarks.report import write_json
from tests.support import fault_table, provider_cost, provider_faults


def main() -> None:
    account = asyncio.run(provider_faults.run())
    bill = provider_cost.figures()
    figures = {
        "faults": len({fault for fault, _ in account.seen}),
        "wires": len({wire for _, wire in account.seen}),
        "silent_successes": len(fault_table.silent_successes(account)),
        "hangs": len(account.late()),
        "cost_requests": bill.requests,
        "cost_unknown": bill.unknown,
        "cost_mismatch_micros": bill.mismatch_micros,
    }
    write_json("providers", figures)
    print(figures)


if __name__ == "__main__":
    main()
