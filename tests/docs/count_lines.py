#!/usr/bin/env python3
"""Counts the lines of code of the guide's programs and of the same written with the foundation alone, by one rule for
both: no blank lines, no comments, no includes; both are laid out by clang-format.

count_lines.py ROOT            prints the table
count_lines.py ROOT --check    fails where docs/guide/ten_programs.md has another, and where a program of the guide has more
                               than half the lines of the same by hand
count_lines.py --self-test
"""
import difflib
import pathlib
import re
import sys

PROGRAMS = ["hash_join", "sample_sort", "jacobi", "tree_search", "pipeline", "object_graph"]
PAGE = "docs/guide/ten_programs.md"


def code_lines(text):
    # Strings are kept as they are, so that a // within one is no comment.
    kept = re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', lambda m: m.group(1) or "", text, flags=re.S)
    return [line.strip() for line in kept.splitlines() if line.strip() and not line.startswith("#include")]


def table(root):
    rows = ["| program | in the guide | by hand | ratio | the same in both |", "| --- | ---: | ---: | ---: | ---: |"]
    total = [0, 0, 0]
    long = []
    for name in PROGRAMS:
        guide = code_lines((root / f"examples/guide/{name}.cpp").read_text())
        by_hand = code_lines((root / f"bench/everyday/by_hand/{name}.cpp").read_text())
        matcher = difflib.SequenceMatcher(None, guide, by_hand, autojunk=False)
        counts = [len(guide), len(by_hand), sum(block.size for block in matcher.get_matching_blocks())]
        total = [a + b for a, b in zip(total, counts)]
        rows.append(row(name, counts))
        if 2 * counts[0] > counts[1]:
            long.append(name)
    return "\n".join([*rows, row("all six", total)]) + "\n", long


def row(name, counts):
    guide, by_hand, common = counts
    return f"| {name} | {guide} | {by_hand} | {guide / by_hand:.2f} | {common} |"


def self_test():
    text = '#include <a>\n\n// a\nint a; // b\n/* c\n d */ int b;\nf("// no comment");\n'
    assert code_lines(text) == ["int a;", "int b;", 'f("// no comment");'], code_lines(text)


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    root = pathlib.Path(arguments[0])
    made, long = table(root)
    if arguments[1:] != ["--check"]:
        print(made, end="")
    elif made not in (root / PAGE).read_text():
        sys.exit(f"{PAGE} has another table than the programs:\n{made}")
    elif long:
        sys.exit(f"more than half as long as by hand: {', '.join(long)}\n{made}")


main(sys.argv[1:])
