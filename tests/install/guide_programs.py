#!/usr/bin/env python3
"""The programs that the guide names, against an install: guide_programs.py SOURCE PREFIX

PREFIX has the components `core` and `examples`. Each program that a command of docs/guide starts by its name is installed, and so is each
source file of a program that the guide names. A name that is neither installed nor a program of others is an error: so is a wrong one.
Commands of a few examples then run as the guide has them, in an empty folder, with PREFIX/bin at the front of PATH.

The commands of a page: lines of ```sh blocks, lines that begin with "$ ", and other lines of code that begin with `situ` or an example's name.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

# Programs of others in the guide's commands, and programs that its reader writes or builds there.
# squeak_modelled: a form for modelled machines, which one builds in Situ's own folder.
FOREIGN = {"c++", "cd", "cmake", "export", "gdb", "head", "make", "mpirun", "python3", "sort", "squeak_modelled", "srun", "umask", "xz"}
# Options of `situ run` and `situ model run` without a value.
FLAGS = {"--check", "--check-coherence", "--functional-warming", "--in-process", "--objects", "--profile", "--progress", "--quiet", "--stats", "--strict", "--tag"}
# Each of these takes seconds. What they print is at the first place where a test would see a wrong program.
RUN = {"situ run -n 4 hello": "all tasks are done\n",
       "situ run -n 2 json_ship --transfer all": "offload",
       "situ run -n 2 unequal_jacobi --speeds 1,5": "weighted(1, 5)",
       "situ run -n 2 tree_matmul": "largest difference: 0"}
# The ten programs' own comments start them by name; the guide has no command of this one.
ALSO_RUN = {"situ run -n 3 word_count": "     5 the\n"}


def code_lines(text):
    """(number, line, kind): kind is a fence's language, or "indented"."""
    fence = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fence = None if fence is not None else line[3:].strip()
        elif fence is not None:
            yield number, line, fence
        elif line.startswith("    "):
            yield number, line[4:], "indented"


def commands(text, examples):
    """(number, words) of each command; `a && b` is two."""
    for number, line, kind in code_lines(text):
        if kind not in ("sh", "text", "indented"):
            continue
        is_asked = line.startswith("$ ")
        line = re.sub(r"\"[^\"]*\"|'[^']*'", "quoted", line[2:] if is_asked else line)  # no program's name; it may have any characters
        line = re.split(r" #|   +", line)[0].strip()
        first = re.split(r"\s", line)[0]
        if not line or line.startswith("#") or not (kind == "sh" or is_asked or first in examples | {"situ"}):
            continue
        for part in re.split(r"&& |; |\| ", line.removesuffix("\\").removesuffix("&")):
            words = shlex.split(part)
            while words and re.match(r"[A-Z_]+=", words[0]):
                words.pop(0)
            if words and not words[0].startswith("-"):  # else it continues the line before
                yield number, words


def started(words):
    """The programs that a command starts, by the words that name them."""
    yield words[0]
    rest = words[1:]
    if os.path.basename(words[0]) != "situ" or not rest:
        return
    if rest[0] in ("model", "rmem"):
        rest = rest[1:]
    if rest[:1] != ["run"]:
        return
    rest = rest[1:]
    while rest and rest[0].startswith("-") and rest[0] != "--":
        rest = rest[1 if rest[0] in FLAGS or "=" in rest[0] else 2:]
    rest = rest[1:] if rest[:1] == ["--"] else rest
    if rest:
        yield rest[0]


def check_commands(page, text, installed, examples):
    wrong = []
    for number, words in commands(text, examples):
        for name in started(words):
            if "/" not in name and name not in installed | FOREIGN:  # with one, it is the reader's, or check_files has it
                wrong.append(f"{page}:{number}: `{' '.join(words)}`: {name} is in no install of core and examples, and no program of others")
    return wrong


def check_files(page, text, sources, installed):
    """Programs and sources that the page names by their paths."""
    wrong = []
    for named in sorted(set(re.findall(r"(?:build/release/bin|~/situ/bin|~/situ/libexec/situ)/([\w-]+)", text))):
        if named not in installed:
            wrong.append(f"{page}: {named} is in no install of core and examples")
    for named in sorted(set(re.findall(r"(?<!tests/)examples/[\w/]+\.(?:cpp|h|sh)", text))):
        if not (sources / named.removeprefix("examples/")).is_file():
            wrong.append(f"{page}: {named} is not in {sources}")
        program = pathlib.Path(named).stem
        if named.endswith(".cpp") and program not in installed:
            wrong.append(f"{page}: {named} is no installed program {program}")
    return wrong


def run_commands(prefix, texts):
    wrong = []
    environment = {**os.environ, "PATH": f"{prefix}/bin:/usr/bin:/bin"}
    for command, printed in {**RUN, **ALSO_RUN}.items():
        if command in RUN and command not in texts:
            wrong.append(f"no page of the guide has `{command}` any more")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(shlex.split(command), env=environment, cwd=folder, capture_output=True, text=True, timeout=100)
        if done.returncode != 0 or printed not in done.stdout:
            wrong.append(f"`{command}` ended with {done.returncode}, and {printed!r} is not in\n{done.stdout}{done.stderr}")
    return wrong


def main():
    root, prefix = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    installed = {*os.listdir(prefix / "libexec/situ"), *os.listdir(prefix / "bin")}
    (sources,) = prefix.glob("share/doc/*/examples")
    examples = installed | {path.parent.name for path in sources.glob("*/main.cpp")}
    pages = {path.relative_to(root): path.read_text() for path in sorted((root / "docs/guide").glob("*.md"))}
    wrong = [line for page, text in pages.items()
             for line in check_commands(page, text, installed, examples) + check_files(page, text, sources, installed)]
    wrong += run_commands(prefix, "\n".join(pages.values()))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
