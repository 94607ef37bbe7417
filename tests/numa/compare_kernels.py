#!/usr/bin/env python3
"""What a page costs with the ordered policies, against a kernel without them: instructions, counted in the guest.

    tests/numa/compare_kernels.py build/release/bin/tests/numa_page_cost

Runs numa_page_cost on two kernels of one configuration and one source, with the patch and without
(kernel/build_kernel.py, and that with --unpatched), on one emulated processor, and prints a table. Ends with 1 where a
page along an ordering takes more than 1.02 times the instructions of a page by the default policy of the kernel without
the patch; with 77, which ctest calls skipped, where one of the kernels has not been built.
"""

import pathlib
import re
import subprocess
import sys

LIMIT = 1.02
# Held to the limit; the others are for information. The first word tells whose baseline is theirs.
HELD = ["default policy, touched", "default policy, populated", "ordered policy, local node first, touched",
        "ordered policy, node 2 first, touched", "ordered policy, node 2 first, populated",
        "Situ, by the kernel's policy, node 2 first"]
POPULATED = ("populated", "Situ", "at a time")


def costs(kernel, program):
    """Instructions a page, by what was done, in the order of the program's lines."""
    guest = pathlib.Path(__file__).resolve().parent / "guest.py"
    command = [guest, "--time", "270", "--kernel", kernel, "--count-instructions", "--add", program, "--",
               f"{pathlib.Path(program).name} --instructions"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.returncode)
    found = {}
    for label, cost in re.findall(r"^  (\S.*?) +(\d+)  [\d.]+ x$", done.stdout, re.MULTILINE):
        found[label] = int(cost)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    without = costs("unpatched", sys.argv[1])
    ordered = costs("ordered", sys.argv[1])
    parts = ("touched", "populated")
    missing = [part for part in parts if f"default policy, {part}" not in without]
    if missing:
        sys.exit(f"the kernel without the patch: not measured: default policy, {' and '.join(missing)}")
    baseline = {part: without[f"default policy, {part}"] for part in parts}
    print("instructions a page of 4 KiB; times those of the default policy in the kernel without the patch")
    for part, cost in baseline.items():
        print(f"  {'without the patch: default policy, ' + part:<60} {cost:6}  1.000 x")
    bad = [label for label in HELD if label not in ordered]
    for label, cost in ordered.items():
        ratio = cost / baseline["populated" if any(word in label for word in POPULATED) else "touched"]
        print(f"  {label:<60} {cost:6}  {ratio:.3f} x")
        if label in HELD and ratio > LIMIT:
            bad.append(label)
    if bad:
        sys.exit(f"above {LIMIT} x, or not measured: {'; '.join(bad)}")


if __name__ == "__main__":
    main()
