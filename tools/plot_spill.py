#!/usr/bin/env python3
"""Draws how memories fill over time: plot_spill.py OUTPUT.svg < LINES, from what examples/spill/spill_over_time prints.

Above, how much of each NUMA node is in use; below, for each program and intent, where its bytes lie. It needs
matplotlib (Debian: python3-matplotlib).
"""

import io
import json
import sys

from plot_results import GRID, INK, PAPER, SERIES, matplotlib, pyplot, with_dark_scheme


def read(lines):
    fills, shares = [], {}
    for line in lines:
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        if "fill" in row:
            fills.append((row["ms"], {int(node): used for node, used in row["fill"].items()}))
        else:
            bytes_by_node = {int(node): size for node, size in row["nodes"].items()}
            shares.setdefault((row["program"], row["intent"]), []).append((row["ms"], bytes_by_node))
    if not fills or not shares:
        sys.exit("plot_spill.py: no lines of spill_over_time on the standard input")
    return sorted(fills, key=lambda each: each[0]), shares


def dress(axes, title, y_label):
    axes.set_facecolor(PAPER)
    axes.set_title(title, color=INK, fontsize=9, loc="left")
    axes.set_ylabel(y_label, color=INK, fontsize=8)
    axes.grid(True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=8)
    for spine in axes.spines.values():
        spine.set_color(INK)


def draw_fills(axes, fills, start, nodes):
    dress(axes, "how much of each node is in use; spilling begins at 90 %", "%")
    for node in nodes:
        points = [((ms - start) / 1000, used[node]) for ms, used in fills if node in used]
        axes.plot(*zip(*points), color=SERIES[node % len(SERIES)], label=f"node {node}")
    axes.axhline(90, color=INK, linewidth=0.8, linestyle="--")
    axes.set_ylim(0, 100)


def draw_share(axes, rows, start, nodes, title):
    dress(axes, title, "MiB")
    times = [(ms - start) / 1000 for ms, _ in rows]
    stacks = [[by_node.get(node, 0) / (1 << 20) for _, by_node in rows] for node in nodes]
    axes.stackplot(times, *stacks, colors=[SERIES[node % len(SERIES)] for node in nodes], linewidth=0)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    matplotlib.rcParams.update({"svg.hashsalt": "situ", "svg.fonttype": "none", "font.family": "sans-serif"})
    fills, shares = read(sys.stdin)
    start = min([fills[0][0]] + [rows[0][0] for rows in shares.values()])
    nodes = sorted({node for _, used in fills for node in used})
    programs = list(dict.fromkeys(program for program, _ in shares))
    intents = list(dict.fromkeys(intent for _, intent in shares))
    figure = pyplot.figure(figsize=(9, 2.6 + 1.9 * len(programs)), facecolor=PAPER, layout="constrained")
    grid = figure.add_gridspec(1 + len(programs), len(intents), height_ratios=[1.4] + [1] * len(programs))
    top = figure.add_subplot(grid[0, :])
    draw_fills(top, fills, start, nodes)
    end = max(rows[-1][0] for rows in shares.values())
    highest = max(sum(by_node.values()) for rows in shares.values() for _, by_node in rows) / (1 << 20)
    for i, program in enumerate(programs):
        for j, intent in enumerate(intents):
            axes = figure.add_subplot(grid[1 + i, j])
            draw_share(axes, shares[program, intent], start, nodes, f"program {program}: {intent}")
            axes.set_xlim(0, (end - start) / 1000)
            axes.set_ylim(0, 1.05 * highest)
            if i == len(programs) - 1:
                axes.set_xlabel("s", color=INK, fontsize=8)
    top.set_xlim(0, (end - start) / 1000)
    legend = top.legend(fontsize=8, facecolor=PAPER, edgecolor=GRID, labelcolor=INK, loc="upper left",
                        bbox_to_anchor=(1.01, 1), borderaxespad=0)
    legend.get_frame().set_linewidth(0.6)
    svg = io.StringIO()
    figure.savefig(svg, format="svg", facecolor=PAPER, metadata={"Date": None})
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("\n".join(line.rstrip() for line in with_dark_scheme(svg.getvalue()).splitlines()) + "\n")


if __name__ == "__main__":
    main()
