#!/usr/bin/env python3
"""The record of the guest tests that most machines skip: on which kernels they passed last (kernel/tested.txt).

    tests/numa/kernel_record.py write build/release   after .ci/run_tests; `make test-numa-all` does that
    tests/numa/kernel_record.py check TEST...         the record is of the patch as it is, and has all these tests
    tests/numa/kernel_record.py --self-test

A kernel takes minutes to build, so CI skips the tests on the patched kernel unless it has four processors. `check` runs
in `make test`: it fails if the patch, its configuration or the list of tests has changed since the record; it ends with
77, which ctest calls skipped, while no run is recorded.
"""

import argparse
import datetime
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "kernel"))
import build_kernel  # noqa: E402

RECORD = ROOT / "kernel" / "tested.txt"
HEAD = "# Written by `make test-numa-all`, when all its tests had passed: the kernels' images, the commit, the day, the tests."


def kernel_names():
    """What the names of the images begin with: they follow from the patch and the configuration."""
    return {kind: build_kernel.image_name(argparse.Namespace(unpatched=kind == "unpatched", checked=False))
            for kind in ("ordered", "unpatched")}


def passed_tests(junit):
    """The tests of a run, all of which must have passed."""
    cases = list(xml.etree.ElementTree.parse(junit).getroot().iter("testcase"))
    if bad := [case.get("name") for case in cases if case.get("status") != "run"]:
        sys.exit(f"kernel_record.py: nothing is recorded, since these did not pass: {', '.join(bad)}")
    return sorted(case.get("name") for case in cases)


def text_of(images, commit, day, tests):
    lines = [HEAD, *(f"{kind} {image}" for kind, image in images.items()), f"commit {commit}", f"day {day}"]
    return "\n".join([*lines, *(f"passed {test}" for test in tests)]) + "\n"


def entries_of(text):
    return [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]


def is_empty(text):
    return not entries_of(text)


def complaints(text, names, tests):
    """What a record lacks, a sentence each. names: as of kernel_names()."""
    entries = entries_of(text)
    passed = {value for key, value in entries if key == "passed"}
    images = {key: value for key, value in entries if key in names}
    found = [f"the record is of the kernel {images.get(kind, '(none)')}, and the one of now is {name}...: make test-numa-all"
             for kind, name in names.items() if not images.get(kind, "").startswith(name)]
    return found + [f"{test} is not in the record: make test-numa-all" for test in tests if test not in passed]


def write(build):
    images = {"ordered": build_kernel.find_image(), "unpatched": build_kernel.find_image(unpatched=True)}
    if missing := [kind for kind, image in images.items() if image is None]:
        sys.exit(f"kernel_record.py: not built: {', '.join(missing)}")
    tests = passed_tests(pathlib.Path(build) / "test-results.xml")
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
    names = {kind: image.name for kind, image in images.items()}
    RECORD.write_text(text_of(names, commit.stdout.strip(), datetime.date.today().isoformat(), tests))
    print(f"{RECORD.relative_to(ROOT)}: {len(tests)} tests passed; commit it")


def check(tests):
    text = RECORD.read_text()
    if is_empty(text):
        print(f"{RECORD.relative_to(ROOT)} has no run yet: make test-numa-all writes it", file=sys.stderr)
        sys.exit(77)
    if found := complaints(text, kernel_names(), tests):
        sys.exit("\n".join(found))


class Record(unittest.TestCase):
    NAMES = {"ordered": "kernel-0123456789ab-", "unpatched": "kernel-unpatched-ba9876543210-"}
    IMAGES = {kind: name + "6.1.192-3" for kind, name in NAMES.items()}

    def record(self):
        return text_of(self.IMAGES, "249c86b5aaaa", "2026-11-29", ["numa_guest_ordered", "numa_pmem_ordered"])

    def test_a_record_of_these_files_and_tests_holds(self):
        self.assertEqual(complaints(self.record(), self.NAMES, ["numa_guest_ordered", "numa_pmem_ordered"]), [])

    def test_another_patch_is_found(self):
        found = complaints(self.record(), {**self.NAMES, "ordered": "kernel-ffffffffffff-"}, [])
        self.assertEqual(found, ["the record is of the kernel kernel-0123456789ab-6.1.192-3, and the one of now is "
                                 "kernel-ffffffffffff-...: make test-numa-all"])

    def test_a_new_test_is_found(self):
        self.assertEqual(complaints(self.record(), self.NAMES, ["numa_pmem_ordered", "numa_new_ordered"]),
                         ["numa_new_ordered is not in the record: make test-numa-all"])

    def test_a_kernel_that_was_not_there_is_found(self):
        self.assertEqual(len(complaints("commit 1\npassed a\n", self.NAMES, ["a"])), 2)

    def test_a_run_that_skipped_or_failed_is_not_recorded(self):
        with tempfile.NamedTemporaryFile("w+", suffix=".xml") as junit:
            junit.write('<testsuite><testcase name="b" status="run"/><testcase name="a" status="run"/></testsuite>')
            junit.flush()
            self.assertEqual(passed_tests(junit.name), ["a", "b"])
            junit.seek(0)
            junit.truncate()
            junit.write('<testsuite><testcase name="b" status="notrun"/><testcase name="a" status="fail"/></testsuite>')
            junit.flush()
            with self.assertRaisesRegex(SystemExit, "did not pass: b, a"):
                passed_tests(junit.name)

    def test_a_record_without_a_run_is_none(self):
        self.assertTrue(is_empty(HEAD + "\n# No run yet.\n"))
        self.assertFalse(is_empty(self.record()))

    def test_names_follow_from_the_files(self):
        names = kernel_names()
        self.assertRegex(names["ordered"], r"^kernel-[0-9a-f]{12}-$")
        self.assertRegex(names["unpatched"], r"^kernel-unpatched-[0-9a-f]{12}-$")
        image = build_kernel.kept_image(argparse.Namespace(unpatched=False, checked=False), "1.2")
        self.assertEqual(image.name, names["ordered"] + "1.2")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.argv.pop()
        unittest.main()
    elif len(sys.argv) == 3 and sys.argv[1] == "write":
        write(sys.argv[2])
    elif len(sys.argv) > 2 and sys.argv[1] == "check":
        check(sys.argv[2:])
    else:
        sys.exit(__doc__)
