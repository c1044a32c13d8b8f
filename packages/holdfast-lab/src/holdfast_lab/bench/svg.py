"""Plots as inline SVG: bars, and lines over time. No scripts, no fonts, nothing to fetch."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

WIDTH: Final = 460
HEIGHT: Final = 220
LEFT: Final = 52
BOTTOM: Final = 28
TOP: Final = 26
RIGHT: Final = 12
COLOURS: Final = ("#2563eb", "#d97706", "#059669", "#db2777", "#6b7280", "#7c3aed")
LABELS_MAX: Final = 6

Bar = tuple[float, float, float]
"""From, to, how high."""
Point = tuple[float, float]


def histogram(title: str, bars: Sequence[Bar], unit: str) -> str:
    """Bars of equal width, each named by where it begins."""
    highest = max((height for *_, height in bars), default=0.0)
    if highest <= 0:
        return ""
    across = (WIDTH - LEFT - RIGHT) / len(bars)
    drawn = [
        f'<rect x="{LEFT + n * across:.1f}" y="{_y(height, highest):.1f}" '
        f'width="{max(across - 1, 0.5):.1f}" height="{_tall(height, highest):.1f}" '
        f'fill="{COLOURS[0]}"><title>{_number(low)}–{_number(high)} {escape(unit)}: '
        f"{_number(height)}</title></rect>"
        for n, (low, high, height) in enumerate(bars)
    ]
    every = max(1, len(bars) // LABELS_MAX)
    labels = [
        _text(LEFT + n * across, HEIGHT - 10, f"{_number(bars[n][0])}", "start")
        for n in range(0, len(bars), every)
    ]
    return _framed(title, unit, highest, [*drawn, *labels])


def lines(title: str, series: Mapping[str, Sequence[Point]], unit: str, across: str = "s") -> str:
    """Over seconds, or over so many of something else."""
    highest = max((y for points in series.values() for _, y in points), default=0.0)
    last = max((x for points in series.values() for x, _ in points), default=0.0)
    if highest <= 0 or last <= 0:
        return ""
    scale = (WIDTH - LEFT - RIGHT) / last
    drawn: list[str] = []
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{LEFT + x * scale:.1f},{_y(y, highest):.1f}" for x, y in points)
        drawn.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6">'
            f"<title>{escape(name)}</title></polyline>"
        )
        place = LEFT + 4 + number % 5 * 82
        drawn.append(_text(place, TOP + 10 + number // 5 * 12, name, "start", colour))
    ends = [
        _text(LEFT, HEIGHT - 10, f"0 {across}"),
        _text(WIDTH - RIGHT, HEIGHT - 10, f"{last:,.0f} {across}", "end"),
    ]
    return _framed(title, unit, highest, [*drawn, *ends])


def _framed(title: str, unit: str, highest: float, inside: Sequence[str]) -> str:
    floor = HEIGHT - BOTTOM
    frame = (
        f'<line x1="{LEFT}" y1="{floor}" x2="{WIDTH - RIGHT}" y2="{floor}" stroke="#9ca3af"/>'
        f'<line x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{floor}" stroke="#9ca3af"/>'
    )
    scale = _text(LEFT - 4, TOP + 8, _number(highest), "end") + _text(LEFT - 4, floor, "0", "end")
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f'<text x="{LEFT}" y="14" class="title">{escape(title)} ({escape(unit)})</text>'
        f"{frame}{scale}{''.join(inside)}</svg>"
    )


def _text(x: float, y: float, text: str, anchor: str = "start", colour: str = "#6b7280") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"


def _tall(value: float, highest: float) -> float:
    return value / highest * (HEIGHT - TOP - BOTTOM)


def _y(value: float, highest: float) -> float:
    return HEIGHT - BOTTOM - _tall(value, highest)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
