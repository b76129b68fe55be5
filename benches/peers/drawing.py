"""The plot: one panel a clip, one line a method; speed on the left (logarithmic), PSNR on the right."""

import html
import math

from contest import ALL, GPU, ONE
from report import decibels, significant

# Pixels: widths of the columns and gaps, heights of a line and of a panel's head and foot.
LABELS, SPEED, GAP, PSNR, RIGHT, LINE, HEAD, FOOT = 170, 420, 130, 260, 120, 22, 66, 56
WIDTH = LABELS + SPEED + GAP + PSNR + RIGHT
COLOURS = {"ours": "#1f6fb4", "FFmpeg": "#c8571b", "OpenCV": "#4a8a3c"}


def text(x, y, words, anchor="start", size=12, colour="#222", weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}" '
        f'font-weight="{weight}">{html.escape(words)}</text>'
    )


def line(x0, y0, x1, y1, colour="#ddd"):
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{colour}"/>'


def mark(x, y, kind, colour):
    """A mark by kind. Dot: one core; ring: all cores; diamond: GPU; cross: one vector a sample."""
    if kind == ONE:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    if kind == ALL:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="white" stroke="{colour}" stroke-width="2"/>'
    if kind == GPU:
        return f'<path d="M{x:.1f} {y - 7:.1f}l7 7l-7 7l-7 -7z" fill="{colour}"/>'
    return f'<path d="M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10" stroke="{colour}" stroke-width="2"/>'


def steps(low, high):
    """Four to eight round values that cover `low` to `high`."""
    step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if (high - low) / s <= 6)
    return [step * n for n in range(math.floor(low / step), math.ceil(high / step) + 1)]


def panel(clip_rows, top):
    """The panel of one clip, and the height that it takes."""
    methods = {}
    for row in clip_rows:
        methods.setdefault((row["maker"], row["method"]), []).append(row)
    bottom = top + HEAD + LINE * len(methods)
    first = clip_rows[0]
    title = (
        f"{first['clip']}, {first['width']} x {first['height']}, {first['frames']} frames, "
        f"{first['block']} x {first['block']} blocks, range {first['range']}"
    )
    parts = [text(16, top + 22, title, size=14, weight="bold")]

    rates = [row["frames_per_second"] for row in clip_rows]
    low, high = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))
    high = max(high, low + 1)

    def speed_x(rate):
        return LABELS + SPEED * (math.log10(rate) - low) / (high - low)

    finite = [
        row[key] for row in clip_rows for key in ("psnr_db", "dense_psnr_db")
        if row[key] is not None and math.isfinite(row[key])
    ] or [0.0]  # fmt: skip
    ticks = steps(min(finite), max(finite) + 1e-9)
    left = LABELS + SPEED + GAP

    def psnr_x(value):
        # An infinite PSNR is drawn at the right edge.
        return left + PSNR * (min(value, ticks[-1]) - ticks[0]) / (ticks[-1] - ticks[0])

    parts.append(text(LABELS, top + 42, "frames per second", size=11, colour="#555"))
    parts.append(text(left, top + 42, "PSNR of the prediction, dB", size=11, colour="#555"))
    for power in range(low, high + 1):
        x = speed_x(10.0**power)
        parts.append(line(x, top + HEAD - 6, x, bottom))
        parts.append(text(x, top + HEAD - 9, f"{10.0 ** power:g}", "middle", 10, "#777"))
    for value in ticks:
        x = psnr_x(value)
        parts.append(line(x, top + HEAD - 6, x, bottom))
        parts.append(text(x, top + HEAD - 9, f"{value:g}", "middle", 10, "#777"))

    for index, ((maker, method), found) in enumerate(methods.items()):
        y = top + HEAD + LINE * (index + 0.5)
        colour = COLOURS[maker]
        parts.append(text(LABELS - 14, y + 4, f"{maker} {method}", "end", colour=colour))
        parts.append(line(LABELS, y, LABELS + SPEED, y, "#eee"))
        parts.append(line(left, y, left + PSNR, y, "#eee"))
        for row in found:
            parts.append(mark(speed_x(row["frames_per_second"]), y, row["where"], colour))
        furthest = max(speed_x(row["frames_per_second"]) for row in found)
        rates = " / ".join(significant(row["frames_per_second"]) for row in found)
        parts.append(text(furthest + 10, y + 4, rates, size=11, colour="#444"))
        dense = found[0]["dense_psnr_db"]
        shown = decibels(found[0]["psnr_db"])
        if dense is not None:
            parts.append(mark(psnr_x(dense), y, "dense", colour))
            shown += f" ({decibels(dense)})"
        parts.append(mark(psnr_x(found[0]["psnr_db"]), y, ONE, colour))
        parts.append(text(left + PSNR + 10, y + 4, shown, size=11, colour="#444"))
    return parts, HEAD + LINE * len(methods) + 14


def write_svg(path, clips_rows, caption):
    """Draws one panel for each list of rows and `caption` below them."""
    parts, top = [], 8
    for clip_rows in clips_rows:
        drawn, height = panel(clip_rows, top)
        parts += drawn
        top += height
    y, x = top + 12, LABELS
    for kind, words in ((ONE, ONE), (ALL, ALL), (GPU, GPU), ("dense", "one vector a sample (PSNR in brackets)")):
        parts += [mark(x, y, kind, "#555"), text(x + 12, y + 4, words, size=11, colour="#444")]
        x += 30 + 7 * len(words)
    parts.append(text(16, top + FOOT - 18, caption, size=10, colour="#777"))
    height = top + FOOT
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">\n'
            f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
        )
