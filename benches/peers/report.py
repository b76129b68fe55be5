"""The results as rows, as tables and as a CSV file."""

import csv
import math

from contest import ONE

COLUMNS = (
    "clip", "width", "height", "block", "range", "frames", "maker", "method", "where", "device",
    "ms", "search_ms", "frames_per_second", "ratio_to_esa", "psnr_db", "mean_difference", "dense_psnr_db",
    "own_share",
)  # fmt: skip


def own_share(contestant, measured):
    """The share of the measured time in which the contestant ran. Less than 1 on one core means that other
    programs ran on that core; their time is not counted."""
    return measured.share if contestant.where == ONE and measured.share < 0.95 else 1.0


def rows(clip, block_size, search_range, results):
    """One dictionary with the keys COLUMNS for every result of a clip."""
    times = [measured.seconds * own_share(contestant, measured) for contestant, measured in results]
    unit = next(time for (c, _), time in zip(results, times) if (c.maker, c.method) == ("FFmpeg", "esa"))
    for (contestant, measured), seconds in zip(results, times):
        share = own_share(contestant, measured)
        search = measured.stages.get("search")
        yield dict(
            clip=clip.name,
            width=clip.width,
            height=clip.height,
            block=block_size,
            range=search_range,
            frames=clip.frames,
            maker=contestant.maker,
            method=contestant.method,
            where=contestant.where,
            device=measured.device,
            ms=seconds * 1e3,
            search_ms=None if search is None else search * share * 1e3,
            frames_per_second=1 / seconds,
            ratio_to_esa=unit / seconds,
            psnr_db=measured.blocks.psnr,
            mean_difference=measured.blocks.mean_difference,
            dense_psnr_db=measured.dense and measured.dense.psnr,
            own_share=share,
        )


def significant(value, digits=3):
    """A number with `digits` significant digits, never with an exponent."""
    if value is None:
        return ""
    if value == 0 or not math.isfinite(value):
        return str(value)
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{places}f}"


def decibels(value):
    return "" if value is None else f"{value:.2f}"


def markdown(head, body):
    """A Markdown table of `head` and the lines of `body`."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body))


def table(clip_rows):
    """The Markdown table of one clip."""
    head = ("", "where", "ms per frame", "(search only)", "frames/s", "ratio to esa",
            "PSNR dB", "mean difference", "PSNR dB, dense")  # fmt: skip
    body = []
    for row in clip_rows:
        body.append(
            (
                f"{row['maker']} `{row['method']}`",
                row["where"],
                significant(row["ms"]),
                significant(row["search_ms"]),
                significant(row["frames_per_second"]),
                significant(row["ratio_to_esa"]),
                decibels(row["psnr_db"]),
                f"{row['mean_difference']:.3f}",
                decibels(row["dense_psnr_db"]),
            )
        )
    return markdown(head, body)


def summary(clips_rows):
    """A Markdown table of all clips: frames/s and PSNR of every contestant."""
    head = ["frames/s, PSNR in dB", "where"]
    body = {}
    for clip_rows in clips_rows:
        first = clip_rows[0]
        head.append(f"{first['clip']}, {first['width']} x {first['height']}")
        for row in clip_rows:
            cells = body.setdefault((f"{row['maker']} `{row['method']}`", row["where"]), [])
            dense = f" ({decibels(row['dense_psnr_db'])})" if row["dense_psnr_db"] else ""
            cells.append(f"{significant(row['frames_per_second'])}, {decibels(row['psnr_db'])}{dense}")
    return markdown(head, [(*key, *cells) for key, cells in body.items()])


def targets(clip_rows):
    """One line that compares the result with the targets. A missed target is no failure."""
    one = {(row["maker"], row["method"]): row for row in clip_rows if row["where"] == ONE}
    ours = one.get(("ours", "exhaustive")) or one["ours", "auto"]
    esa = one["FFmpeg", "esa"]
    inexact = max(
        (row for (maker, method), row in one.items() if maker == "FFmpeg" and method != "esa"),
        key=lambda row: row["frames_per_second"],
    )
    # Both may be infinite, and infinity minus infinity is NaN.
    gain = 0.0 if ours["psnr_db"] == esa["psnr_db"] else ours["psnr_db"] - esa["psnr_db"]
    return (
        f"`{ours['method']}` on one core: {ours['ratio_to_esa']:.0f} times esa (target 200), "
        f"{ours['frames_per_second'] / inexact['frames_per_second']:.2f} times {inexact['method']}, "
        f"FFmpeg's fastest (target 3), PSNR {gain:+.3f} dB to esa"
    )


def disturbed(clip_rows):
    """One line that lists the measurements whose core was shared with other programs; empty if none was."""
    shares = [
        f"{row['maker']} {row['method']} {row['own_share']:.0%}" for row in clip_rows if row["own_share"] < 1
    ]
    if not shares:
        return ""
    return f"Other programs also used the core; their time is not counted. Share of the core: {', '.join(shares)}."


def write_csv(path, all_rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(all_rows)
