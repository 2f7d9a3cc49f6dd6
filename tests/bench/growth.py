#!/usr/bin/env python3
"""How cost grows, from what bench_growth prints: a table with the exponent of each series, growth.json, and growth.svg
with a chart for each thing that is counted. Costs are processor time as a multiple of a pull of the only item of an
endpoint. Exit status 1 where anything grows faster than it may.

    growth.py ROWS OUT LOAD_BEFORE
"""
import itertools
import json
import math
import os
import statistics
import sys

from report import machine, text

# What is moved may cost as much again for each more, what is looked up nothing; the rest is the machine's noise.
MAY_GROW = {"linear": 1.15, "flat": 0.1}
COLOURS = ("#2a5f9e", "#b3541e", "#2a7f3f")
WIDTH, HEIGHT, MARGIN = 480, 320, 56


def read_series(path):
    """{(of, name, grows): [(n, pulls, us)]}"""
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    series = {}
    for row in rows:
        series.setdefault((row["of"], row["name"], row["grows"]), []).append((row["n"], row["pulls"], row["us"]))
    return series


def exponent(points):
    """The slope of log cost over log n, as the median of the slopes between any two points, which one that the machine
    disturbed does not change. Of the upper half: below, what each call costs hides it."""
    upper = [(math.log(n), math.log(cost)) for n, cost, _ in points[len(points) // 2 - 1:]]
    return statistics.median((b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.combinations(upper, 2))


def short(number):
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def verdict(grows, found):
    return "well" if found <= MAY_GROW[grows] else f"GROWS FASTER THAN {MAY_GROW[grows]}"


def print_table(series):
    for (of, name, grows), points in series.items():
        found = exponent(points)
        costs = "  ".join(f"{short(n)}: {short(cost)}" for n, cost, _ in points)
        print(f"{of:18} {name:15} {grows:6} exponent {found:5.2f}  {verdict(grows, found)}\n    in pulls, at {costs}")


# ---- the charts: both axes logarithmic, a power of ten a line ----


def scale(low, high, begin, end):
    low, high = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return lambda value: round(begin + (math.log10(value) - low) / (high - low) * (end - begin), 1)


def powers(values):
    return [10**power for power in range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)]


def draw_axes(x, y, counts, costs):
    for n in powers(counts):
        yield f'<line x1="{x(n)}" x2="{x(n)}" y1="{y(max(powers(costs)))}" y2="{y(min(powers(costs)))}" stroke="#ddd"/>'
        yield text(x(n), HEIGHT - MARGIN + 16, short(n), 11, anchor="middle")
    for cost in powers(costs):
        yield f'<line x1="{x(min(powers(counts)))}" x2="{x(max(powers(counts)))}" y1="{y(cost)}" y2="{y(cost)}" stroke="#ddd"/>'
        yield text(MARGIN - 6, y(cost) + 4, short(cost), 11, anchor="end")


def draw_chart(of, lines):
    counts = [n for _, points in lines for n, _, _ in points]
    costs = [cost for _, points in lines for _, cost, _ in points]
    x = scale(min(counts), max(counts), MARGIN, WIDTH - MARGIN / 2)
    y = scale(min(costs), max(costs), HEIGHT - MARGIN, MARGIN)
    yield text(MARGIN, 22, f"cost against {of}", 14)
    yield from draw_axes(x, y, counts, costs)
    for i, (name, points) in enumerate(lines):
        path = " ".join(f"{x(n)},{y(cost)}" for n, cost, _ in points)
        yield f'<polyline points="{path}" fill="none" stroke="{COLOURS[i]}" stroke-width="2"/>'
        yield text(MARGIN + i * 138, 42, f"{name}: n^{exponent(points):.2f}", 11, COLOURS[i])


def draw(series, about):
    charts = {}
    for (of, name, _), points in series.items():
        charts.setdefault(of, []).append((name, points))
    height = (len(charts) + 1) // 2 * HEIGHT + 30
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {height}" font-family="sans-serif">'
    yield f'<rect width="{2 * WIDTH}" height="{height}" fill="white"/>'
    for i, (of, lines) in enumerate(charts.items()):
        yield f'<g transform="translate({i % 2 * WIDTH}, {i // 2 * HEIGHT})">'
        yield from draw_chart(of, lines)
        yield "</g>"
    words = "processor time, as a multiple of a pull of the only item of an endpoint; "
    words += f"{about['processors']} × {about['processor']}, Linux {about['kernel']}, load {about['load_before']}"
    yield text(MARGIN, height - 12, words, 12, "#5b6b7b")
    yield "</svg>\n"


def main():
    rows, out, load_before = sys.argv[1:]
    series, about = read_series(rows), machine(load_before)
    print_table(series)
    with open(os.path.join(out, "growth.json"), "w") as file:
        json.dump({"machine": about, "series": [
            {"of": of, "name": name, "grows": grows, "exponent": exponent(points), "n_pulls_us": points}
            for (of, name, grows), points in series.items()]}, file, indent=1)
    with open(os.path.join(out, "growth.svg"), "w") as file:
        file.write("\n".join(draw(series, about)))
    print(f"{out}/growth.json, {out}/growth.svg")
    return 0 if all(exponent(points) <= MAY_GROW[grows] for (_, _, grows), points in series.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
