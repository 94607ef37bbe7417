#!/usr/bin/env python3
# reach_test.py SOURCE_DIR [--write]: what each public header drags into a program, held against reach.txt.
#
# A header's reach is itself and all of include/situ that it includes, directly or not: lines of code (no comments, no
# blank lines), and how many headers of the system. Includes are read from the text, so no compiler runs, and no time is
# measured: an #include that is new and heavy shows, however fast the machine is. --write records the present figures.
import pathlib
import re
import sys

# What may not be reached from where: a regular expression of headers, one of what they leave alone, and why.
APART = [
    (r"situ/situ\.h", r"situ/(graph|model|pim|pool|rmem|spread|stencil|task|trees)/.*|situ/machine/(?!intent\.h).*",
     "programs include these by themselves (graphs by <situ/graph.h>)"),
    (r"situ/(base|fabric|machine|memory|runtime)/.*", r"situ/base/error\.h",
     "whoever only throws has base/error_code.h, so that a change of the exceptions recompiles little"),
    (r"situ/trees/(place_tree|tree_node)\.h", r"situ/machine/tree\.h", "machine::tree is declared where it is named"),
]
ROOM = 1.05  # of the lines that are recorded


def read_headers(include):
    headers = {}
    for path in sorted((include / "situ").rglob("*")):
        if path.suffix not in (".h", ".inl"):
            continue
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        code = [line for line in (re.sub(r"//.*", "", each).strip() for each in text.splitlines()) if line]
        included = re.findall(r"^#include <([^>]+)>$", "\n".join(code), re.M)
        headers[str(path.relative_to(include))] = (len(code), included)
    return headers


def reach(headers, header):
    own, system, left = set(), set(), [header]
    while left:
        each = left.pop()
        if each not in headers:
            system.add(each)
        elif each not in own:
            own.add(each)
            left += headers[each][1]
    return own, sum(headers[each][0] for each in own), len(system)


def main():
    source = pathlib.Path(sys.argv[1])
    record = source / "tests/headers/reach.txt"
    headers = read_headers(source / "include")
    public = [each for each in headers if each.endswith(".h") and "/detail/" not in each]
    found = {each: reach(headers, each) for each in public}
    if sys.argv[2:] == ["--write"]:
        rows = [f"{each} {lines} {system}\n" for each, (_, lines, system) in found.items()]
        record.write_text("# header, lines of code of its reach, headers of the system: see reach_test.py\n" + "".join(rows))
        return 0
    recorded = {}
    for row in record.read_text().splitlines():
        if not row.startswith("#"):
            header, lines, system = row.split()
            recorded[header] = (int(lines), int(system))
    faults = []
    for header, (own, lines, system) in found.items():
        if header not in recorded:
            faults.append(f"{header} is new: record it by reach_test.py SOURCE_DIR --write")
        elif lines > recorded[header][0] * ROOM or system > recorded[header][1]:
            faults.append(f"{header} drags in {lines} lines and {system} headers of the system, recorded are "
                          f"{recorded[header][0]} and {recorded[header][1]}: forward-declare, or move bodies to a .cpp")
        for who, what, why in APART:
            if re.fullmatch(who, header) and header != "situ/base/error.h":
                faults += [f"{header} reaches {each}: {why}" for each in sorted(own) if re.fullmatch(what, each)]
    faults += [f"{header} is recorded and is no public header" for header in recorded if header not in found]
    print("\n".join(faults) or f"{len(found)} headers drag in no more than is recorded")
    return 1 if faults else 0


sys.exit(main())
