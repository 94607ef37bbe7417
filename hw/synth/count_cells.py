#!/usr/bin/env python3
"""Counts what PAMS and GAScore take of a Virtex-5, by yosys's synth_xilinx.

    count_cells.py [--json FILE] [--check] [TOP ...]

Prints a table of LUTs, flip-flops and BlockRAMs of 18 Kbit. A LUT RAM counts as the LUTs that it occupies. With --check
it fails if a module takes more than the paper's. Needs yosys; without it the script prints that, and exits with 77.
"""
import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import sources

# LUTs that a cell occupies, at most: most inverters disappear into LUTs behind them.
LUTS = {"INV": 1, "RAM32M": 4, "RAM64M": 4, "RAM16X1D": 2, "RAM32X1D": 2, "RAM64X1D": 2, "SRL16E": 1, "SRLC32E": 1,
        **{f"LUT{n}": 1 for n in range(1, 7)}}
FLIP_FLOPS = {"FDRE", "FDSE", "FDCE", "FDPE"}
BLOCK_RAMS = {"RAMB18": 1, "RAMB18SDP": 1, "RAMB36": 2, "RAMB36SDP": 2, "RAMB18E1": 1, "RAMB36E1": 2}
# What the paper's tables 1 and 2 give (Xilinx's tools, XC5VLX155T).
PAPER = {"gascore": {"luts": 1336, "flip_flops": 760, "bram18": 2},
         "pams": {"luts": 1035, "flip_flops": 943, "bram18": 1}}


def count(top):
    """The cells of one module, hierarchy flattened."""
    with tempfile.TemporaryDirectory() as folder:
        statistics = Path(folder) / "stat"
        sources.yosys(f"synth_xilinx -family xc5v -flatten -noiopad -top {top}; tee -q -o {statistics} stat", top)
        cells = dict(re.findall(r"^\s+([A-Z]\w+)\s+(\d+)$", statistics.read_text(), re.MULTILINE))
    cells = {name: int(number) for name, number in cells.items()}
    return {
        "luts": sum(number * LUTS.get(name, 0) for name, number in cells.items()),
        "flip_flops": sum(number for name, number in cells.items() if name in FLIP_FLOPS),
        "bram18": sum(number * BLOCK_RAMS.get(name, 0) for name, number in cells.items()),
        "cells": cells,
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", metavar="FILE", help="also write the numbers to this file")
    arguments.add_argument("--check", action="store_true", help="fail if a module takes more than the paper's")
    arguments.add_argument("tops", nargs="*", default=["pams", "gascore"], metavar="TOP")
    options = arguments.parse_args()
    if not shutil.which("yosys"):
        print("skipped: yosys is not installed (packages-hw.txt)")
        sys.exit(77)
    result = {top: count(top) for top in options.tops}
    print(f"{'module':14}{'LUT':>6}{'FF':>6}{'BRAM18':>8}   paper: LUT, FF, BRAM18")
    for top, numbers in result.items():
        paper = ", ".join(str(number) for number in PAPER[top].values()) if top in PAPER else ""
        print(f"{top:14}{numbers['luts']:6}{numbers['flip_flops']:6}{numbers['bram18']:8}   {paper}")
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2) + "\n")
    if options.check:
        for top, numbers in result.items():
            for name, most in PAPER.get(top, {}).items():
                if numbers[name] > most:
                    sys.exit(f"{top} takes {numbers[name]} {name}, and the paper's {most}")


if __name__ == "__main__":
    main()
