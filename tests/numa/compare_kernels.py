#!/usr/bin/env python3
"""What a page costs with the ordered policies, against a kernel without them: instructions, counted in the guest.

    tests/numa/compare_kernels.py build/release/bin/tests/numa_page_cost
    tests/numa/compare_kernels.py --self-test

Runs numa_page_cost on two kernels of one configuration and one source, with the patch and without
(kernel/build_kernel.py, and that with --unpatched), on one emulated processor, and prints a table. Ends with 1 where a
row takes more than its bound (BOUNDS) times the instructions of a page by the default policy of the kernel without the
patch, or is not measured; with 77, which ctest calls skipped, where one of the kernels has not been built.
"""

import pathlib
import re
import subprocess
import sys
import unittest

AIM = 1.02
# Of each row: at most so many times the baseline, which is the page of the kernel without the patch that was made in the
# same way. A bound above AIM is a missed aim: the table says so, and the row must not become worse.
BOUNDS = {
    "default policy, touched": ("touched", AIM),
    "default policy, populated": ("populated", AIM),
    "ordered policy, local node first, touched": ("touched", AIM),
    "ordered policy, local node first, strict, touched": ("touched", AIM),
    "ordered policy, node 2 first, touched": ("touched", AIM),
    "ordered policy, node 2 first, populated": ("populated", AIM),
    "Situ, by the kernel's policy, node 2 first": ("populated", AIM),
    "the same, 2 MiB at a time, as segments get it": ("populated", 1.04),
}
# Rows without a promise against the other kernel: numa_page_cost itself holds them to the default policy of its own.
UNBOUND = {
    "node 2 preferred, touched": "touched",
    "node 2 preferred, populated": "populated",
    "ordered policy, all four nodes full, touched": "touched",
    "Situ, in user space, node 2 first": "populated",
}


def rows_of(text):
    """Instructions a page, by what was done, in the order of the program's lines."""
    return {label: int(cost) for label, cost in re.findall(r"^  (\S.*?) +(\d+)  [\d.]+ x", text, re.MULTILINE)}


def costs(kernel, program):
    guest = pathlib.Path(__file__).resolve().parent / "guest.py"
    command = [guest, "--time", "270", "--kernel", kernel, "--count-instructions", "--add", program, "--",
               f"{pathlib.Path(program).name} --instructions"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if done.returncode == 77:
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{' '.join(map(str, command))}: exit code {done.returncode}")
    return rows_of(done.stdout)


def compare(without, ordered):
    """The lines of the table, and what is wrong with it: a sentence each."""
    wrong = [f"not measured on the kernel without the patch: {label}"
             for label in ("default policy, touched", "default policy, populated") if label not in without]
    if wrong:
        return [], wrong
    baseline = {part: without[f"default policy, {part}"] for part in ("touched", "populated")}
    lines = [f"  {'without the patch: default policy, ' + part:<60} {cost:6}  1.000 x" for part, cost in baseline.items()]
    for label, cost in ordered.items():
        if label not in BOUNDS and label not in UNBOUND:
            wrong.append(f"{label}: a row that compare_kernels.py does not know")
            continue
        part, bound = BOUNDS.get(label) or (UNBOUND[label], None)
        ratio = cost / baseline[part]
        line = f"  {label:<60} {cost:6}  {ratio:.3f} x"
        if bound is not None and bound > AIM:
            line += f"  aim <= {AIM} x: {'met' if ratio <= AIM else 'missed'}"
        lines.append(line)
        if bound is not None and ratio > bound:
            wrong.append(f"{label}: {ratio:.3f} x, more than {bound} x")
    wrong += [f"not measured: {label}" for label in BOUNDS if label not in ordered]
    return lines, wrong


class Compare(unittest.TestCase):
    """On the figures of docs/design/kernel_policy.md."""

    WITHOUT = {"default policy, touched": 2633, "default policy, populated": 2668}
    ORDERED = rows_of("""a page of 4 KiB, instructions; times those of the default policy on the local node
  default policy, touched                                2640  1.000 x
  default policy, populated                              2675  1.000 x
  ordered policy, local node first, touched              2651  1.004 x
  ordered policy, local node first, strict, touched      2651  1.004 x
  ordered policy, node 2 first, touched                  2659  1.007 x
  ordered policy, node 2 first, populated                2694  1.007 x
  ordered policy, all four nodes full, touched           2934  1.111 x
  Situ, by the kernel's policy, node 2 first             2699  1.009 x
  the same, 2 MiB at a time, as segments get it          2750  1.028 x  aim <= 1.02 x: missed
  Situ, in user space, node 2 first                      2711  1.013 x
""")

    def test_the_pages_figures_are_within_their_bounds(self):
        lines, wrong = compare(self.WITHOUT, self.ORDERED)
        self.assertEqual(wrong, [])
        self.assertEqual(len(lines), 12)

    def test_a_missed_aim_is_said(self):
        lines, _ = compare(self.WITHOUT, self.ORDERED)
        self.assertIn("1.031 x  aim <= 1.02 x: missed", next(line for line in lines if "2 MiB at a time" in line))
        lines, _ = compare(self.WITHOUT, {**self.ORDERED, "the same, 2 MiB at a time, as segments get it": 2700})
        self.assertIn("1.012 x  aim <= 1.02 x: met", next(line for line in lines if "2 MiB at a time" in line))

    def test_each_row_that_becomes_worse_is_found(self):
        for label, (part, bound) in BOUNDS.items():
            worse = {**self.ORDERED, label: round(self.WITHOUT[f"default policy, {part}"] * (bound + 0.001))}
            _, wrong = compare(self.WITHOUT, worse)
            self.assertEqual(len(wrong), 1, wrong)
            self.assertTrue(wrong[0].startswith(label), wrong)

    def test_a_row_that_is_not_measured_is_found(self):
        for label in BOUNDS:
            _, wrong = compare(self.WITHOUT, {each: cost for each, cost in self.ORDERED.items() if each != label})
            self.assertEqual(wrong, [f"not measured: {label}"])
        _, wrong = compare({"default policy, touched": 2633}, self.ORDERED)
        self.assertEqual(wrong, ["not measured on the kernel without the patch: default policy, populated"])

    def test_a_row_that_nobody_knows_is_found(self):
        _, wrong = compare(self.WITHOUT, {**self.ORDERED, "ordered policy, in a new way": 2640})
        self.assertEqual(len(wrong), 1, wrong)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines, wrong = compare(costs("unpatched", sys.argv[1]), costs("ordered", sys.argv[1]))
    print("instructions a page of 4 KiB; times those of the default policy in the kernel without the patch", *lines, sep="\n")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.argv.pop()
        unittest.main()
    main()
