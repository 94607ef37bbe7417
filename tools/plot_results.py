#!/usr/bin/env python3
"""Draws the plots of a results page: plot_results.py SPEC.json FOLDER (bench/support/results_page.h writes SPEC).

`situ bench` carries this script and runs it when it writes a page. It needs matplotlib (Debian: python3-matplotlib).
The SVG files are the same for the same SPEC and matplotlib, and follow the reader's light or dark colour scheme.
"""

import json
import os
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plots need matplotlib: apt-get install python3-matplotlib, or pip install matplotlib")
matplotlib.use("svg")
from matplotlib import pyplot, ticker  # noqa: E402

# Text and lines, the page behind them, and grid lines, in light and in dark. Series have colours that stand out on both.
INK, PAPER, GRID = "#1f2328", "#fffffe", "#d0d7de"
DARK = {INK: "#e6edf3", PAPER: "#0d1117", GRID: "#3d444d"}
SERIES = ["#3b82c4", "#e07b39", "#3f9e5a", "#b65fbf", "#c2a21b", "#d1495b", "#2a9d8f", "#8a8f98"]
MARKERS = "osD^vPX*"


def start(width, height, each):
    figure, axes = pyplot.subplots(figsize=(width, height), facecolor=PAPER)
    axes.set_facecolor(PAPER)
    axes.set_title(each["title"], color=INK, fontsize=11, loc="left")
    axes.set_xlabel(each["x_label"], color=INK)
    axes.set_ylabel(each["y_label"], color=INK)
    axes.grid(True, which="major", color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, which="both")
    for spine in axes.spines.values():
        spine.set_color(INK)
    return figure, axes


def number(value):
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def plain_numbers(axis):
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def bars(each):
    """Ratios as horizontal bars from 1 on, one group below the other; a mark where the aim is."""
    groups = each["groups"]
    names = list(dict.fromkeys(bar["series"] for group in groups for bar in group["bars"]))
    lines = sum(len(group["bars"]) for group in groups) + len(groups)
    figure, axes = start(8, 1.2 + 0.19 * lines, each)
    at, ticks, labels, drawn = 0.0, [], [], set()
    for group in groups:
        top = at
        for bar in group["bars"]:
            name, value = bar["series"], bar["value"]
            if bar["aim"] is not None:
                axes.plot([bar["aim"]] * 2, [at - 0.6, at + 0.6], color=INK, linewidth=2, zorder=3,
                          label=None if "aim" in drawn else "aim: at most")
                drawn.add("aim")
            axes.barh(at, value - 1, left=1, height=0.85, color=SERIES[names.index(name) % len(SERIES)],
                      label=None if name in drawn else name)
            text = axes.annotate(number(value), (value, at), xytext=(3 if value >= 1 else -3, 0),
                                 textcoords="offset points", va="center", ha="left" if value >= 1 else "right",
                                 fontsize=7, color=INK, zorder=4)
            text.set_bbox({"facecolor": PAPER, "edgecolor": "none", "pad": 0.6})
            drawn.add(name)
            at += 1
        ticks.append((top + at - 1) / 2)
        labels.append(group["label"])
        at += 1
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set_yticks(ticks, labels, fontsize=8)
    axes.set_ylim(at - 0.5, -1)
    axes.grid(False, axis="y")
    ratios = [1] + [ratio for group in groups for bar in group["bars"] for ratio in (bar["value"], bar["aim"]) if ratio]
    if max(ratios) > 8 * min(ratios):
        axes.set_xscale("log")
    axes.margins(x=0.15)
    plain_numbers(axes.xaxis)
    return figure, axes


def curves(each):
    """Medians over sizes, with a band from the 10th to the 90th percentile."""
    figure, axes = start(7, 4, each)
    for i, curve in enumerate(each["curves"]):
        colour = SERIES[i % len(SERIES)]
        x, y, low, high = zip(*curve["points"])
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(x, y, color=colour, marker=MARKERS[i % len(MARKERS)], markersize=4, label=curve["label"])
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_numbers(axes.yaxis)
    return figure, axes


def with_dark_scheme(svg):
    rules = "".join(
        f'[style*="{what}: {light}"]{{{what}:{dark} !important}}'
        for light, dark in DARK.items() for what in ("fill", "stroke"))
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    at = svg.index("<defs>")
    return svg[:at] + style + "\n " + svg[at:]


def draw(each, folder):
    figure, axes = (bars if each["groups"] else curves)(each)
    legend = axes.legend(fontsize=8, facecolor=PAPER, edgecolor=GRID, labelcolor=INK, loc="upper left",
                         bbox_to_anchor=(1.01, 1), borderaxespad=0)
    legend.get_frame().set_linewidth(0.6)
    path = os.path.join(folder, each["file"])
    figure.savefig(path, format="svg", facecolor=PAPER, bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
    with open(path, encoding="utf-8") as file:
        svg = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(line.rstrip() for line in with_dark_scheme(svg).splitlines()) + "\n")


def main():
    matplotlib.rcParams.update({"svg.hashsalt": "situ", "svg.fonttype": "none", "font.family": "sans-serif"})
    with open(sys.argv[1], encoding="utf-8") as file:
        plots = json.load(file)
    for each in plots:
        draw(each, sys.argv[2])


if __name__ == "__main__":
    main()
