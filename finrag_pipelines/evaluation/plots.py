"""Plots as inline SVG, drawn here: a report must open anywhere and load nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH = 720
_LABEL = 230
_COLOURS = ("#2c6e9b", "#c8553d", "#588157", "#8d6a9f", "#b08900", "#5c6b73", "#9c4a6d", "#3a7d7c")
_STYLE = "font-family:system-ui,sans-serif;font-size:12px"


@dataclass(frozen=True)
class Bar:
    """A share between 0 and 1 with its interval, under a label; `note` is written behind it."""

    label: str
    share: float | None
    low: float | None
    high: float | None
    note: str


@dataclass(frozen=True)
class Line:
    """A named line through points (x, y) with y between 0 and 1."""

    label: str
    points: tuple[tuple[float, float], ...]


def interval_plot(title: str, bars: Sequence[Bar]) -> str:
    """Draw shares as dots with their intervals."""
    height = 46 + 22 * len(bars)
    span = _WIDTH - _LABEL - 120
    parts = [_axis(title, height, span)]
    for at, bar in enumerate(bars):
        y = 44 + 22 * at
        parts.append(f'<text x="{_LABEL - 8}" y="{y + 4}" text-anchor="end">{escape(bar.label)}</text>')
        if bar.share is not None and bar.low is not None and bar.high is not None:
            left, right, dot = (_LABEL + span * one for one in (bar.low, bar.high, bar.share))
            colour = _COLOURS[0]
            parts.append(
                f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>'
            )
            parts.append(f'<circle cx="{dot:.1f}" cy="{y}" r="5" fill="{colour}"/>')
        parts.append(f'<text x="{_LABEL + span + 12}" y="{y + 4}">{escape(bar.note)}</text>')
    return _svg(height, parts)


def waterfall_plot(title: str, steps: Sequence[tuple[str, int]], total: int) -> str:
    """Draw what is left after each loss: `steps` are (stage, how many were lost there) in the order of the stages."""
    height = 46 + 22 * (len(steps) + 1)
    span = _WIDTH - _LABEL - 120
    scale = span / max(1, total)
    parts = [f'<text x="0" y="16" font-weight="bold">{escape(title)}</text>']
    left = total
    rows = [("gold quotes", total, 0), *((stage, left, lost) for stage, lost in steps)]
    for at, (stage, _, lost) in enumerate(rows):
        y = 32 + 22 * at
        left -= lost
        parts.append(f'<text x="{_LABEL - 8}" y="{y + 13}" text-anchor="end">{escape(stage)}</text>')
        parts.append(f'<rect x="{_LABEL}" y="{y}" width="{left * scale:.1f}" height="16" fill="#cfd8dc"/>')
        if lost:
            x = _LABEL + left * scale
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{lost * scale:.1f}" height="16" fill="{_COLOURS[1]}"/>')
        note = f"−{lost}, {left} left" if lost else str(left)
        parts.append(f'<text x="{_LABEL + span + 12}" y="{y + 13}">{escape(note)}</text>')
    return _svg(height, parts)


def line_plot(title: str, lines: Sequence[Line], ticks: Sequence[tuple[float, str]]) -> str:
    """Draw lines over shared x positions; `ticks` name them."""
    span, depth, top = _WIDTH - 280, 180, 34
    xs = [x for x, _ in ticks]
    low, high = min(xs), max(xs)
    width = (high - low) or 1.0
    parts = [f'<text x="0" y="16" font-weight="bold">{escape(title)}</text>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = top + depth * (1 - share)
        parts.append(f'<line x1="40" x2="{40 + span}" y1="{y}" y2="{y}" stroke="#e0e0e0"/>')
        parts.append(f'<text x="34" y="{y + 4}" text-anchor="end">{share:.2f}</text>')
    for x, name in ticks:
        at = 40 + span * (x - low) / width
        parts.append(f'<text x="{at:.1f}" y="{top + depth + 18}" text-anchor="middle">{escape(name)}</text>')
    for number, line in enumerate(lines):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [(40 + span * (x - low) / width, top + depth * (1 - y)) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        y = top + 14 + 18 * number
        parts.append(f'<rect x="{56 + span}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{72 + span}" y="{y}">{escape(line.label)}</text>')
    return _svg(max(top + depth + 30, top + 24 + 18 * len(lines)), parts)


def matrix_plot(title: str, cells: Sequence[tuple[str, int, int, int, int]]) -> str:
    """Draw decision matrices: (name, answerable answered, answerable refused, unanswerable answered, refused)."""
    columns = ("answered", "refused")
    size, gap, left = 58, 60, 96
    width = left + len(cells) * (2 * size + gap)
    parts = [f'<text x="0" y="16" font-weight="bold">{escape(title)}</text>']
    for row, name in enumerate(("answerable", "unanswerable")):
        parts.append(f'<text x="{left - 8}" y="{66 + row * size + 32}" text-anchor="end">{name}</text>')
    for number, (name, *counts) in enumerate(cells):
        x = left + number * (2 * size + gap)
        parts.append(f'<text x="{x}" y="38">{escape(name)}</text>')
        for at, count in enumerate(counts):
            row, column = divmod(at, 2)
            total = max(1, counts[2 * row] + counts[2 * row + 1])
            right = row == column
            colour = "88,129,87" if right else "200,85,61"
            cx, cy = x + column * size, 66 + row * size
            parts.append(
                f'<rect x="{cx}" y="{cy}" width="{size - 2}" height="{size - 2}" '
                f'fill="rgba({colour},{0.15 + 0.7 * count / total:.2f})"/>'
            )
            parts.append(f'<text x="{cx + size / 2 - 1}" y="{cy + 33}" text-anchor="middle">{count}</text>')
            if row == 0:
                parts.append(f'<text x="{cx + size / 2 - 1}" y="58" text-anchor="middle">{columns[column]}</text>')
    return _svg(200, parts, width)


def _axis(title: str, height: int, span: int) -> str:
    parts = [f'<text x="0" y="16" font-weight="bold">{escape(title)}</text>']
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = _LABEL + span * share
        parts.append(f'<line x1="{x}" x2="{x}" y1="30" y2="{height - 8}" stroke="#e0e0e0"/>')
        parts.append(f'<text x="{x}" y="28" text-anchor="middle" fill="#666">{share:.2f}</text>')
    return "".join(parts)


def _svg(height: float, parts: Sequence[str], width: float = _WIDTH) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{_STYLE}" role="img">{"".join(parts)}</svg>'
