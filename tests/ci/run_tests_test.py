#!/usr/bin/env python3
"""run_tests_test.py SUBJECT: .ci/run_tests on small builds of its own, made of SUBJECT (skip_subject.cpp) and of shell
commands. What a test skips inside is named with its reason; a case without one, and a test that fails, fail the run."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN_TESTS = pathlib.Path(__file__).resolve().parents[2] / ".ci" / "run_tests"


def run_tests(tests, environment=None):
    """tests: the command of each, by name. The exit status, the lines of the summary, and test-summary.txt."""
    with tempfile.TemporaryDirectory(prefix="situ-run-tests-") as folder:
        text = ""
        for name, command in tests.items():
            words = " ".join(f"[==[{word}]==]" for word in command)
            text += f"add_test({name} {words})\nset_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77)\n"
        (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(text)
        variables = {name: value for name, value in os.environ.items() if name not in ("CI", "SITU_NONE_SKIPPED") and not name.startswith("CTEST_")}
        variables.update(environment or {}, JOBS="2")
        done = subprocess.run([RUN_TESTS, folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables, timeout=60)
        # ctest's own report ends with its total time, or with the list of what failed or was skipped.
        return done.returncode, done.stdout.splitlines(), (pathlib.Path(folder) / "test-summary.txt").read_text().strip()


def of_subject(cases):
    return [SUBJECT, f"--gtest_filter={cases}"]


class RunTests(unittest.TestCase):
    def test_what_is_skipped_inside_is_named_with_its_reason(self):
        status, lines, summary = run_tests({"subject": of_subject("-silent.*"), "other": ["true"]})
        self.assertEqual(status, 0, lines)
        self.assertEqual(lines[-6:], [
            'skipped inside: subject: plain.wants_more_nodes, plain.wants_more_nodes_too (one <node> & no "more")',
            "skipped inside: subject: plain.gives_two_lines (the first line)",
            "skipped inside: subject: prepared.is_never_run (nothing to prepare)",
            "skipped inside: subject: of/each.is_for_two/0 (of two only)",
            "skipped inside: 5 cases of 1 tests",
            "2 passed, 0 failed"])
        self.assertEqual(summary, "2 passed, 0 failed")

    def test_a_case_skipped_without_a_reason_fails_the_run(self):
        status, lines, summary = run_tests({"subject": of_subject("silent.*:plain.passes")})
        self.assertEqual(status, 1, lines)
        self.assertIn("skipped inside: subject: silent.gives_no_reason (no reason given)", lines)
        self.assertEqual(summary, "1 passed, 1 failed")

    def test_a_test_whose_cases_were_all_skipped_has_not_passed(self):
        status, lines, summary = run_tests({"subject": of_subject("prepared.*"), "other": ["true"]})
        self.assertEqual(status, 0, lines)
        self.assertIn("skipped: subject", lines)
        self.assertEqual(summary, "1 passed, 0 failed")

    def test_what_is_not_skipped_is_not_named(self):
        status, lines, summary = run_tests({"subject": of_subject("plain.passes")})
        self.assertEqual((status, summary), (0, "1 passed, 0 failed"))
        self.assertFalse([line for line in lines if line.startswith("skipped")], lines)

    def test_a_case_far_behind_in_a_long_output_is_named(self):
        command = ["sh", "-c", f"seq 1 20000; exec '{SUBJECT}' --gtest_filter=prepared.*:plain.passes"]
        status, lines, summary = run_tests({"long": command})
        self.assertEqual((status, summary), (0, "1 passed, 0 failed"))
        self.assertIn("skipped inside: long: prepared.is_never_run (nothing to prepare)", lines)

    def test_a_suite_that_is_skipped_gives_its_cases_the_reason(self):
        text = ["[----------] 1 test from s", "/a b/s.cpp:3: Skipped", "not here", "", "[ RUN      ] s.c", "[  SKIPPED ] s.c (0 ms)"]
        status, lines, _ = run_tests({"suite": ["printf", "%s\\n", *text], "other": ["true"]})
        self.assertEqual(status, 0, lines)
        self.assertIn("skipped inside: suite: s.c (not here)", lines)

    def test_failed_and_skipped_tests_count_as_before(self):
        status, lines, summary = run_tests({"good": ["true"], "bad": ["false"], "absent": ["sh", "-c", "exit 77"]})
        self.assertEqual((status, summary), (1, "1 passed, 1 failed"))
        self.assertIn("skipped: absent", lines)
        self.assertEqual(lines[-1], summary)

    def test_where_none_may_be_skipped_one_that_is_fails_the_run(self):
        tests = {"good": ["true"], "absent": ["sh", "-c", "exit 77"]}
        status, lines, summary = run_tests(tests, {"SITU_NONE_SKIPPED": "1"})
        self.assertEqual((status, summary), (1, "1 passed, 1 failed"), lines)
        self.assertIn("skipped: absent", lines)

    def test_no_test_at_all_is_a_failure(self):
        status, lines, summary = run_tests({})
        self.assertEqual((status, summary), (1, "0 passed, 1 failed"), lines)

    def test_one_that_fails_beside_others_and_passes_alone_has_passed(self):
        with tempfile.TemporaryDirectory() as folder:
            once = ["sh", "-c", f"test -e {folder}/again && exit; touch {folder}/again; false"]
            status, lines, summary = run_tests({"noisy": once, "good": ["true"]}, {"CI": "true"})
        self.assertEqual((status, summary), (0, "2 passed, 0 failed"), lines)
        self.assertIn("failed beside other tests, passed alone: noisy", lines)


if __name__ == "__main__":
    SUBJECT = sys.argv.pop(1)
    unittest.main()
