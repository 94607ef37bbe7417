#!/usr/bin/env python3
"""Misuse that the types catch: each case must not compile, for the reasons that it gives (CMakeLists.txt says how).

  must_not_compile.py --compiler CXX --flags '...' CASE.cpp ...           compiles each by itself, as it stands and with its control
  must_not_compile.py ... --told FOLDER CASE.cpp ...                      compiles all in two processes, and writes to FOLDER
                                                                          what is to be said of each, nothing where it is as it must be: for
                                                                          told.cmake, which is each case's test

When the cases are compiled together, each lies in a namespace of its own, and an error belongs to the case whose file the compiler names
with it. If that does not show a case to be as it must be, the script compiles this case by itself, which decides: the compiler reports a
template that fails with the same arguments in two cases only once. Exit code 1 where a case is not as it must be; with --told 0, as its own test says so."""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

NAMESPACE = re.compile(r"\bcase_\d+::")
INCLUDE = re.compile(r"^#include <.*>$", re.M)
ERROR = re.compile(r":\d+:\d+: (fatal )?error: ")
# Lines in which the compiler says where the next error is.
CONTEXT = re.compile(r"^(In file included from |\s+from )|: (In|At) |:\d+:\d+:   required |:\d+:\d+:   in ")


class case:
    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        # An expectation goes on in the comment's lines below it.
        joined = re.sub(r"\n// (?!expect: |one error)", " ", "\n" + self.text)
        self.expected = re.findall(r"\n// expect: ([^\n]*)", joined)
        self.one_error = "\n// one error" in joined

    # What is wrong with what the compiler said of it; empty: nothing.
    def judge(self, said, errors):
        if errors == 0:
            return f"It compiled, and must not: {self.path}"
        for each in self.expected:
            if not re.search(each, said):
                return f"It failed for another reason than '{each}': {self.path}\n{said}"
        if self.one_error and errors != 1:
            return f"It failed with {errors} errors, not one: {self.path}\n{said}"
        return ""


class compiler:
    def __init__(self, command, flags):
        self.command = [command, *flags.split(), "-fsyntax-only"]

    # Whether it compiled, and what the compiler said.
    def run(self, path, control):
        define = ["-DSITU_COMPILE_FAIL_CONTROL"] if control else []
        ended = subprocess.run([*self.command, *define, str(path)], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        return ended.returncode == 0, ended.stderr

    # What it said of each case, and in how many errors. Without a case's name before them, errors are those of the case before.
    def told_by_case(self, said, cases):
        by_path = {str(each.path): each for each in cases}
        path = re.compile("|".join(re.escape(each) for each in by_path))
        lines = {each: [] for each in by_path}
        count = dict.fromkeys(by_path, 0)
        at = None
        waiting = []
        for line in said.splitlines():
            if CONTEXT.search(line) and not ERROR.search(line):
                waiting.append(line)
                continue
            if ERROR.search(line):
                named = [found for each in [line, *reversed(waiting)] for found in path.findall(each)]
                at = named[0] if named else at
                if at:
                    count[at] += 1
            if at:
                lines[at] += [*waiting, line]
            waiting = []
        return {each: (NAMESPACE.sub("", "\n".join(lines[each])), count[each]) for each in by_path}


# control_is_good: that its control compiles was seen among the others.
def by_itself(one, cxx, control_is_good=False):
    if not one.expected:
        return f"It gives no reason, add '// expect: <regular expression>': {one.path}"
    if not control_is_good:
        is_good, said = cxx.run(one.path, True)
        if not is_good:
            return f"The control does not compile: {one.path}\n{said}"
    _, said = cxx.run(one.path, False)
    return one.judge(said, len(ERROR.findall(said)))


def together(cases, cxx):
    includes = sorted({found for each in cases for found in INCLUDE.findall(each.text)})
    text = "\n".join(includes) + "\n"
    for number, each in enumerate(cases):
        text += f'namespace case_{number} {{\n#include "{each.path}"\n}}\n'
    with tempfile.TemporaryDirectory() as folder:
        all_of_them = pathlib.Path(folder) / "cases.cpp"
        all_of_them.write_text(text)
        controls_are_good, said_of_controls = cxx.run(all_of_them, True)
        _, said = cxx.run(all_of_them, False)
    controls = cxx.told_by_case(said_of_controls, cases)
    if controls_are_good:
        bad_controls = set()
    else:
        bad_controls = {each for each in cases if controls[str(each.path)][1] > 0} or set(cases)
    told = cxx.told_by_case(said, cases)
    verdicts = {}
    alone = 0
    for each in cases:
        is_good = each not in bad_controls and each.expected and not each.judge(*told[str(each.path)])
        verdicts[each] = "" if is_good else by_itself(each, cxx, each not in bad_controls)
        alone += not is_good
    print(f"{len(cases)} cases; {alone} of them compiled by themselves")
    return verdicts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--flags", default="")
    parser.add_argument("--told", type=pathlib.Path)
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    wanted = parser.parse_args()
    cases = [case(path.resolve()) for path in wanted.cases]
    cxx = compiler(wanted.compiler, wanted.flags)
    if wanted.told is None:
        verdicts = {each: by_itself(each, cxx) for each in cases}
    else:
        verdicts = together(cases, cxx)
        shutil.rmtree(wanted.told, ignore_errors=True)
        wanted.told.mkdir(parents=True)
        for each, verdict in verdicts.items():
            (wanted.told / f"{each.path.stem}.txt").write_text(verdict)
    for verdict in filter(None, verdicts.values()):
        print(verdict)
    return 1 if any(verdicts.values()) and wanted.told is None else 0


if __name__ == "__main__":
    sys.exit(main())
