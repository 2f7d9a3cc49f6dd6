#!/usr/bin/env python3
"""The rows of a run as results.json, with what the machine was, and as a table to look at, results.svg.

    report.py ROWS OUT LOAD_BEFORE
"""
import json
import os
import platform
import statistics
import sys
from html import escape

LINE, LEFT, BAR_LEFT, BAR_WIDTH, WIDTH = 26, 16, 620, 260, 1000


def read_rows(path):
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    for row in rows:
        row["median"] = {side: statistics.median(row[side]) for side in ("base", "ours", "ratios")}
        row["range"] = [min(row["ratios"]), max(row["ratios"])]
        row["reached"] = reached(row)
    return rows


def reached(row):
    """True, False, or None where nothing is to be reached."""
    for key, side in (("reach_ratio", "ratios"), ("reach_value", "ours")):
        if row[key] > 0:
            value = row["median"][side]
            return value <= row[key] if row["less_is_better"] else value >= row[key]
    return None


def machine(load_before):
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "?")
    return {
        "processor": model,
        "processors": os.cpu_count(),
        "kernel": platform.release(),
        "load_before": load_before,
        "load_after": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


# ---- the picture ----


def text(x, y, words, size=13, colour="#222", anchor="start"):
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{escape(words)}</text>'


def goal(row):
    if row["reach_ratio"] > 0:
        return f"reach {row['reach_ratio']:.2f}"
    return f"reach {row['reach_value']:.0f} {row['unit']}" if row["reach_value"] > 0 else ""


def colour(row):
    return {True: "#2a7f3f", False: "#b3541e", None: "#5b6b7b"}[row["reached"]]


def place(ratio):
    """A ratio's place on the bar, which ends at 2."""
    return BAR_LEFT + min(ratio, 2) / 2 * BAR_WIDTH


def draw_row(row, y):
    low, high = row["range"]
    middle = row["median"]["ratios"]
    yield text(LEFT, y, row["name"].strip())
    yield text(330, y, f"{row['median']['ours']:.2f} {row['unit']}", anchor="end")
    yield text(345, y, f"of {row['median']['base']:.2f}, {row['against']}", colour="#5b6b7b")
    yield f'<line x1="{place(low)}" x2="{place(high)}" y1="{y - 4}" y2="{y - 4}" stroke="{colour(row)}" stroke-width="3"/>'
    yield f'<circle cx="{place(middle)}" cy="{y - 4}" r="5" fill="{colour(row)}"/>'
    if row["reach_ratio"] > 0:
        goal_at = place(row["reach_ratio"])
        yield f'<line x1="{goal_at}" x2="{goal_at}" y1="{y - 13}" y2="{y + 4}" stroke="#222" stroke-width="1.5"/>'
    yield text(WIDTH - LEFT, y, f"{middle:.2f}  {goal(row)}", colour=colour(row), anchor="end")


def draw(rows, about):
    height = LINE * (len(rows) + 3)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        text(LEFT, LINE, f"{about['processors']} × {about['processor']}, Linux {about['kernel']}, load {about['load_before']}"),
        text(BAR_LEFT, LINE, "0", 11), text(place(1), LINE, "1", 11), text(place(2), LINE, "2 times", 11),
        f'<line x1="{place(1)}" x2="{place(1)}" y1="{LINE + 4}" y2="{height - LINE}" stroke="#ccc"/>',
    ]
    for i, row in enumerate(rows):
        parts += draw_row(row, LINE * (i + 2.4))
    return "\n".join(parts + ["</svg>", ""])


def main():
    rows_path, out, load_before = sys.argv[1:]
    rows, about = read_rows(rows_path), machine(load_before)
    with open(os.path.join(out, "results.json"), "w") as file:
        json.dump({"machine": about, "rows": rows}, file, indent=1)
    with open(os.path.join(out, "results.svg"), "w") as file:
        file.write(draw(rows, about))
    print(f"{out}/results.json, {out}/results.svg; load {about['load_before']} before, {about['load_after']} after")


if __name__ == "__main__":
    main()
