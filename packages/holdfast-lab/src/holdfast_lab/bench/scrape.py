"""Reads what processes count of themselves, in the format of Prometheus."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Final

from holdfast_lab.bench.wire import address, get

SCRAPE_S: Final = 10


async def scrape(urls: Sequence[str], key: str = "") -> Counter[str]:
    """Sums over the processes, by name with labels; what cannot be read is left out."""
    total: Counter[str] = Counter()
    for url in urls:
        try:
            async with asyncio.timeout(SCRAPE_S):
                text = await _fetched(url, key)
        except (OSError, TimeoutError, EOFError):
            continue
        for line in text.splitlines():
            name, _, value = line.rpartition(" ")
            if name.startswith("holdfast_"):
                total[name] += float(value)  # pyright: ignore[reportArgumentType] - sums of floats
    return total


async def _fetched(url: str, key: str) -> str:
    host, port, ssl = address(url)
    reader, writer = await asyncio.open_connection(host, port, ssl=ssl)
    try:
        request = get("/metrics", key).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
        writer.write(request.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
        return (await reader.read()).decode(errors="replace")
    finally:
        writer.close()


def summed(counts: Counter[str], name: str) -> float:
    """Over all labels."""
    return sum(value for each, value in counts.items() if each.partition("{")[0] == name)
